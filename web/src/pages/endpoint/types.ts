/** What the server answers about one endpoint. */

import type { Baseline } from "../../lib/format";
import type { CalendarRules } from "../../resources/calendar_rules";

export interface Endpoint {
  id: string;
  job_id: string;
  name: string;
  description: string | null;
  labels: Record<string, string>;
  target: Target;
  baseline: Baseline;
  guard: { min_interval_ms?: number | null; max_interval_ms?: number | null };
  /** The limits that it is under, such as `host:api.example.com`. */
  limited_by: string[];
  limit_key: string | null;
  priority: number;
  /** When it may run; null for always, as far as its job says nothing else. */
  calendar: CalendarRules | null;
  hint_mode: "override" | "tighten";
  enabled: boolean;
  job_active: boolean;
  interval_hint: { interval_ms: number; expires_at: string; reason: string | null; by: string } | null;
  one_shot_hint: { at: string; expires_at: string; reason: string | null; by: string } | null;
  paused_until: string | null;
  pause_reason: string | null;
  next_run_at: string | null;
  next_source: string;
  last_run_at: string | null;
  running: boolean;
  failure_count: number;
  suspect: string | null;
  abandoned_count: number;
}

export interface Target {
  kind: string;
  url?: string;
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  [other: string]: unknown;
}

export interface Plan {
  endpoint_id: string;
  now: string;
  next_run_at: string | null;
  source: string;
  opens_at: string | null;
  gate: string | null;
  governor: { next_run_at: string | null; source: string; candidates: { at: string; source: string }[] };
  answer: string;
}

export interface TimelineRun {
  id: string;
  slot: string;
  due_at: string;
  started_at: string | null;
  finished_at: string | null;
  attempt: number;
  source: string;
  status: string | null;
  duration_ms: number;
  late_ms: number;
  coalesced: number;
  verdict: boolean;
  error: string | null;
  reason: string | null;
}

export interface Run extends TimelineRun {
  endpoint_id: string;
  job_id: string;
  kind?: "scheduled" | "rerun" | "backfill";
  claimed_at: string;
  response: unknown;
  traceback: string | null;
}

export interface HintPeriod {
  kind: "interval" | "one-shot" | "pause";
  begin: string;
  end: string;
  origin: string;
  by: string;
  reason: string | null;
  interval_ms: number | null;
  at: string | null;
}

export interface Timeline {
  endpoint_id: string;
  now: string;
  since: string;
  until: string;
  runs: TimelineRun[];
  spells: HintPeriod[];
  next_run_at: string | null;
  next_source: string;
  complete: boolean;
}

export interface PlannedRun {
  at: string;
  source: string;
}

export interface Preview {
  before: { plan: Plan; runs: PlannedRun[] };
  after: { plan: Plan; runs: PlannedRun[] };
  changed: boolean;
}
