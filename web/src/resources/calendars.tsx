/** The form of a calendar, as data: when it is open, and what is taken out of that. */

import type { JSX } from "preact";
import { bodyOf, type Field, type Json, type Section, type Values } from "../forms/fields";
import { isGiven } from "../forms/kinds";
import { LOCAL_ZONE, timeZones } from "../forms/zones";
import { DraftPreview } from "../calendar/draft_preview";
import { countOf, type Resource } from "../forms/resource";
import { fullTime } from "../lib/format";

const IDENTITY: Field[] = [
  { name: "calendar_id", label: "Id", fixed: true, help: "Chosen by you. Endpoints, jobs, schedules and programmes name it so." },
  { name: "name", label: "Name" },
  { name: "timezone", label: "Time zone", initial: LOCAL_ZONE, suggest: timeZones, help: "Days and hours are by its clocks, which it may change twice a year." },
];

/** The parts of a calendar, or of its exceptions. */
function parts(group: string): Field[] {
  return [
    { name: `${group}weekly`, label: group ? "Closed hours" : "Weekly hours", kind: "weekly", help: "24:00 is the midnight at the end of a day. Hours that end before they begin go over midnight." },
    { name: `${group}holidays`, label: group ? "Closed on holidays of" : "Holidays of", kind: "holidays", help: "A country, with a region where its own holidays count: DE-BY, AT." },
    { name: `${group}dates`, label: group ? "Closed on dates" : "Dates", kind: "dates", help: "One on each line: 2027-12-24, or 2027-12-24 to 2027-12-31." },
    { name: `${group}ics`, label: group ? "Closed during events" : "Events", kind: "file", help: "The text of an iCalendar file (.ics), up to 256 KB." },
  ];
}

const OPEN = parts("");
const EXCEPT = parts("except_during.");
const FIELDS = [...IDENTITY, ...OPEN, ...EXCEPT];

export const CALENDAR_SECTIONS: Section[] = [
  { fields: IDENTITY },
  { title: "Open during", fields: OPEN },
  { title: "Except", fields: EXCEPT, extra: Preview },
];

/** Whether it has anything that opens it. */
const isOpenSometime = (values: Values): boolean => OPEN.some((field) => (field.kind === "weekly" ? (values[field.name] as unknown[]).length > 0 : isGiven(values[field.name]!)));

function Preview({ values }: { values: Values }): JSX.Element {
  const draft = isOpenSometime(values) && isGiven(values["timezone"]!) ? () => definitionOf(bodyOf(FIELDS, values)) : null;
  return <DraftPreview definition={draft} fields={FIELDS} />;
}

/** Without parts of which nothing is given. */
function givenOf(parts: Json): Json {
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => (Array.isArray(part) ? part.length > 0 : part !== null)));
}

/** The definition without what is not given, and without exceptions where there are none. */
function definitionOf(body: Json): Json {
  const except = givenOf((body["except_during"] as Json | undefined) ?? {});
  return givenOf({ ...body, except_during: Object.keys(except).length ? except : null });
}

/** Whether it is open now, and until when. */
function stateOf(calendar: Json): string {
  const changes = calendar["changes_at"] as string | null;
  const [state, next] = calendar["open"] ? ["open", "until"] : ["closed", "opens"];
  return changes === null ? `${state}, for good` : `${state}, ${next} ${fullTime(changes)}`;
}

async function goesWith(calendar: Json): Promise<string[]> {
  const uses = await countOf(`/v1/calendars/${encodeURIComponent(String(calendar["id"]))}/uses`, {}, "use");
  return [uses ? `It is not deleted while anything names it: ${uses}.` : "Nothing names it."];
}

export const CALENDARS: Resource = {
  slug: "calendars",
  title: "Calendars",
  one: "calendar",
  about: "A calendar says when something may run: hours of the week, holidays, dates, events. Endpoints, jobs, schedules and programmes name it, to run only or never while it is open.",
  list: "/v1/calendars",
  scope: "write",
  create: "PUT /v1/calendars/{calendar_id}",
  update: "PUT /v1/calendars/{calendar_id}",
  remove: "DELETE /v1/calendars/{calendar_id}",
  sections: CALENDAR_SECTIONS,
  read: (calendar) => ({ ...calendar, calendar_id: calendar["id"] as string }),
  notCopied: ["calendar_id"],
  prepare: definitionOf,
  nameOf: (calendar) => String(calendar["name"] || calendar["id"]),
  href: (calendar) => `/calendars/${encodeURIComponent(String(calendar["id"]))}`,
  details: (calendar) => [calendar["name"] ? calendar["id"] : "", calendar["timezone"], stateOf(calendar)].filter(Boolean).join(", "),
  goesWith,
};
