/** The hints and pauses of an endpoint in a time range. */

import type { JSX } from "preact";
import { serverNow } from "../../lib/clock";
import { clockTime, isOpenEnded, shortTime, span } from "../../lib/format";
import { Card } from "../../ui/parts";
import type { Endpoint, HintPeriod, Timeline } from "./types";

export function Hints({ endpoint, timeline }: { endpoint: Endpoint; timeline: Timeline | undefined }): JSX.Element | null {
  const periods = (timeline?.spells ?? []).slice(-8).toReversed();
  if (periods.length === 0 && !endpoint.pause_reason) return null;
  const now = serverNow();
  return (
    <Card title="Hints and pauses" aside="in this range, newest first">
      <ul class="hint-periods">
        {periods.map((period, index) => (
          <li key={index}>
            <span class={`swatch source-${period.kind === "interval" ? "hint" : period.kind === "pause" ? "paused" : "one-shot"}`} />
            <div>
              <div>
                {period.kind === "interval" ? `Every ${span(period.interval_ms ?? 0)}` : period.kind === "pause" ? "Paused" : `Once at ${clockTime(period.at ?? period.begin)}`}
                {isActive(period, now) && <span class="badge accent">active</span>}
              </div>
              {period.reason && <div class="reason">{period.reason}</div>}
              <div class="quiet">
                {period.by}, from {shortTime(period.begin, now)} {isOpenEnded(period.end) ? "until resumed" : `to ${shortTime(period.end, now)}`}
              </div>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Whether it is in force; a one-shot is until its time. */
function isActive(period: HintPeriod, now: number): boolean {
  const end = period.kind === "one-shot" && period.at ? period.at : period.end;
  return Date.parse(period.begin) <= now && Date.parse(end) > now;
}
