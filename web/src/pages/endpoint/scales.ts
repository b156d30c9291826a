/** Scales of the timeline: time range, axis marks, and which runs are drawn. */

import { serverNow } from "../../lib/clock";
import type { TimelineRun } from "./types";

/** The time range of the chart, in milliseconds. */
export interface TimeRange {
  from: number;
  to: number;
}

export const MIN_RANGE_MS = 60_000;
export const MAX_RANGE_MS = 90 * 86_400_000;

export function zoomRange(range: TimeRange, factor: number, around = (range.from + range.to) / 2): TimeRange {
  const now = range.to - range.from;
  const length = Math.min(MAX_RANGE_MS, Math.max(MIN_RANGE_MS, now * factor));
  const share = (around - range.from) / now;
  return { from: around - length * share, to: around + length * (1 - share) };
}

export function moveRange(range: TimeRange, by: number): TimeRange {
  return { from: range.from + by, to: range.to + by };
}

/** The newest range of this length, with a little of the future. */
export function latestRange(length: number): TimeRange {
  const now = serverNow();
  return { from: now - length * 0.85, to: now + length * 0.15 };
}

/** A wider range to load, on a grid, so that small moves need no new request. */
export function queriedRange(range: TimeRange): { since: string; until: string } {
  const step = (range.to - range.from) / 2;
  const grid = 2 ** Math.ceil(Math.log2(step));
  return {
    since: new Date((Math.floor(range.from / grid) - 1) * grid).toISOString(),
    until: new Date((Math.ceil(range.to / grid) + 1) * grid).toISOString(),
  };
}

export interface Dot {
  at: number;
  /** Time since the previous run; null for the first. */
  gap: number | null;
  run: TimelineRun;
  /** How many runs it stands for. */
  count: number;
}

export const startedAt = (run: TimelineRun): number => Date.parse(run.started_at ?? run.due_at);

/** Each run with the time since the previous one. */
export function dots(runs: TimelineRun[]): Dot[] {
  let last: number | null = null;
  return runs
    .toSorted((one, other) => startedAt(one) - startedAt(other))
    .map((run) => {
      const at = startedAt(run);
      const gap = last === null ? null : at - last;
      if (run.started_at) last = at;
      return { at, gap, run, count: 1 };
    });
}

const SEVERITY = ["success", "cancelled", "skipped", "abandoned", "timeout", "failure"];
const severity = (run: TimelineRun): number => SEVERITY.indexOf(run.status ?? "success");

/** At most one dot for every few pixels; the worst status is the one shown. */
export function thinOut(all: Dot[], range: TimeRange, places: number): Dot[] {
  const inside = all.filter((dot) => dot.at >= range.from && dot.at <= range.to);
  if (inside.length <= places) return inside;
  const dotsByPlace = new Map<number, Dot>();
  for (const dot of inside) {
    const place = Math.floor(((dot.at - range.from) / (range.to - range.from)) * places);
    const existing = dotsByPlace.get(place);
    if (!existing) dotsByPlace.set(place, dot);
    else dotsByPlace.set(place, { ...(severity(dot.run) > severity(existing.run) ? dot : existing), count: existing.count + 1 });
  }
  return [...dotsByPlace.values()];
}

const STEPS = [1, 2, 5, 10, 15, 30].map((n) => n * 1_000)
  .concat([1, 2, 5, 10, 15, 30].map((n) => n * 60_000))
  .concat([1, 2, 3, 6, 12].map((n) => n * 3_600_000))
  .concat([1, 2, 7, 14, 30].map((n) => n * 86_400_000));

/** Round times for the axis, as many as fit. */
export function ticks(range: TimeRange, most: number): number[] {
  const step = STEPS.find((one) => (range.to - range.from) / one <= most) ?? STEPS.at(-1)!;
  const zone = new Date(range.from).getTimezoneOffset() * 60_000;
  const found: number[] = [];
  for (let at = Math.ceil((range.from - zone) / step) * step + zone; at <= range.to; at += step) found.push(at);
  return found;
}

/** Intervals to mark on the vertical axis. */
export function marks(least: number, most: number, count: number): number[] {
  const nice = STEPS.filter((one) => one >= least && one <= most);
  const every = Math.max(1, Math.ceil(nice.length / count));
  return nice.filter((_, place) => place % every === 0);
}
