/** What the server answers about the conditions that alerts are about. */

export type ConditionState = "firing" | "acknowledged" | "silenced" | "resolved";

export interface Condition {
  id: string;
  kind: string;
  severity: "info" | "warning" | "critical";
  state: ConditionState;
  text: string;
  job_id: string | null;
  endpoint_id: string | null;
  since: string;
  resolved_at: string | null;
  acknowledged_at: string | null;
  acknowledged_by: string | null;
  note: string | null;
  silenced_until: string | null;
  silence_reason: string | null;
  /** The parent endpoint that is down. */
  suppressed_by: string | null;
  /** How many conditions of the same job it stands for. */
  grouped: number;
}

export const STATES: ConditionState[] = ["firing", "acknowledged", "silenced", "resolved"];
