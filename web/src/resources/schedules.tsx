/** Schedules of users: their form, and the forms of what is done to one. */

import type { JSX } from "preact";
import { bodyOf, type Field, type Json, type Section, type Values } from "../forms/fields";
import { isGiven } from "../forms/kinds";
import { NextRuns } from "../forms/next_runs";
import type { Resource } from "../forms/resource";
import { LOCAL_ZONE, timeZones } from "../forms/zones";
import { fullTime, span } from "../lib/format";
import { CALENDAR_RULES, rulesInWords, rulesOf, type CalendarRules } from "./calendar_rules";

const SECOND_MS = 1_000;
const recurring = (values: Values): boolean => values["schedule_type"] === "recurring";
const once = (values: Values): boolean => !recurring(values);
const byInterval = (values: Values): boolean => recurring(values) && values["recurs"] === "interval";
const byCron = (values: Values): boolean => recurring(values) && !byInterval(values);
const WHEN: Field[] = [
  { name: "schedule_type", label: "Type", kind: "choice", initial: "one-shot", options: [{ value: "one-shot", label: "one-time" }, { value: "recurring", label: "recurring" }] },
  { name: "run_at", label: "Run at", kind: "wall", when: once, help: "In the time zone below." },
  { name: "recurs", label: "Repeats", kind: "choice", initial: "cron", when: recurring, options: [{ value: "cron", label: "by a cron expression" }, { value: "interval", label: "on an interval" }] },
  { name: "cron_expression", label: "Cron expression", when: byCron, help: "Minute, hour, day, month, weekday, in the time zone below: 0 9 * * 1-5" },
  { name: "interval_seconds", label: "Every", kind: "duration", unit: SECOND_MS, initial: 1_800, when: byInterval },
  { name: "timezone", label: "Time zone", initial: LOCAL_ZONE, suggest: timeZones, when: (values) => !byInterval(values) },
  { name: "min_interval_seconds", label: "Minimum interval", kind: "duration", unit: SECOND_MS, empty: "null", when: recurring, help: "Its agent never makes it run more often. Empty: no minimum." },
  { name: "max_interval_seconds", label: "Maximum interval", kind: "duration", unit: SECOND_MS, empty: "null", when: recurring, help: "Its agent never makes it run less often. Empty: no maximum." },
  { name: "may_pace", label: "Its agent may pace it", kind: "flag", initial: true, when: byInterval, help: "When it runs, the agent may set its next time and interval, pause it, or finish it." },
];
const TIMES = ["run_at", "cron_expression", "interval_seconds", "timezone"];

function SchedulePreview({ values }: { values: Values }): JSX.Element | null {
  if (!byCron(values)) return null;
  const complete = isGiven(values["cron_expression"]!) && isGiven(values["timezone"]!);
  const line = { kind: "cron", expression: values["cron_expression"], timezone: values["timezone"] };
  const shown = CALENDAR_RULES.filter((field) => field.when?.(values) ?? true);
  return <NextRuns schedule={complete ? { baseline: line, calendar: rulesOf(bodyOf(shown, values)) } : null} fields={[...WHEN, ...CALENDAR_RULES]} />;
}

/** A schedule as its form has it: its moment as its zone's clock shows it. */
function asForm(schedule: Json): Json {
  const runAt = schedule["run_at"];
  const recurs = schedule["interval_seconds"] == null ? "cron" : "interval";
  return { ...schedule, recurs, run_at: typeof runAt === "string" ? runAt.slice(0, 19) : null };
}

/** What the form changes, and nothing else: a moment that has passed may stay as it is. */
function changesOf(body: Json, before: Json | undefined): Json {
  const { recurs: _, schedule_type: type, calendar: __, ...rest } = body;
  const fields: Json = { ...rest, calendar: rulesOf(body) };
  if (!before) return { ...fields, schedule_type: type };
  const differs = (name: string): boolean => (name === "calendar" ? JSON.stringify(fields[name]) !== JSON.stringify(rulesOf(before)) : (fields[name] ?? null) !== (before[name] ?? null));
  const moved = type !== before["schedule_type"] || TIMES.some((name) => name in fields && differs(name));
  return Object.fromEntries(Object.entries(fields).filter(([name]) => (TIMES.includes(name) ? moved : differs(name))));
}

