/** What the operations about daily users answer. */

export interface Counts {
  success: number;
  cutoff_reached: number;
  late: number;
  /** How many of the late ones lie in gaps, and have no verdicts of their own. */
  in_gaps: number;
}

export interface Window extends Counts {
  /** On the clocks of the users. */
  due_time: string;
  /** When the first of its windows opens, and when the last one ends. */
  opens_at: string;
  cutoff: string;
  waiting: number | null;
}

export interface Windows {
  now: string;
  date: string;
  counts: Counts;
  waiting: number;
  waiting_until: string | null;
  windows: Window[];
}

export interface Day extends Counts {
  date: string;
}

export interface Verdict {
  user_id: string;
  service_date: string;
  status: string;
  due_time: string;
  decided_at: string;
  late: boolean;
  cause: string | null;
}

export interface DailyUser {
  user_id: string;
  programme: string;
  due_time: string;
  timezone: string;
  next_date: string;
  /** The next date that the programme serves; null if there is none soon. */
  next_served: { date: string; opens_at: string; cutoff: string } | null;
  changes: { from_date: string; due_time: string; timezone: string }[];
  last_date: string | null;
  status: string | null;
}

/** Why a verdict was late. */
export const CAUSES: Record<string, string> = {
  down: "scheduler was down",
  stalled: "scheduler was stalled",
  clock: "system clock was not reliable",
  store: "database was unavailable",
};
