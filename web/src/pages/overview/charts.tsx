/** The charts of the overview. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import { clockTime, compact, counted, shortSpan, span } from "../../lib/format";
import { color } from "../../lib/theme";
import { Chart, axes, barSeries, rangeFromZero, stacked, rangeOfWholeBars, WHOLE_NUMBERS, type Columns } from "../../ui/chart";
import type { HistogramBin, Forecast, RunHistogram } from "./types";

export const STATUSES = ["success", "failure", "timeout", "abandoned", "skipped", "cancelled"];
const MINUTE_MS = 60_000;

export function RunsChart({ histogram }: { histogram: RunHistogram }): JSX.Element {
  const data = useMemo(() => {
    const times = histogram.beats.map((bin) => (Date.parse(bin.at) + histogram.span_ms / 2) / 1_000);
    const each = MINUTE_MS / histogram.span_ms;
    return stacked(times, STATUSES.map((status) => histogram.beats.map((bin) => (bin.statuses[status] ?? 0) * each)));
  }, [histogram]);
  return (
    <Chart
      label={`Runs per minute by status: ${counted(histogram.runs, "run")} in total`}
      data={data}
      describe={(index) => describeBin(histogram.beats[index])}
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
      label={`Upcoming runs: ${compact(all)} in total`}
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

export function LatenessChart({ histogram }: { histogram: RunHistogram }): JSX.Element {
  const data = useMemo<Columns>(
    () => [
      histogram.beats.map((bin) => Date.parse(bin.at) / 1_000),
      histogram.beats.map((bin) => bin.late_p99_ms),
      histogram.beats.map((bin) => bin.late_p50_ms),
    ],
    [histogram],
  );
  const delay = histogram.late_p99_ms === null ? "no runs" : `p99 ${span(histogram.late_p99_ms)}`;
  return (
    <Chart
      label={`Start delay: ${delay}`}
      data={data}
      describe={(index) => describeDelay(histogram.beats[index])}
      options={() => ({
        scales: { y: { range: rangeFromZero } },
        axes: axes(shortSpan),
        series: [{}, line("--timeout"), line("--source-baseline")],
      })}
    />
  );
}

function describeBin(bin: HistogramBin | undefined): string {
  if (!bin) return "";
  const counts = STATUSES.filter((status) => bin.statuses[status]).map((status) => `${bin.statuses[status] ?? 0} ${status}`);
  return `${clockTime(bin.at)}: ${counts.join(", ") || "no completed runs"}`;
}

function describeDelay(bin: HistogramBin | undefined): string {
  if (!bin || bin.late_p50_ms === null || bin.late_p99_ms === null) return "";
  return `${clockTime(bin.at)}: median start delay ${span(bin.late_p50_ms)}, p99 ${span(bin.late_p99_ms)}`;
}

function line(name: string): uPlot.Series {
  return { stroke: color(name), width: 2, spanGaps: true, points: { show: false } };
}
