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
  /** Made anew when the theme changes: colours of a canvas do not follow by themselves. */
  options: () => Omit<uPlot.Options, "width" | "height">;
}

export function Chart({ label, data, height = 180, options }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const shown = theme.value;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new uPlot({ padding: [8, 8, 0, 0], ...options(), width: element.clientWidth || 300, height }, data, element);
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
  return <div class="chart" role="img" aria-label={label} ref={box} />;
}

const FONT = "12px system-ui, sans-serif";

/** Axes in the colours of the page. */
export function axes(values: (value: number) => string): uPlot.Axis[] {
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
    },
  ];
}

function shortClock(moment: number): string {
  const whole = clockTime(moment);
  return moment % 60_000 === 0 ? whole.replace(/(\d\d[:.]\d\d)[:.]\d\d/, "$1") : whole;
}

/** Bars that touch each other but for a hair. */
export const bars = uPlot.paths.bars!({ size: [0.86, 40], radius: 0.08 });

/** Series on top of each other: sums for the drawing, the largest first. */
export function stacked(times: number[], layers: number[][]): Columns {
  const sums: number[][] = [];
  for (const layer of layers) {
    const below = sums[0];
    sums.unshift(layer.map((value, place) => value + (below?.[place] ?? 0)));
  }
  return [times, ...sums];
}
