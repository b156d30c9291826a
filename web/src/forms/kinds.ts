/** The kinds of fields: how each reads a JSON value into what is typed, and writes what was typed as JSON. */

import { splitDuration, UNITS } from "../ui/duration_field";
import { calendarKinds, isCadence, isWhole, type Cadence, type CalendarKind, type DayPartRow, type HoursRow } from "./calendar_kinds";
import type { Field } from "./fields";

export interface Amount {
  count: string;
  unit: string;
}
export type Pair = [string, string];
export interface Body {
  as: "none" | "json" | "text";
  text: string;
}
export interface ChannelRow {
  id: string;
  type: string;
  url: string;
  enabled: boolean;
}
export type Value = string | boolean | Amount | Pair[] | Body | ChannelRow[] | HoursRow[] | string[] | Cadence | DayPartRow[];

export interface Kind {
  /** The value of a field for this JSON; undefined if there is none. */
  read: (json: unknown, field: Field) => Value;
  /** The JSON of a value that is not empty; throws an Error with a sentence if there is none. */
  write: (value: Value, field: Field) => unknown;
}

const lines = (text: string, split: RegExp): string[] => text.split(split).map((one) => one.trim()).filter(Boolean);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new Error(`This is not JSON: ${error instanceof Error ? error.message : ""}.`, { cause: error });
  }
}

/** A JSON value on one line; a text stands without quotes where nothing else could be meant. */
function asLine(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  try {
    JSON.parse(value);
  } catch {
    return value;
  }
  return JSON.stringify(value);
}

function fromLine(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return line;
  }
}

const twoDigits = (number: number): string => String(number).padStart(2, "0");

/** A moment in the browser's time zone, as its field takes it. */
function localMoment(iso: string): string {
  const at = new Date(iso);
  const date = [at.getFullYear(), twoDigits(at.getMonth() + 1), twoDigits(at.getDate())].join("-");
  return `${date}T${[at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":")}`;
}

function readAmount(json: unknown, field: Field): Amount {
  if (json === undefined) return { count: "", unit: "seconds" };
  const { count, unit } = splitDuration(Number(json) * (field.unit ?? 1));
  return { count: String(count), unit };
}

function writeAmount(value: Value, field: Field): unknown {
  const { count, unit } = value as Amount;
  const ms = Math.round(Number(count) * UNITS[unit]!);
  return Number.isFinite(ms) ? ms / (field.unit ?? 1) : count;
}

const TEXT: Kind = { read: (json) => (json === undefined ? "" : String(json)), write: (value) => (value as string).trim() };
const WHOLE_TEXT: Kind = { read: TEXT.read, write: (value) => value };

export const kinds: Record<KindName, Kind> = {
  ...calendarKinds,
  text: TEXT,
  code: WHOLE_TEXT,
  multiline: WHOLE_TEXT,
  password: WHOLE_TEXT,
  time: TEXT,
  wall: TEXT,
  choice: TEXT,
  reference: TEXT,
  number: {
    read: TEXT.read,
    // What is no number is sent as it is, for the API to say what it must be.
    write: (value) => (Number.isFinite(Number(value)) ? Number(value) : value),
  },
  flag: { read: (json) => json === true, write: (value) => value },
  duration: { read: readAmount, write: writeAmount },
  words: {
    read: (json) => (json as string[] | undefined)?.join(", ") ?? "",
    write: (value) => lines(value as string, /[\s,]+/),
  },
  lines: { read: (json) => (json as string[] | undefined)?.join("\n") ?? "", write: (value) => lines(value as string, /\n/) },
  values: {
    read: (json) => (json as unknown[] | undefined)?.map(asLine).join("\n") ?? "",
    write: (value) => lines(value as string, /\n/).map(fromLine),
  },
  json: {
    read: (json) => (json === undefined || ["{}", "[]"].includes(JSON.stringify(json)) ? "" : JSON.stringify(json, null, 2)),
    write: (value) => parsed(value as string),
  },
  pairs: {
    read: (json) => Object.entries((json as Record<string, string> | undefined) ?? {}),
    write: (value) => {
      const given = (value as Pair[]).filter(([name, text]) => name.trim() || text);
      const names = given.map(([name]) => name.trim());
      const twice = names.find((name, index) => names.indexOf(name) !== index);
      if (twice !== undefined) throw new Error(`${twice || "An empty name"} is there twice.`);
      return Object.fromEntries(given.map(([name, text]) => [name.trim(), text]));
    },
  },
  channels: {
    read: (json) => ((json as ChannelRow[] | undefined) ?? []).map(({ id, type, url, enabled }) => ({ id, type, url, enabled })),
    write: (value) => (value as ChannelRow[]).map((row) => ({ ...row, id: row.id.trim(), url: row.url.trim() })),
  },
  body: {
    read: (json) =>
      json === undefined ? { as: "none", text: "" } : typeof json === "string" ? { as: "text", text: json } : { as: "json", text: JSON.stringify(json, null, 2) },
    write: (value) => ((value as Body).as === "json" ? parsed((value as Body).text) : (value as Body).text),
  },
  moment: {
    read: (json) => (json === undefined ? "" : localMoment(String(json))),
    write: (value) => (Number.isNaN(Date.parse(value as string)) ? value : new Date(value as string).toISOString()),
  },
};

export type KindName =
  | "text" | "code" | "multiline" | "password" | "time" | "wall" | "choice" | "reference" | "number" | "flag" | "duration"
  | "words" | "lines" | "values" | "json" | "pairs" | "body" | "moment" | "channels" | CalendarKind;

/** Whether anything was typed. */
export function isGiven(value: Value): boolean {
  if (typeof value === "boolean" || Array.isArray(value)) return true;
  if (typeof value === "string") return value.trim() !== "";
  if (isCadence(value)) return isWhole(value);
  return "as" in value ? value.as !== "none" : value.count.trim() !== "";
}
