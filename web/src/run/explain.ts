/** Why a run came when it did, and what it asked for, in words. */

import { clockTime, span } from "../lib/format";
import type { Endpoint, HintPeriod, TimelineRun } from "../pages/endpoint/types";

const SOURCE_SENTENCES: Record<string, string> = {
  "baseline-cron": "Set by the cron expression.",
  "baseline-interval": "Set by the baseline interval, counted from the previous run.",
  "baseline-once": "Set by the one-time baseline.",
  "ai-interval": "An interval hint set this time.",
  "ai-oneshot": "A one-shot hint set this time.",
  "clamped-min": "Limited by minimum interval.",
  "clamped-max": "Limited by maximum interval.",
  paused: "A pause ended at this time.",
  calendar: "Moved to when the calendar opened.",
  closed: "The calendar was closed at this time.",
  first: "The first run after the endpoint was created.",
  manual: "A run was requested manually.",
  resume: "The endpoint was resumed and its next run recalculated.",
  retry: "Retry: the previous attempt failed.",
  quota: "A quota delayed the run until this time.",
  rerun: "This due time was run again, as requested.",
  backfill: "This due time had no run and was backfilled, as requested.",
  heartbeat: "A heartbeat arrived, or was due at this time.",
};

const startOf = (run: TimelineRun): number => Date.parse(run.started_at ?? run.due_at);

/** The periods that were in force when a run started. */
export function inForce(run: TimelineRun, periods: HintPeriod[]): HintPeriod[] {
  const at = startOf(run);
  const due = Date.parse(run.due_at);
  return periods.filter((one) => Date.parse(one.begin) <= at && Date.parse(one.end) >= due - 1);
}

export function describePeriod(period: HintPeriod): string {
  const what =
    period.kind === "interval" ? `every ${span(period.interval_ms ?? 0)}` : period.kind === "pause" ? "paused" : `once at ${clockTime(period.at ?? period.begin)}`;
  return period.reason ? `${what}: ${period.reason}` : what;
}

/** Why a run came when it did, with the reason and the origin of its hint. */
export function explainMoment(run: TimelineRun, periods: HintPeriod[]): string {
  const sentence = SOURCE_SENTENCES[run.source] ?? `Set by ${run.source}.`;
  const kinds = run.source === "ai-oneshot" ? ["one-shot"] : run.source === "paused" || run.source === "resume" ? ["pause"] : ["interval", "one-shot"];
  const period = inForce(run, periods).findLast((one) => kinds.includes(one.kind));
  if (run.source.startsWith("baseline") || !period) return sentence;
  const named = sentence.replace(/ (hint|pause) /, (noun) => `${noun}(${period.by}) `);
  return `${named.slice(0, -1)}: ${describePeriod(period)}.`;
}

/** The request of an endpoint as text; values of secrets are references. */
export function requestText(endpoint: Endpoint): string {
  const { kind, url, method, headers, body, ...rest } = endpoint.target;
  if (kind !== "http") return pretty({ kind, ...rest });
  const lines = [`${method ?? "GET"} ${url ?? ""}`, ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`)];
  if (body !== null && body !== undefined) lines.push("", typeof body === "string" ? body : pretty(body));
  return lines.join("\n");
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
