/** The server's clock: its time, and how fast it runs (a demo may run many times faster). */

import { signal } from "@preact/signals";

interface Sample {
  server: number;
  here: number;
}

let base: Sample | undefined;
let rate = 1;

/** Take a moment that the server just told. */
export function toldNow(iso: string): void {
  const sample = { server: Date.parse(iso), here: performance.now() };
  if (base && sample.here - base.here > 500) {
    const measured = (sample.server - base.server) / (sample.here - base.here);
    rate = Math.abs(measured - 1) < 0.05 ? 1 : Math.max(0, measured);
  }
  base = sample;
}

/** The moment it is at the server, in milliseconds. */
export function serverNow(): number {
  return base ? base.server + (performance.now() - base.here) * rate : Date.now();
}

/** Changes about every half second while the page is seen, for whatever counts down. */
export const tick = signal(0);
setInterval(() => {
  if (!document.hidden) tick.value += 1;
}, 500);
