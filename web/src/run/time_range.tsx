/** Time ranges in the past, and moments of fields for a local date and time. */

import { Problem } from "../lib/api";

const HOUR = 3_600_000;
export const RANGES: { name: string; ms: number }[] = [
  { name: "15 m", ms: HOUR / 4 },
  { name: "1 h", ms: HOUR },
  { name: "6 h", ms: 6 * HOUR },
  { name: "24 h", ms: 24 * HOUR },
  { name: "7 d", ms: 168 * HOUR },
  { name: "30 d", ms: 720 * HOUR },
];

/** What a field for a local date and time holds, in UTC; undefined if it is empty. */
export function utc(local: FormDataEntryValue | null): string | undefined {
  const moment = new Date(String(local ?? ""));
  return Number.isNaN(moment.getTime()) ? undefined : moment.toISOString();
}

/** The problem of a field for a date that is empty. */
export function missing(field: string): never {
  const message = "Choose a date and a time.";
  throw new Problem(422, "", message, [{ field, message }]);
}
