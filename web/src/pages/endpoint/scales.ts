/** Where moments and intervals stand on the timeline, and how many points of a crowd are drawn. */

import type { Point } from "./types";

/** What is in sight, in milliseconds. */
export interface Sight {
  from: number;
  to: number;
}

export const SHORTEST = 60_000;
export const LONGEST = 90 * 86_400_000;

export function zoomed(sight: Sight, factor: number, around = (sight.from + sight.to) / 2): Sight {
  const now = sight.to - sight.from;
  const length = Math.min(LONGEST, Math.max(SHORTEST, now * factor));
  const share = (around - sight.from) / now;
  return { from: around - length * share, to: around + length * (1 - share) };
}

export function moved(sight: Sight, by: number): Sight {
  return { from: sight.from + by, to: sight.to + by };
}

/** A part to ask for that stays the same while one moves a little, and holds what is beside it. */
export function asked(sight: Sight): { since: string; until: string } {
  const step = (sight.to - sight.from) / 2;
  const grid = 2 ** Math.ceil(Math.log2(step));
  return {
    since: new Date((Math.floor(sight.from / grid) - 1) * grid).toISOString(),
    until: new Date((Math.ceil(sight.to / grid) + 1) * grid).toISOString(),
  };
}

export interface Dot {
  at: number;
  /** To the run before it; null for the first. */
  gap: number | null;
  run: Point;
  /** How many runs it stands for. */
  count: number;
}

export const began = (run: Point): number => Date.parse(run.started_at ?? run.due_at);

/** Each run with the time since the one before. */
export function dots(runs: Point[]): Dot[] {
  let last: number | null = null;
  return runs
    .toSorted((one, other) => began(one) - began(other))
    .map((run) => {
      const at = began(run);
      const gap = last === null ? null : at - last;
      if (run.started_at) last = at;
      return { at, gap, run, count: 1 };
    });
}

const BADNESS = ["success", "cancelled", "skipped", "abandoned", "timeout", "failure"];
const badness = (run: Point): number => BADNESS.indexOf(run.status ?? "success");

/** At most one dot for every few pixels; what went wrong stays in sight. */
export function thinned(all: Dot[], sight: Sight, places: number): Dot[] {
  const inside = all.filter((dot) => dot.at >= sight.from && dot.at <= sight.to);
  if (inside.length <= places) return inside;
  const kept = new Map<number, Dot>();
  for (const dot of inside) {
    const place = Math.floor(((dot.at - sight.from) / (sight.to - sight.from)) * places);
    const there = kept.get(place);
    if (!there) kept.set(place, dot);
    else kept.set(place, { ...(badness(dot.run) > badness(there.run) ? dot : there), count: there.count + 1 });
  }
  return [...kept.values()];
}

const STEPS = [1, 2, 5, 10, 15, 30].map((n) => n * 1_000)
  .concat([1, 2, 5, 10, 15, 30].map((n) => n * 60_000))
  .concat([1, 2, 3, 6, 12].map((n) => n * 3_600_000))
  .concat([1, 2, 7, 14, 30].map((n) => n * 86_400_000));

/** Round moments, as many as fit. */
export function ticks(sight: Sight, most: number): number[] {
  const step = STEPS.find((one) => (sight.to - sight.from) / one <= most) ?? STEPS.at(-1)!;
  const zone = new Date(sight.from).getTimezoneOffset() * 60_000;
  const found: number[] = [];
  for (let at = Math.ceil((sight.from - zone) / step) * step + zone; at <= sight.to; at += step) found.push(at);
  return found;
}

/** Intervals to mark on the upright axis, each about double or more of the one before. */
export function marks(least: number, most: number, count: number): number[] {
  const nice = STEPS.filter((one) => one >= least && one <= most);
  const every = Math.max(1, Math.ceil(nice.length / count));
  return nice.filter((_, place) => place % every === 0);
}
