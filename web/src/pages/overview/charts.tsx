/** The charts of the overview. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import { clockTime, compact, counted, shortSpan, span } from "../../lib/format";
import { color } from "../../lib/theme";
import { Chart, axes, barSeries, rangeFromZero, stacked, rangeOfWholeBars, WHOLE_NUMBERS, type Columns } from "../../ui/chart";
import type { Beat, Forecast, Pulse } from "./types";

export const STATUSES = ["success", "failure", "timeout", "abandoned", "skipped", "cancelled"];
const A_MINUTE = 60_000;

export function RunsChart({ pulse }: { pulse: Pulse }): JSX.Element {
  const data = useMemo(() => {
    const times = pulse.beats.map((beat) => (Date.parse(beat.at) + pulse.span_ms / 2) / 1_000);
    const each = A_MINUTE / pulse.span_ms;
    return stacked(times, STATUSES.map((status) => pulse.beats.map((beat) => (beat.statuses[status] ?? 0) * each)));
  }, [pulse]);
  return (
    <Chart
      label={`Runs per minute by status: ${counted(pulse.runs, "run")} in all`}
      data={data}
      describe={(index) => beatWords(pulse.beats[index])}
      options={() => ({
        scales: { x: { range: rangeOfWholeBars }, y: { range: rangeFromZero } },
        axes: axes(compact, WHOLE_NUMBERS),
        series: [{}, ...STATUSES.toReversed().map((status) => barSeries(`--${status}`))],
      })}
    />
  );
}

export function ForecastChart({ forecast }: { forecast: Forecast }): JSX.Element {
  const data = useMemo<Columns>(() => {
    const begin = Date.parse(forecast.begin) / 1_000;
    return [forecast.due.map((_, index) => begin + ((index + 0.5) * forecast.span_ms) / 1_000), forecast.due];
  }, [forecast]);
  const all = forecast.due.reduce((sum, one) => sum + one, 0);
  return (
    <Chart
      label={`Runs that come due: ${compact(all)} in all`}
      data={data}
      describe={(index) => `${clockTime((data[0][index] ?? 0) * 1_000)}: ${forecast.due[index] ?? 0} due`}
      options={() => ({
        scales: { x: { range: rangeOfWholeBars }, y: { range: rangeFromZero } },
        axes: axes(compact, WHOLE_NUMBERS),
        series: [{}, barSeries("--running")],
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
  const said = pulse.late_p99_ms === null ? "nothing ran" : `p99 delay ${span(pulse.late_p99_ms)}`;
  return (
    <Chart
      label={`Lateness: ${said}`}
      data={data}
      describe={(index) => lateWords(pulse.beats[index])}
      options={() => ({
        scales: { y: { range: rangeFromZero } },
        axes: axes(shortSpan),
        series: [{}, line("--timeout"), line("--source-baseline")],
      })}
    />
  );
}

function beatWords(beat: Beat | undefined): string {
  if (!beat) return "";
  const counts = STATUSES.filter((status) => beat.statuses[status]).map((status) => `${beat.statuses[status] ?? 0} ${status}`);
  return `${clockTime(beat.at)}: ${counts.join(", ") || "no run ended"}`;
}

function lateWords(beat: Beat | undefined): string {
  if (!beat || beat.late_p50_ms === null || beat.late_p99_ms === null) return "";
  return `${clockTime(beat.at)}: p50 delay ${span(beat.late_p50_ms)}, p99 delay ${span(beat.late_p99_ms)}`;
}

function line(name: string): uPlot.Series {
  return { stroke: color(name), width: 2, spanGaps: true, points: { show: false } };
}
