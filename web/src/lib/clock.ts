/** The server's two clocks: that of the scheduler, which may run many times faster, and that on the wall. */

import { signal } from "@preact/signals";

/** What both clocks show at one moment, as the server tells it. */
export interface Clocks {
  now: string;
  wall: string;
}

interface Sample {
  now: number;
  wall: number;
  here: number;
}

let base: Sample | undefined;
let rate = 1;
/** Closer than this, two samples do not tell how fast the one clock runs by the other. */
const APART_MS = 20;

/** A moment in milliseconds, with the digits that dates of this language leave out. */
function exact(iso: string): number {
  const rest = /\.\d{3}(\d+)/.exec(iso)?.[1];
  return Date.parse(iso) + (rest ? Number(`0.${rest}`) : 0);
}

/** Take what the server just told. */
export function toldClocks(told: Clocks): void {
  const sample = { now: exact(told.now), wall: exact(told.wall), here: performance.now() };
  const passed = base ? sample.wall - base.wall : 0;
  if (base && passed > APART_MS) {
    const measured = (sample.now - base.now) / passed;
    rate = Math.abs(measured - 1) < 0.05 ? 1 : Math.max(0, measured);
  }
  if (!base || passed > APART_MS || passed < 0) base = sample;
}

function since(sample: Sample): number {
  return performance.now() - sample.here;
}

/** The moment it is for the scheduler, in milliseconds. */
export function serverNow(): number {
  return base ? base.now + since(base) * rate : Date.now();
}

/** The moment it is on the server's wall. */
export function wallNow(): number {
  return base ? base.wall + since(base) : Date.now();
}

/** Changes about every half second while the page is seen, for whatever counts down. */
export const tick = signal(0);
setInterval(() => {
  if (!document.hidden) tick.value += 1;
}, 500);
