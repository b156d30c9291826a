/** The fields that keep something to calendars, for all records that have them. */

import type { Field, Json, Values } from "../forms/fields";
import { localZone } from "../lib/format";

/** A field that names a calendar. */
export const ONE_CALENDAR: Pick<Field, "kind" | "from" | "none" | "empty"> = { kind: "reference", from: () => ({ path: "/v1/calendars" }), none: "No calendar", empty: "null" };

/** The two calendars that a record may name, as the API knows them: `calendar.only_during`. */
export function calendarFields(what: string): Field[] {
  return [
    { ...ONE_CALENDAR, name: "calendar.only_during", label: "Only during", create: "calendar", help: `${what} only while this calendar is open.` },
    { ...ONE_CALENDAR, name: "calendar.never_during", label: "Never during", help: "Nothing runs while this calendar is open, such as maintenance." },
  ];
}

const hasCalendar = (values: Values): boolean => values["calendar.only_during"] !== "" || values["calendar.never_during"] !== "";

/** All rules of an endpoint or a schedule. */
export const CALENDAR_RULES: Field[] = [
  ...calendarFields("It runs"),
  {
    name: "calendar.when_closed",
    label: "While closed",
    kind: "choice",
    initial: "skip",
    when: hasCalendar,
    options: [
      { value: "skip", label: "Skip the run, and record that" },
      { value: "run-at-end", label: "Run when it opens" },
    ],
  },
  { name: "calendar.starts_at", label: () => `Starts at (${localZone()})`, kind: "moment", empty: "null", help: "Nothing runs before. Empty: at once." },
  { name: "calendar.ends_at", label: () => `Ends at (${localZone()})`, kind: "moment", empty: "null", help: "Nothing runs then or later. Empty: never." },
];

export interface CalendarRules {
  only_during?: string | null;
  never_during?: string | null;
  when_closed?: "skip" | "run-at-end";
  starts_at?: string | null;
  ends_at?: string | null;
}

/** The rules of a record or a body without what is not given; null if nothing is. */
export function rulesOf(record: Json): Json | null {
  const given = Object.entries((record["calendar"] as Json | null | undefined) ?? {}).filter(([, value]) => value !== null);
  if (given.every(([name]) => name === "when_closed")) return null;
  return Object.fromEntries(given.sort(([one], [other]) => one.localeCompare(other)));
}

/** In a few words: `only during work, never during maintenance`. */
export function rulesInWords({ only_during: only, never_during: never }: CalendarRules): string {
  return [only && `only during ${only}`, never && `never during ${never}`].filter(Boolean).join(", ");
}
