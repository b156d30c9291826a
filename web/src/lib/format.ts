/** Moments, spans and numbers as people read them. */

const MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A span in at most two units: `45 s`, `3 m 20 s`, `2 h`, `250 ms`. */
export function span(ms: number): string {
  const size = Math.abs(ms);
  if (size < 1_000) return `${Math.round(size)} ms`;
  if (size < 10_000 && size % 1_000 !== 0) return `${(size / 1_000).toFixed(1)} s`;
  const whole = Math.round(size / 1_000) * 1_000;
  if (whole < MS.m) return `${whole / MS.s} s`;
  if (whole < MS.h) return two(whole, MS.m, "m", MS.s, "s");
  if (whole < MS.d) return two(whole, MS.h, "h", MS.m, "m");
  return two(whole, MS.d, "d", MS.h, "h");
}

function two(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
  const first = `${Math.floor(ms / large)} ${largeName}`;
  return rest ? `${first} ${rest} ${smallName}` : first;
}

/** A span in one unit, for axes: `1.3 m`. */
export function shortSpan(ms: number): string {
  const [size, name] = ms >= MS.d ? [MS.d, "d"] : ms >= MS.h ? [MS.h, "h"] : ms >= MS.m ? [MS.m, "m"] : ms >= MS.s ? [MS.s, "s"] : [1, "ms"];
  return `${Math.round((ms / Number(size)) * 10) / 10} ${name}`;
}

/** How far a moment is from now: `in 3 m`, `12 s ago`, `now`. */
export function distance(iso: string, now: number): string {
  const away = Date.parse(iso) - now;
  if (Math.abs(away) < 1_000) return "now";
  const rounded = Math.floor(Math.abs(away) / 1_000) * 1_000;
  return away > 0 ? `in ${span(rounded)}` : `${span(rounded)} ago`;
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long", hourCycle: "h23" });
const ZONE = new Intl.DateTimeFormat(undefined, { timeZoneName: "short" });
const A_DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** The short name of the browser's time zone, for labels beside times of another zone. */
export function localZone(at: number = Date.now()): string {
  return ZONE.formatToParts(at).find((part) => part.type === "timeZoneName")?.value ?? "local";
}

export function clockTime(moment: string | number): string {
  return CLOCK.format(new Date(moment));
}

export function fullTime(moment: string | number): string {
  return FULL.format(new Date(moment));
}

/** The time alone where it is of the day of another moment, else with its date; with its zone. */
export function shortTime(moment: string | number, now: number): string {
  return A_DAY.format(new Date(moment)) === A_DAY.format(now) ? `${clockTime(moment)} ${localZone(Number(new Date(moment)))}` : fullTime(moment);
}

const COMPACT = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });

/** A count; one that is small and not whole keeps a digit. */
export function compact(count: number): string {
  if (Math.abs(count) < 10 && !Number.isInteger(count)) return count.toFixed(1);
  return Math.abs(count) < 10_000 ? WHOLE.format(count) : COMPACT.format(count);
}

/** A count and what is counted: `1 run`, `1,204 runs`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${compact(count)} ${count === 1 ? one : many}`;
}

export function percent(part: number, digits = 1): string {
  const shown = part * 100;
  return `${shown === 100 || shown === 0 ? shown : shown.toFixed(digits)} %`;
}

const OPEN_END = Date.UTC(9999, 0, 1);
/** The end of a pause that lasts until somebody resumes it. */
export const UNTIL_RESUMED = new Date(OPEN_END).toISOString();

export function isOpenEnded(until: string): boolean {
  return Date.parse(until) >= OPEN_END;
}

export interface Baseline {
  kind: "every" | "cron" | "once" | "day-parts";
  interval_ms?: number;
  expression?: string;
  timezone?: string;
  at?: string;
  parts?: { calendar: string; cadence: Baseline }[];
  otherwise?: Baseline;
}

/** The schedule that an owner chose, in a few words. */
export function baseline(chosen: Baseline): string {
  if (chosen.kind === "every") return `every ${span(chosen.interval_ms ?? 0)}`;
  if (chosen.kind === "cron") {
    return `${chosen.expression ?? ""} ${chosen.timezone ?? "UTC"}`;
  }
  if (chosen.kind === "day-parts" && chosen.otherwise) {
    const parts = (chosen.parts ?? []).map((part) => `${baseline(part.cadence)} during ${part.calendar}`);
    return [...parts, `otherwise ${baseline(chosen.otherwise)}`].join(", ");
  }
  return `once, ${fullTime(chosen.at ?? 0)}`;
}
