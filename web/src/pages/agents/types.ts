/** What the operations about users, agents and schedules answer, and the frames of the socket. */

export interface User {
  id: string;
  timezone: string | null;
}

export interface Agent {
  id: string;
  name: string;
  instructions: string;
  model: string | null;
}

export interface Schedule {
  id: string;
  user_id: string;
  agent_id: string;
  name: string;
  prompt: string;
  schedule_type: "one-shot" | "recurring";
  run_at: string | null;
  cron_expression: string | null;
  interval_seconds: number | null;
  min_interval_seconds: number | null;
  max_interval_seconds: number | null;
  timezone: string;
  next_run_at: string | null;
  enabled: boolean;
  may_pace: boolean;
  paused: boolean;
  paused_until: string | null;
  pause_reason: string | null;
}

export interface ScheduleRun {
  id: string;
  slot: string;
  status: string | null;
  verdict: boolean;
  reason: string | null;
  messages: number | null;
  tokens: number | null;
  nothing_to_report: boolean;
}

export interface SchedulePlan {
  by: string | null;
  reason: string | null;
  answer: string;
}

interface DeliveredMessage {
  id: string;
  seq: number;
  agent_id: string;
  schedule_id: string | null;
  at: string;
}

export type Frame =
  | { type: "welcome"; user_id: string; last_seq: number }
  | { type: "notification"; text: string; count: number }
  | ({ type: "subtitle"; text: string } & DeliveredMessage)
  | ({ type: "canvas_command"; command: unknown } & DeliveredMessage)
  | { type: "answered"; idempotency_key: string; seq: number | null }
  | { type: "error"; message_id?: string; problem: { detail?: string; title?: string } };
