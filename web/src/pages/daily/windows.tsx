/** The windows of a day: as a chart and as a table. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import { serverNow, tick } from "../../lib/clock";
import { compact, counted, distance } from "../../lib/format";
import { Chart, axes, barSeries, rangeFromZero, stacked, rangeOfWholeBars, WHOLE_NUMBERS } from "../../ui/chart";
import { Card } from "../../ui/parts";
import type { Window } from "./types";

const ROWS_SHOWN = 30;
const QUARTER = 900;
const A_DAY = 86_400;

interface Bar {
  at: number;
  success: number;
  waiting: number;
  missed: number;
}

/** The whole day in quarters of an hour, on the clocks of the users. */
function barsOf(date: string, windows: Window[]): Bar[] {
  const begin = Date.parse(`${date}T00:00:00Z`) / 1_000;
  const drawn = Array.from({ length: A_DAY / QUARTER }, (_, index) => ({ at: begin + index * QUARTER, success: 0, waiting: 0, missed: 0 }));
  for (const one of windows) {
    const bar = drawn[Math.floor((Date.parse(`${date}T${one.due_time}:00Z`) / 1_000 - begin) / QUARTER)];
    if (!bar) continue;
    bar.success += one.success;
    bar.waiting += one.waiting ?? 0;
    bar.missed += one.cutoff_reached;
  }
  return drawn;
}

function describeBar(bar: Bar | undefined): string {
  if (!bar) return "";
  const times = `due ${timeOfDay(bar.at)} to ${timeOfDay(bar.at + QUARTER)}`;
  return `${times}: ${compact(bar.success)} succeeded, ${compact(bar.waiting)} pending, ${compact(bar.missed)} missed`;
}

function timeOfDay(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().slice(11, 16);
}

export function WindowsChart({ date, windows }: { date: string; windows: Window[] }): JSX.Element {
  const drawn = useMemo(() => barsOf(date, windows), [date, windows]);
  const data = useMemo(
    () =>
      stacked(
        drawn.map((bar) => bar.at + QUARTER / 2),
        [drawn.map((bar) => bar.success), drawn.map((bar) => bar.waiting), drawn.map((bar) => bar.missed)],
      ),
    [drawn],
  );
  const served = windows.reduce((sum, one) => sum + one.success, 0);
  const missed = windows.reduce((sum, one) => sum + one.cutoff_reached, 0);
  return (
    <Chart
      label={`Results by due time: ${compact(served)} succeeded, ${compact(missed)} missed, over ${counted(windows.length, "due time")}`}
      data={data}
      describe={(index) => describeBar(drawn[index])}
      options={() => {
        const [x, y] = axes(compact, WHOLE_NUMBERS);
        return {
          tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), "Etc/UTC"),
          scales: { x: { range: rangeOfWholeBars }, y: { range: rangeFromZero } },
          axes: [{ ...x, values: (_, splits) => splits.map(timeOfDay) }, { ...y }],
          series: [{}, barSeries("--failure"), barSeries("--running"), barSeries("--success")],
        };
      }}
    />
  );
}

export function DueMinutes({ windows }: { windows: Window[] }): JSX.Element {
  const more = useSignal(false);
  void tick.value;
  const now = serverNow();
  const ahead = windows.findIndex((one) => Date.parse(one.cutoff) > now);
  const first = more.value ? 0 : Math.max(0, (ahead < 0 ? windows.length : ahead) - ROWS_SHOWN / 2);
  const shown = more.value ? windows : windows.slice(first, first + ROWS_SHOWN);
  return (
    <Card title="Due times" aside={`${windows.length} in total`}>
      <div class="scrolled" tabIndex={0} role="region" aria-label="Results by due time">
        <table class="plain-table">
          <thead>
            <tr>
              <th scope="col">Due (local)</th>
              <th scope="col">Window</th>
              <th scope="col">Succeeded</th>
              <th scope="col">Pending</th>
              <th scope="col">Missed</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((one) => (
              <tr key={one.due_time}>
                <th scope="row" class="number">
                  {one.due_time}
                </th>
                <td>{state(one, now)}</td>
                <td class="number">{compact(one.success)}</td>
                <td class="number">{one.waiting === null ? "not counted" : compact(one.waiting)}</td>
                <td class="number">{one.cutoff_reached ? <span class="badge bad">{compact(one.cutoff_reached)}</span> : 0}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < windows.length && (
        <button class="button plain" type="button" onClick={() => (more.value = true)}>
          Show all {windows.length}
        </button>
      )}
    </Card>
  );
}

function state(window: Window, now: number): string {
  if (now < Date.parse(window.opens_at)) return `opens ${distance(window.opens_at, now)}`;
  if (now < Date.parse(window.cutoff)) return `open, cutoff ${distance(window.cutoff, now)}`;
  return window.waiting ? "closed, results pending" : "closed";
}
