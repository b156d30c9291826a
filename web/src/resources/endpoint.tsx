/** The form of an endpoint, as data: one line for each field. */

import type { JSX } from "preact";
import { bodyOf, type Field, type Json, type Section, type Values } from "../forms/fields";
import { isWhole, type DayPartRow } from "../forms/calendar_kinds";
import { isGiven } from "../forms/kinds";
import { NextRuns } from "../forms/next_runs";
import { timeZones } from "../forms/zones";
import { localZone } from "../lib/format";
import { CALENDAR_RULES, rulesOf } from "./calendar_rules";

const is = (name: string, ...values: string[]) => (given: Values): boolean => values.includes(given[name] as string);
const http = is("target.kind", "http");
const retried = is("target.kind", "http", "callable");
const options = (...values: string[]): { value: string; label: string }[] => values.map((value) => ({ value, label: value }));

const IDENTITY: Field[] = [
  { name: "name", label: "Name" },
  { name: "job_id", label: "Job", kind: "reference", from: () => ({ path: "/v1/jobs" }), create: "job", help: "A job is a named group of endpoints, paused and resumed together." },
  { name: "id", label: "Id", fixed: true, help: "Chosen by you, for addresses and files. Empty: chosen for you." },
  { name: "description", label: "Description", wide: true, empty: "null" },
  { name: "labels", label: "Labels", kind: "pairs" },
  { name: "severity", label: "Severity of its alerts", kind: "choice", initial: "warning", options: options("info", "warning", "critical") },
  { name: "parent_id", label: "Depends on", kind: "reference", from: () => ({ path: "/v1/endpoints" }), none: "No endpoint", empty: "null", help: "While that endpoint is down, no alert about this one is sent." },
  { name: "enabled", label: "Enabled", kind: "flag", initial: true },
];

const TARGET: Field[] = [
  {
    name: "target.kind",
    label: "Kind of target",
    kind: "choice",
    initial: "http",
    options: [
      { value: "http", label: "HTTP request" },
      { value: "heartbeat", label: "Heartbeat: work that runs elsewhere and reports here" },
      { value: "callable", label: "Python function of your program" },
    ],
  },
  { name: "target.method", label: "Method", kind: "choice", initial: "GET", options: options("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"), when: http },
  { name: "target.url", label: "URL", wide: true, when: http, help: "Addresses are shown to everyone who may read: secrets belong into headers." },
  { name: "target.headers", label: "Headers", kind: "pairs", when: http, secrets: true },
  { name: "target.body", label: "Body", kind: "body", when: http, secrets: true },
  { name: "target.grace_ms", label: "Grace", kind: "duration", initial: 60_000, when: is("target.kind", "heartbeat"), help: "How long after its expected moment a heartbeat is missing." },
  { name: "target.max_run_ms", label: "Longest run", kind: "duration", empty: "null", when: is("target.kind", "heartbeat"), help: "How long after a start its end is missing. Empty: a start changes nothing." },
  { name: "target.function", label: "Function", empty: "null", when: is("target.kind", "callable"), help: "The name by which your program declares it. The endpoint runs while a process has it." },
];

const SUCCESS: Field[] = [
  { name: "target.success_statuses", label: "Statuses", kind: "words", initial: ["2xx"], when: http, help: "Statuses that are a success: 204, 200-204 or 2xx." },
  { name: "target.success_path", label: "JSON path", when: http, help: "Must lead somewhere in the response, such as $.jobs[0].state. Empty: the status decides." },
  { name: "target.success_values", label: "Values at that path", kind: "values", when: http, help: "One on each line. Empty: any value." },
  { name: "target.max_redirects", label: "Redirects to follow", kind: "number", initial: 0, when: http },
  { name: "target.capture_bytes", label: "Bytes of the response to keep", kind: "number", initial: 16_384, when: http },
  { name: "target.capture_headers", label: "Response headers to keep", kind: "words", when: http, help: "Empty: the usual ones." },
  { name: "target.signing", label: "Signing keys", kind: "lines", when: http, secrets: true, help: "References such as ${secret:NAME}, one on each line, the current one first." },
];

