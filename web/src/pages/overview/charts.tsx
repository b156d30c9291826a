/** The charts of the overview. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import { compact, shortSpan, span } from "../../lib/format";
import { color } from "../../lib/theme";
import { Chart, axes, bars, stacked, type Columns } from "../../ui/chart";
import type { Forecast, Pulse } from "./types";

export const STATUSES = ["success", "failure", "timeout", "abandoned", "skipped", "cancelled"];
const A_MINUTE = 60_000;
const NO_CURSOR: uPlot.Cursor = { show: false };

/** From nothing to a little above the most there is, and never a flat line at the top. */
function fromZero(_: uPlot, __: number, most: number): [number, number] {
  return [0, Math.max(most || 0, 1) * 1.08];
}

export function RunsChart({ pulse }: { pulse: Pulse }): JSX.Element {
  const data = useMemo(() => {
    const times = pulse.beats.map((beat) => Date.parse(beat.at) / 1_000);
    const each = A_MINUTE / pulse.span_ms;
    return stacked(times, STATUSES.map((status) => pulse.beats.map((beat) => (beat.statuses[status] ?? 0) * each)));
  }, [pulse]);
  return (
    <Chart
      label={`Runs per minute by status: ${compact(pulse.runs)} runs in all`}
      data={data}
      options={() => ({
        legend: { show: false },
        cursor: NO_CURSOR,
        scales: { y: { range: fromZero } },
        axes: axes(compact),
        series: [{}, ...STATUSES.toReversed().map((status) => filled(`--${status}`))],
      })}
    />
  );
}

export function ForecastChart({ forecast }: { forecast: Forecast }): JSX.Element {
  const data = useMemo<Columns>(() => {
    const begin = Date.parse(forecast.begin) / 1_000;
    return [forecast.due.map((_, place) => begin + (place * forecast.span_ms) / 1_000), forecast.due];
  }, [forecast]);
  const all = forecast.due.reduce((sum, one) => sum + one, 0);
  return (
    <Chart
      label={`Runs that come due: ${compact(all)} in all`}
      data={data}
      options={() => ({
        legend: { show: false },
        cursor: NO_CURSOR,
        scales: { y: { range: fromZero } },
        axes: axes(compact),
        series: [{}, filled("--running")],
      })}
    />
  );
}

export function LatenessChart({ pulse }: { pulse: Pulse }): JSX.Element {
  const data = useMemo<Columns>(
    () => [
      pulse.beats.map((beat) => Date.parse(beat.at) / 1_000),
      pulse.beats.map((beat) => beat.late_p99_ms),
      pulse.beats.map((beat) => beat.late_p50_ms),
    ],
    [pulse],
  );
  const said = pulse.late_p99_ms === null ? "nothing ran" : `99 of 100 began within ${span(pulse.late_p99_ms)}`;
  return (
    <Chart
      label={`Lateness: ${said}`}
      data={data}
      options={() => ({
        legend: { show: false },
        cursor: NO_CURSOR,
        scales: { y: { range: fromZero } },
        axes: axes(shortSpan),
        series: [{}, line("--timeout"), line("--source-baseline")],
      })}
    />
  );
}

function filled(name: string): uPlot.Series {
  return { fill: color(name), stroke: color(name), width: 0, paths: bars, points: { show: false } };
}

function line(name: string): uPlot.Series {
  return { stroke: color(name), width: 2, spanGaps: true, points: { show: false } };
}
