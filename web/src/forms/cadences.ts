/** Cadences of day parts as texts: `5m` for an interval, `cron LINE in ZONE` for a cron expression. */

import type { Pair } from "./kinds";

interface Cadence {
  kind: "every" | "cron";
  interval_ms?: number;
  expression?: string;
  timezone?: string;
}
interface DayPart {
  calendar: string;
  cadence: Cadence;
}

const UNITS: [string, number][] = [["d", 86_400_000], ["h", 3_600_000], ["m", 60_000], ["s", 1_000], ["ms", 1]];
const SPAN = /^(\d{1,15}(ms|s|m|h|d))+$/;

/** A span as people write it: 90000 is 1m30s. */
function spanText(ms: number): string {
  let rest = ms;
  return UNITS.map(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count ? `${count}${unit}` : "";
  }).join("");
}

export function cadenceText(cadence: Cadence | undefined): string {
  if (!cadence) return "";
  if (cadence.kind === "every") return spanText(cadence.interval_ms ?? 0);
  const zone = cadence.timezone ?? "UTC";
  return `cron ${cadence.expression ?? ""}${zone === "UTC" ? "" : ` in ${zone}`}`;
}

/** The JSON of a cadence; throws an Error with a sentence if the text is none. */
export function cadenceOf(text: string): Cadence {
  const said = text.trim();
  if (said.startsWith("cron ")) {
    const [line, zone] = said.slice("cron ".length).split(" in ", 2) as [string, string?];
    return { kind: "cron", expression: line.trim(), timezone: zone?.trim() ?? "UTC" };
  }
  const span = said.replace(/\s+/g, "");
  if (!SPAN.test(span)) throw new Error("Write an interval such as 5m, or a cron expression such as cron */5 * * * *.");
  const parts = span.matchAll(/(\d+)(ms|s|m|h|d)/g);
  const interval = [...parts].reduce((sum, [, count, unit]) => sum + Number(count) * UNITS.find(([name]) => name === unit)![1], 0);
  return { kind: "every", interval_ms: interval };
}

export function partsAsPairs(parts: DayPart[] | undefined): Pair[] {
  return (parts ?? []).map((part) => [part.calendar, cadenceText(part.cadence)]);
}

export function partsOf(pairs: Pair[]): DayPart[] {
  const given = pairs.filter(([calendar, cadence]) => calendar.trim() || cadence.trim());
  return given.map(([calendar, cadence]) => ({ calendar: calendar.trim(), cadence: cadenceOf(cadence) }));
}
