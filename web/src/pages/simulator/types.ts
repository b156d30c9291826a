/** What `GET /v1/simulation` answers. */

export interface SimulatedEndpoint {
  name: string;
  tier: string;
  baseline_s: number;
  min_s: number;
  max_s: number | null;
}

export interface SimulatedRun {
  second: number;
  lane: string;
  cause: string;
}

export interface SteeringEvent {
  second: number;
  lane: string;
  kind: "interval" | "one-shot" | "pause" | "resume" | "clear";
  interval_s: number | null;
  at_s: number | null;
  until_s: number | null;
}

export interface ModeResult {
  mode: string;
  runs: SimulatedRun[];
  steering: SteeringEvent[];
  minutes: Record<string, number | string | boolean | null>[];
  checks: { name: string; passed: boolean; detail: string }[];
}

export interface Simulation {
  scenario: string;
  scenarios: string[];
  minutes: number;
  phases: { name: string; begin_s: number; end_s: number }[];
  lanes: SimulatedEndpoint[];
  units: Record<string, string>;
  corrected: ModeResult;
  as_published: ModeResult;
}