const SCHEDULE: Field[] = [
  {
    name: "baseline.kind",
    label: "Baseline",
    kind: "choice",
    initial: "every",
    options: [
      { value: "every", label: "At an interval" },
      { value: "cron", label: "By a cron expression" },
      { value: "day-parts", label: "By the part of the day: a cadence for each calendar" },
      { value: "once", label: "Once" },
    ],
  },
  { name: "baseline.interval_ms", label: "Every", kind: "duration", initial: 300_000, when: is("baseline.kind", "every") },
  { name: "baseline.expression", label: "Cron expression", when: is("baseline.kind", "cron"), help: "Minute, hour, day, month, weekday: 0 9 * * 1-5. Or a name such as @hourly." },
  { name: "baseline.timezone", label: "Time zone", initial: "UTC", suggest: timeZones, when: is("baseline.kind", "cron") },
  { name: "baseline.at", label: () => `Run at (${localZone()})`, kind: "moment", when: is("baseline.kind", "once") },
  { name: "baseline.parts", label: "Day parts", kind: "day-parts", when: is("baseline.kind", "day-parts"), help: "The first part whose calendar is open counts." },
  { name: "baseline.otherwise", label: "Otherwise", kind: "cadence", wide: true, when: is("baseline.kind", "day-parts"), help: "While none of these calendars is open." },
  { name: "guard.min_interval_ms", label: "Minimum interval", kind: "duration", empty: "null", help: "Guard: planners and hints never run it more often. Empty: no minimum." },
  { name: "guard.max_interval_ms", label: "Maximum interval", kind: "duration", empty: "null", help: "Guard: planners and hints never run it less often. Empty: no maximum." },
  { name: "start_now", label: "First run at once", kind: "flag", fixed: true, initial: false },
];

const POLICY: Field[] = [
  { name: "policy.timeout_ms", label: "Timeout", kind: "duration", initial: 30_000, when: retried, help: "Over the whole exchange." },
  { name: "policy.max_attempts", label: "Attempts", kind: "number", initial: 1, when: retried, help: "1: a failed run is not retried." },
  { name: "policy.retry_delay_ms", label: "Delay before a retry", kind: "duration", initial: 10_000, when: retried },
  { name: "policy.backoff", label: "Backoff", kind: "choice", initial: "none", options: [{ value: "none", label: "None" }, { value: "exponential", label: "Exponential: failures lengthen the interval" }], when: retried },
  { name: "policy.misfire", label: "When the moment was missed", kind: "choice", initial: "run", options: [{ value: "run", label: "Run late" }, { value: "skip", label: "Skip" }], help: "After the scheduler was down, or late by more than the grace." },
  { name: "limit_key", label: "Limit key", empty: "null", help: "Endpoints with the same key share its limit." },
  { name: "priority", label: "Priority", kind: "number", initial: 0, help: "Among endpoints that wait, the higher goes first." },
  { name: "policy.misfire_grace_ms", label: "Misfire grace", kind: "duration", initial: 60_000 },
];

const PLANNING: Field[] = [
  { name: "hint_mode", label: "Hints", kind: "choice", initial: "override", options: [{ value: "override", label: "Replace the baseline" }, { value: "tighten", label: "Can only shorten the baseline's interval" }] },
  { name: "planning.learning", label: "Learning planner", kind: "choice", initial: "shadow", options: [{ value: "off", label: "Off" }, { value: "shadow", label: "Dry run (shadow mode)" }, { value: "on", label: "On" }] },
  { name: "planning.llm", label: "LLM planner", kind: "flag", initial: false },
  { name: "planning.http_hints", label: "Follow Retry-After and Cache-Control of responses", kind: "flag", initial: false },
  { name: "planning.watch", label: "Watched JSON paths", kind: "lines", help: "A change there is a change, one path on each line. Empty: the whole response." },
  { name: "planning.runs_per_hour", label: "Runs per hour of the learning planner", kind: "number", empty: "null", help: "Empty: what the baseline spends." },
  { name: "planning.max_pause_minutes", label: "Longest pause by planners", kind: "duration", unit: 60_000, initial: 240 },
];

/** The fields of another kind of target than is chosen are not shown. */
export const ENDPOINT_SECTIONS: Section[] = [
  { title: "Endpoint", fields: IDENTITY },
  { title: "Target", fields: TARGET },
  { title: "Success and response", fields: SUCCESS, folded: true },
  { title: "Schedule", fields: SCHEDULE, extra: SchedulePreview },
  { title: "Calendars, start and end", fields: CALENDAR_RULES, folded: true },
  { title: "Timeout, retries and misfires", fields: POLICY, folded: true },
  { title: "Planners", fields: PLANNING, folded: true },
];

const REQUIRED: Record<string, string[]> = { every: ["baseline.interval_ms"], cron: ["baseline.expression", "baseline.timezone"], once: ["baseline.at"], "day-parts": ["baseline.otherwise"] };

function SchedulePreview({ values }: { values: Values }): JSX.Element {
  return <NextRuns schedule={scheduleOf(values)} fields={[...SCHEDULE, ...CALENDAR_RULES]} />;
}

/** Baseline, guard and calendars as they stand in the form; null while they are incomplete. */
function scheduleOf(values: Values): Json | null {
  const shown = [...SCHEDULE, ...CALENDAR_RULES].filter((field) => field.when?.(values) ?? true);
  if (!REQUIRED[values["baseline.kind"] as string]?.every((name) => isGiven(values[name]!))) return null;
  if (values["baseline.kind"] === "day-parts" && !(values["baseline.parts"] as DayPartRow[]).every((part) => part.calendar && isWhole(part.cadence))) return null;
  const body = bodyOf(shown, values);
  return { ...body, calendar: rulesOf(body) };
}
