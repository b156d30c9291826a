/** uPlot as a component: follows its box, the theme and its data. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clockTime } from "../lib/format";
import { color, theme } from "../lib/theme";

export type Columns = uPlot.AlignedData;

interface Props {
  /** What it shows, in words, for those who do not see it. */
  label: string;
  data: Columns;
  height?: number;
  /** What is at one of the points, for who points at it. */
  told: (place: number) => string;
  /** Made anew when the theme changes: colours of a canvas do not follow by themselves. */
  options: () => Omit<uPlot.Options, "width" | "height">;
}

export function Chart({ label, data, height = 180, told, options }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const pointed = useRef<HTMLOutputElement>(null);
  const newest = useRef(told);
  newest.current = told;
  const shown = theme.value;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const tell = (chart: uPlot): void => {
      const place = chart.cursor.idx;
      if (pointed.current) pointed.current.textContent = place === null || place === undefined ? "" : newest.current(place);
    };
    const size = { width: element.clientWidth || 300, height };
    const made = new uPlot({ ...COMMON, hooks: { setCursor: [tell] }, ...options(), ...size }, data, element);
    plot.current = made;
    const watch = new ResizeObserver(() => {
      if (element.clientWidth) made.setSize({ width: element.clientWidth, height });
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [shown, height, data.length]);
  useEffect(() => plot.current?.setData(data), [data]);
  return (
    <div class="chart">
      <div role="img" aria-label={label} ref={box} />
      <output class="quiet number" aria-hidden="true" ref={pointed} />
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

/** For what is counted: there is no half of it. */
export const WHOLE: Partial<uPlot.Axis> = { incrs: [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7].flatMap((one) => [one, one * 2, one * 5]) };

/** From nothing to a little above the most there is, and never a flat line at the top. */
export function fromZero(_: uPlot, __: number, most: number): [number, number] {
  return [0, Math.max(most || 0, 1) * 1.08];
}

/** Half a bar more on both sides, so that the first and the last are whole; each stands in the middle of its time. */
export function wholeBars(plot: uPlot, least: number, most: number): [number, number] {
  const [first, second] = plot.data[0];
  const half = first !== undefined && second !== undefined ? (second - first) / 2 : 0;
  return [least - half, most + half];
}

/** A series of bars in a colour of the page. */
export function filled(name: string): uPlot.Series {
  return { fill: color(name), stroke: color(name), width: 0, paths: bars, points: { show: false } };
}

/** Bars that touch each other but for a hair. */
const bars = uPlot.paths.bars!({ size: [0.86, 40], radius: 0.08 });

/** Series on top of each other: sums for the drawing, the largest first. */
export function stacked(times: number[], layers: number[][]): Columns {
  const sums: number[][] = [];
  for (const layer of layers) {
    const below = sums[0];
    sums.unshift(layer.map((value, place) => value + (below?.[place] ?? 0)));
  }
  return [times, ...sums];
}
