/** uPlot as a component: follows its box, the theme and its data. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clockTime } from "../lib/format";
import { color, theme } from "../lib/theme";

export type Columns = uPlot.AlignedData;

interface Props {
  /** A description for screen readers. */
  label: string;
  data: Columns;
  height?: number;
  /** The text for the point under the cursor. */
  describe: (index: number) => string;
  /** Called again when the theme changes: a canvas does not follow CSS colours. */
  options: () => Omit<uPlot.Options, "width" | "height">;
}

export function Chart({ label, data, height = 180, describe, options }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const output = useRef<HTMLOutputElement>(null);
  const currentDescribe = useRef(describe);
  currentDescribe.current = describe;
  const currentTheme = theme.value;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const showDescription = (plotted: uPlot): void => {
      const index = plotted.cursor.idx;
      if (output.current) output.current.textContent = index === null || index === undefined ? "" : currentDescribe.current(index);
    };
    const size = { width: element.clientWidth || 300, height };
    const chart = new uPlot({ ...COMMON, hooks: { setCursor: [showDescription] }, ...options(), ...size }, data, element);
    plot.current = chart;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth) chart.setSize({ width: element.clientWidth, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
      plot.current = undefined;
    };
  }, [currentTheme, height, data.length]);
  useEffect(() => plot.current?.setData(data), [data]);
  return (
    <div class="chart">
      <div role="img" aria-label={label} ref={box} />
      <output class="quiet number" aria-hidden="true" ref={output} />
    </div>
  );
}

const COMMON: Partial<uPlot.Options> = {
  padding: [8, 20, 0, 0],
  legend: { show: false },
  cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
};
const FONT = "12px system-ui, sans-serif";

/** Axes in the colours of the page. */
export function axes(values: (value: number) => string, marks: Partial<uPlot.Axis> = {}): uPlot.Axis[] {
  const common: uPlot.Axis = {
    stroke: color("--muted"),
    font: FONT,
    ticks: { show: false },
  };
  return [
    { ...common, size: 30, grid: { show: false }, values: (_, splits) => splits.map((one) => shortClock(one * 1_000)) },
    {
      ...common,
      size: 52,
      grid: { stroke: color("--line"), width: 1 },
      values: (_, splits) => splits.map(values),
      ...marks,
    },
  ];
}

function shortClock(moment: number): string {
  const whole = clockTime(moment);
  return moment % 60_000 === 0 ? whole.replace(/(\d\d[:.]\d\d)[:.]\d\d/, "$1") : whole;
}

/** Axis marks for counts: whole numbers only. */
export const WHOLE_NUMBERS: Partial<uPlot.Axis> = { incrs: [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7].flatMap((one) => [one, one * 2, one * 5]) };

/** From zero to a little above the largest value. */
export function rangeFromZero(_: uPlot, __: number, most: number): [number, number] {
  return [0, Math.max(most || 0, 1) * 1.08];
}

/** Half a bar more on both sides, so that the first and the last bar are whole. */
export function rangeOfWholeBars(plot: uPlot, least: number, most: number): [number, number] {
  const [first, second] = plot.data[0];
  const half = first !== undefined && second !== undefined ? (second - first) / 2 : 0;
  return [least - half, most + half];
}

/** A series of bars in a colour of the page. */
export function barSeries(name: string): uPlot.Series {
  return { fill: color(name), stroke: color(name), width: 0, paths: bars, points: { show: false } };
}

/** Bars with a narrow gap between them. */
const bars = uPlot.paths.bars!({ size: [0.86, 40], radius: 0.08 });

/** Stacked series as uPlot draws them: running sums, the largest first. */
export function stacked(times: number[], layers: number[][]): Columns {
  const sums: number[][] = [];
  for (const layer of layers) {
    const below = sums[0];
    sums.unshift(layer.map((value, index) => value + (below?.[index] ?? 0)));
  }
  return [times, ...sums];
}
