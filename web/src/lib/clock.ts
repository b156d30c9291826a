/** The server's two clocks: the scheduler's, which may run many times faster, and the wall clock. */

import { signal } from "@preact/signals";

/** What both clocks show at one moment, as the server reports it. */
export interface Clocks {
  now: string;
  wall: string;
}

interface Sample {
  now: number;
  wall: number;
  local: number;
}

let base: Sample | undefined;
let rate = 1;
/** Two samples closer than this do not show how fast the scheduler's clock runs. */
const MIN_SAMPLE_GAP_MS = 20;

/** A moment in milliseconds, with the microseconds that `Date.parse` drops. */
function parseExact(iso: string): number {
  const rest = /\.\d{3}(\d+)/.exec(iso)?.[1];
  return Date.parse(iso) + (rest ? Number(`0.${rest}`) : 0);
}

/** Take over the clocks that the server just reported. */
export function syncClocks(clocks: Clocks): void {
  const sample = { now: parseExact(clocks.now), wall: parseExact(clocks.wall), local: performance.now() };
  const passed = base ? sample.wall - base.wall : 0;
  if (base && passed > MIN_SAMPLE_GAP_MS) {
    const measured = (sample.now - base.now) / passed;
    rate = Math.abs(measured - 1) < 0.05 ? 1 : Math.max(0, measured);
  }
  if (!base || passed > MIN_SAMPLE_GAP_MS || passed < 0) base = sample;
}

function elapsed(sample: Sample): number {
  return performance.now() - sample.local;
}

/** The scheduler's time, in milliseconds. */
export function serverNow(): number {
  return base ? base.now + elapsed(base) * rate : Date.now();
}

/** The server's wall-clock time, in milliseconds. */
export function wallNow(): number {
  return base ? base.wall + elapsed(base) : Date.now();
}

/** Changes every half second while the page is visible, for countdowns. */
export const tick = signal(0);
setInterval(() => {
  if (!document.hidden) tick.value += 1;
}, 500);