/** When a schedule runs, and by which calendars, in words. */
export function timesOf(schedule: Json): string {
  return [cadenceOf(schedule), rulesInWords((schedule["calendar"] as CalendarRules | null) ?? {})].filter(Boolean).join(", ");
}

function cadenceOf(schedule: Json): string {
  if (schedule["schedule_type"] !== "recurring") return `once, ${schedule["run_at"] ? fullTime(schedule["run_at"] as string) : ""}`;
  const seconds = schedule["interval_seconds"];
  if (typeof seconds === "number") return `every ${span(seconds * SECOND_MS)}`;
  return `${String(schedule["cron_expression"])} (${String(schedule["timezone"])})`;
}

export const SCHEDULES: Resource = {
  slug: "schedules",
  title: "Schedules",
  one: "schedule",
  about: "A schedule sends a prompt to an agent at a set time, once or repeatedly, and its user gets the answer.",
  list: "/v1/schedules",
  query: { enabled_only: false },
  scope: "write",
  create: "POST /v1/schedules",
  update: "PATCH /v1/schedules/{id}",
  remove: "DELETE /v1/schedules/{id}",
  read: asForm,
  prepare: changesOf,
  notCopied: ["run_at"],
  sections: [
    {
      fields: [
        { name: "name", label: "Name" },
        { name: "prompt", label: "Prompt for the agent", kind: "multiline" },
        { name: "user_id", label: "User", kind: "reference", from: () => ({ path: "/v1/users" }), fixed: true },
        { name: "agent_id", label: "Agent", kind: "reference", from: () => ({ path: "/v1/agents" }) },
      ],
    },
    { fields: WHEN, extra: SchedulePreview },
    { title: "Calendars, start and end", fields: CALENDAR_RULES, folded: true },
    {
      fields: [
        { name: "probe", label: "Probe", kind: "json", empty: "null", fixed: true, help: "What is looked at first, so that the agent gets the prompt only if that has something new: {\"target\": {\"kind\": \"http\", \"url\": \"https://…\"}, \"changed\": [\"$.items\"]}" },
      ],
    },
  ],
  href: (schedule) => `/endpoints/${encodeURIComponent(String(schedule["id"]))}`,
  details: (one) => `${timesOf(one)}, by ${String(one["agent_id"])}, for ${String(one["user_id"])}${one["enabled"] ? "" : ", finished"}`,
  goesWith: () => Promise.resolve(["It will not run again. Messages already sent are kept."]),
  created: (answer) => (
    <>
      <p>“{String(answer["name"])}”: next runs</p>
      <ol class="fires">
        {(answer["next_fires"] as string[]).map((fire) => (
          <li key={fire}>{fire}</li>
        ))}
      </ol>
    </>
  ),
};

/** What is asked before one operation is done to a schedule. */
export interface ScheduleQuestion {
  title: string;
  submit: string;
  /** The end of the path. */
  operation: string;
  about: string;
  done: string;
  sections: Section[];
}

export const SNOOZE: ScheduleQuestion = {
  title: "Snooze schedule",
  submit: "Snooze",
  operation: "snooze",
  about: "Its next run is put off once; then it goes on as before.",
  done: "Snoozed",
  sections: [{ fields: [{ name: "for_seconds", label: "Snooze for", kind: "duration", unit: SECOND_MS, initial: 3_600 }] }],
};

export const PAUSE: ScheduleQuestion = {
  title: "Pause schedule",
  submit: "Pause",
  operation: "pause",
  about: "It does not run until then.",
  done: "Paused",
  sections: [
    {
      fields: [
        { name: "until", label: "Until", kind: "moment", help: "Empty: until it is resumed." },
        { name: "reason", label: "Reason", help: "Optional." },
      ],
    },
  ],
};
