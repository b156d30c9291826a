/** The kinds of fields about days and hours: weekly hours, weekdays, holidays, dates, cadences and day parts. */

import { splitDuration, UNITS } from "../ui/duration_field";
import type { Amount, Kind, Value } from "./kinds";

export interface HoursRow {
  days: string[];
  opens: string;
  closes: string;
}

/** An interval, or a cron expression in a time zone. */
export interface Cadence {
  kind: "every" | "cron";
  every: Amount;
  expression: string;
  timezone: string;
}

export interface DayPartRow {
  calendar: string;
  cadence: Cadence;
}

export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
export const WORKING_DAYS: HoursRow = { days: DAYS.slice(0, 5), opens: "08:00", closes: "18:00" };

const HOLIDAYS = /^([A-Za-z]{2})(?:-([\w .'-]+))?$/;
const DATES = /^(\d{4}-\d\d-\d\d)(?:(?:\s*(?:–|to|until|\.\.)\s*|\s+-\s+)(\d{4}-\d\d-\d\d))?$/;

const linesOf = (text: string, split: RegExp): string[] => text.split(split).map((one) => one.trim()).filter(Boolean);

/** `DE` or `DE-BY`: a country, and a part of it. */
function holidayOf(text: string): unknown {
  const [, country, subdivision] = HOLIDAYS.exec(text) ?? [];
  if (country === undefined) throw new Error(`${text} is no country such as DE, nor a region of one such as DE-BY.`);
  return subdivision === undefined ? { country: country.toUpperCase() } : { country: country.toUpperCase(), subdivision };
}

function datesOf(line: string): unknown {
  const [, first, last] = DATES.exec(line) ?? [];
  if (first === undefined) throw new Error(`${line} is no date such as 2027-12-24, nor a span such as 2027-12-24 to 2027-12-31.`);
  return { first, last: last ?? first };
}

export const NEW_CADENCE: Cadence = { kind: "every", every: { count: "5", unit: "minutes" }, expression: "", timezone: "UTC" };

interface CadenceJson {
  kind: "every" | "cron";
  interval_ms?: number;
  expression?: string;
  timezone?: string;
}

function readCadence(json: CadenceJson | undefined): Cadence {
  if (!json) return NEW_CADENCE;
  if (json.kind === "cron") return { ...NEW_CADENCE, kind: "cron", expression: json.expression ?? "", timezone: json.timezone ?? "UTC" };
  const { count, unit } = splitDuration(json.interval_ms ?? 0);
  return { ...NEW_CADENCE, every: { count: String(count), unit } };
}

function writeCadence({ kind, every, expression, timezone }: Cadence): CadenceJson {
  if (kind === "cron") return { kind, expression: expression.trim(), timezone: timezone.trim() };
  const ms = Math.round(Number(every.count) * UNITS[every.unit]!);
  // What is no number is sent as it is, for the API to say what it must be.
  return { kind, interval_ms: Number.isFinite(ms) && every.count.trim() ? ms : (every.count as unknown as number) };
}

/** Whether a cadence has all that its kind needs. */
export function isWhole({ kind, every, expression, timezone }: Cadence): boolean {
  return kind === "every" ? every.count.trim() !== "" : expression.trim() !== "" && timezone.trim() !== "";
}

export type CalendarKind = "weekly" | "weekdays" | "holidays" | "dates" | "file" | "cadence" | "day-parts";

export const calendarKinds: Record<CalendarKind, Kind> = {
  weekly: {
    read: (json) => ((json as HoursRow[] | undefined) ?? []).map(({ days, opens, closes }) => ({ days, opens, closes })),
    write: (value) => (value as HoursRow[]).map((row) => ({ days: DAYS.filter((day) => row.days.includes(day)), opens: row.opens.trim(), closes: row.closes.trim() })),
  },
  weekdays: {
    read: (json) => [...((json as string[] | undefined) ?? DAYS)],
    write: (value) => value,
  },
  holidays: {
    read: (json) =>
      ((json as { country: string; subdivision?: string | null }[] | undefined) ?? []).map(({ country, subdivision }) => (subdivision ? `${country}-${subdivision}` : country)).join(", "),
    write: (value) => linesOf(value as string, /[\n,;]+/).map(holidayOf),
  },
  dates: {
    read: (json) => ((json as { first: string; last: string }[] | undefined) ?? []).map(({ first, last }) => (first === last ? first : `${first} to ${last}`)).join("\n"),
    write: (value) => linesOf(value as string, /[\n,;]+/).map(datesOf),
  },
  file: { read: (json) => (json === undefined ? "" : String(json)), write: (value) => value },
  cadence: { read: (json) => readCadence(json as CadenceJson | undefined), write: (value) => writeCadence(value as Cadence) },
  "day-parts": {
    read: (json) => ((json as { calendar: string; cadence: CadenceJson }[] | undefined) ?? [undefined]).map((part) => ({ calendar: part?.calendar ?? "", cadence: readCadence(part?.cadence) })),
    write: (value) => (value as DayPartRow[]).map(({ calendar, cadence }) => ({ calendar, cadence: writeCadence(cadence) })),
  },
};

/** Whether a value is a cadence. */
export function isCadence(value: Value): value is Cadence {
  return typeof value === "object" && !Array.isArray(value) && "expression" in value;
}
