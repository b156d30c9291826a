/** What the server answers about planners and rules. */

export interface Tokens {
  input: number;
  output: number;
}

export interface ToolCall {
  tool: string;
  endpoint_id: string;
  arguments: Record<string, unknown>;
  result: string | null;
  error: string | null;
}

export interface Analysis {
  id: string;
  job_id: string;
  endpoint_id: string;
  planner: string;
  trigger: string;
  began_at: string;
  duration_ms: number;
  reasoning: string;
  calls: ToolCall[];
  tokens: Tokens;
  look_again_at: string | null;
  shadow: boolean;
  error: string | null;
}

export interface Spending {
  since: string;
  days: { day: string; planner: string; sittings: number; tokens: Tokens }[];
  endpoints: { endpoint_id: string; planner: string; sittings: number; failed: number; tokens: Tokens }[];
  tokens: Tokens;
  complete: boolean;
}

export interface LearningResult {
  endpoint_id: string;
  name: string;
  learning: "off" | "shadow" | "on";
  changes: number;
  delay_ms: number;
  plain_delay_ms: number;
  looks: number;
  plain_looks: number;
}

export interface WakeTotals {
  schedule_id: string;
  name: string;
  user_id: string;
  woken: number;
  paid: number;
  tokens: number;
  passed_over: number;
  saved_tokens: number;
  lost: number;
}

export interface Step {
  tool: "propose_interval" | "propose_next_time" | "pause_until" | "wake" | "clear";
  endpoint?: string | null;
  reason?: string | null;
  intervalMs?: number;
  nextRunInMs?: number;
  pauseMs?: number | null;
  ttlMinutes?: number | null;
}

export interface Rule {
  id: string;
  job_id: string;
  endpoint_id: string | null;
  name: string;
  when: string;
  then: Step;
  relax: Step | null;
  cooldown_ms: number;
  once_per_incident: boolean;
  escalate: { after_ms: number; then: Step }[];
  enabled: boolean;
}

export interface Trial {
  endpoint_id: string;
  run_id: string | null;
  holds: boolean | null;
  trouble: string | null;
  incident_since: string | null;
  calls: { endpoint: string; tool: string; arguments: Record<string, unknown> }[];
}
