/** Users who are served daily, and the programmes in which they are. */

import type { Field, Json, Values } from "../forms/fields";
import { DAYS } from "../forms/calendar_kinds";
import type { Resource } from "../forms/resource";
import { timeZones } from "../forms/zones";
import { span } from "../lib/format";
import { ONE_CALENDAR, rulesInWords, type CalendarRules } from "./calendar_rules";

/** The programme that every tenant has. */
export const DAILY = "daily";
const MINUTE = 60_000;

/** `07:30 Europe/Berlin`. */
export const dueInWords = (due: { due_time: string; timezone: string }): string => `${due.due_time} ${due.timezone}`;

export const DAILY_USERS: Resource = {
  slug: "daily-users",
  title: "Daily users",
  one: "daily user",
  about: "A daily user is served once a day, before a due time.",
  list: "/v1/daily/users",
  scope: "write",
  create: "PUT /v1/daily/users/{user_id}",
  update: "PUT /v1/daily/users/{user_id}",
  remove: "DELETE /v1/daily/users/{user_id}?programme={programme}",
  notCopied: ["user_id"],
  nameOf: (user) => String(user["user_id"]),
  href: () => "/daily",
  submit: "Save",
  sections: [
    {
      fields: [
        { name: "user_id", label: "User", fixed: true },
        { name: "programme", label: "Programme", kind: "reference", initial: DAILY, from: () => ({ path: "/v1/daily/programmes" }), fixed: true },
        { name: "due_time", label: "Due time", kind: "time", help: "In the time zone below. The daily target is called before, from when the window opens. A window that is already open keeps its time." },
        { name: "timezone", label: "Time zone", initial: "UTC", suggest: timeZones, help: "Where its clocks skip the due time, the first moment after it counts; where they repeat it, the first time." },
      ],
    },
  ],
  prepare: (body, before) => (before?.["programme"] ? { ...body, programme: before["programme"] } : body),
  details: (user) => `due at ${dueInWords(user as unknown as { due_time: string; timezone: string })}`,
  goesWith: () => Promise.resolve(["The user is not served any more. Results of past days are kept."]),
};

const targetIs = (kind: string) => (values: Values): boolean => values["target.kind"] === kind;
const minutes = (name: string, label: string, help: string): Field => ({ name, label, kind: "duration", unit: MINUTE, empty: "null", help });

const TARGET: Field[] = [
  {
    name: "target.kind",
    label: "What is done for each user",
    kind: "choice",
    initial: "",
    none: "As the installation is set up",
    options: [
      { value: "http", label: "HTTP request" },
      { value: "prompt", label: "Message to an agent" },
      { value: "callable", label: "Python function of your program" },
    ],
  },
  { name: "target.method", label: "Method", kind: "choice", initial: "POST", options: ["GET", "POST", "PUT", "PATCH", "DELETE"].map((value) => ({ value, label: value })), when: targetIs("http") },
  { name: "target.url", label: "URL", wide: true, when: targetIs("http"), help: "Addresses are shown to everyone who may read: secrets belong into headers." },
  { name: "target.headers", label: "Headers", kind: "pairs", when: targetIs("http"), secrets: true },
  { name: "target.agent_id", label: "Agent", kind: "reference", from: () => ({ path: "/v1/agents" }), when: targetIs("prompt") },
  { name: "target.prompt", label: "Prompt for the agent", kind: "multiline", when: targetIs("prompt") },
  { name: "target.function", label: "Function", when: targetIs("callable"), help: "The name by which your program declares it." },
];

function servedOn(programme: Json): string {
  const weekdays = programme["weekdays"] as string[];
  return weekdays.length === DAYS.length ? "every day" : weekdays.join(" ");
}

function windowOf(programme: Json): string {
  const length = programme["window_minutes"];
  return typeof length === "number" ? `window ${span(length * MINUTE)}` : "";
}

export const PROGRAMMES: Resource = {
  slug: "programmes",
  title: "Daily programmes",
  one: "programme",
  about: "A programme is owed to each of its users once a day, before the due time of the user.",
  list: "/v1/daily/programmes",
  scope: "write",
  create: "PUT /v1/daily/programmes/{programme_id}",
  update: "PUT /v1/daily/programmes/{programme_id}",
  remove: "DELETE /v1/daily/programmes/{programme_id}",
  read: (programme) => ({ ...programme, programme_id: programme["id"] as string }),
  notCopied: ["programme_id"],
  nameOf: (programme) => String(programme["name"] ?? programme["id"]),
  href: (programme) => (programme["id"] === DAILY ? "/daily" : `/daily?programme=${encodeURIComponent(String(programme["id"]))}`),
  submit: "Save",
  sections: [
    {
      fields: [
        { name: "programme_id", label: "Id", fixed: true },
        { name: "name", label: "Name" },
        { name: "weekdays", label: "Days of the week", kind: "weekdays", help: "On other days nothing is owed. The date is that of the user's clock at the due time." },
        { ...ONE_CALENDAR, name: "only_during", label: "Only during", help: "Dates are owed where this calendar is open at the due time." },
        { ...ONE_CALENDAR, name: "never_during", label: "Never during", help: "Dates are not owed where it is open then, such as on holidays." },
      ],
    },
    { fields: TARGET },
    {
      fields: [
        minutes("window_minutes", "Window", "How long before a due time it opens. Empty: as the installation is set up."),
        minutes("retry_delay_minutes", "Delay before a retry", "Empty: as the installation is set up."),
        { name: "job_timeout_ms", label: "Timeout", kind: "duration", empty: "null", help: "Of one try. Empty: as the installation is set up." },
        { name: "share_percent", label: "Share of the slots, in percent", kind: "number", initial: 100, help: "At most so many of a process's slots are used by this programme at once." },
        { name: "resets_conversation", label: "A cutoff lets conversations start afresh", kind: "flag", initial: true },
      ],
    },
  ],
  prepare: (body) => ({ ...body, target: (body["target"] as Json | undefined)?.["kind"] ? body["target"] : null }),
  details: (programme) => [programme["name"] ? programme["id"] : "", servedOn(programme), rulesInWords(programme as CalendarRules), windowOf(programme)].filter(Boolean).join(", "),
  goesWith: (programme) => Promise.resolve([programme["id"] === DAILY ? "Its settings go back to those of the installation." : "It is refused while it has users, or results of past days."]),
};
