/** The cadence as a step line with its runs, hints, pauses and guard; it can be zoomed and moved. */

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { serverNow, tick } from "../../lib/clock";
import { clockTime, counted, fullTime, isOpenEnded, shortSpan } from "../../lib/format";
import { describePeriod } from "../../run/explain";
import { sourceKind } from "../../ui/parts";
import { dots, marks, thinOut, ticks, type Dot, type TimeRange } from "./scales";
import { usePointerAndKeys, type TimelineInput } from "./timeline_input";
import type { Endpoint, PlannedRun, HintPeriod, Timeline } from "./types";

const ROW_HEIGHT = 22;
const ROWS = ["interval", "one-shot", "pause"] as const;
const ROW_LABELS = { interval: "Hints", "one-shot": "One-shots", pause: "Pauses" };
const LEFT = 62;
const RIGHT = 12;
const PLOT = 190;
const AXIS = 26;
const TOP = ROW_HEIGHT * ROWS.length + 10;
const HEIGHT = TOP + PLOT + AXIS;

interface Props extends TimelineInput {
  endpoint: Endpoint;
  planned: PlannedRun[];
  /** The runs that a previewed change would lead to. */
  previewed: PlannedRun[] | undefined;
}

export function TimelineChart(props: Props): JSX.Element {
  const { endpoint, timeline, range } = props;
  void tick.value;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const inner = Math.max(width - LEFT - RIGHT, 50);
  const x = (at: number): number => LEFT + ((at - range.from) / (range.to - range.from)) * inner;
  const all = useMemo(() => dots(timeline.runs), [timeline]);
  const shown = thinOut(all, range, Math.floor(inner / 5));
  const [least, most] = bounds(endpoint, shown, [...props.planned, ...(props.previewed ?? [])]);
  const y = (gap: number): number => {
    const share = (Math.log(gap) - Math.log(least)) / (Math.log(most) - Math.log(least));
    return TOP + PLOT - 8 - share * (PLOT - 16);
  };
  const handlers = usePointerAndKeys(box, props, { left: LEFT, width: inner });
  const now = serverNow();
  return (
    <div
      class="timeline"
      ref={box}
      role="group"
      aria-label={describeTimeline(all, timeline, range)}
      aria-describedby="timeline-keys"
      tabIndex={0}
      data-from={new Date(range.from).toISOString()}
      data-to={new Date(range.to).toISOString()}
      {...handlers}
    >
      <svg width={width} height={HEIGHT} aria-hidden="true">
        <defs>
          <clipPath id="timeline-plot">
            <rect x={LEFT} y={0} width={inner} height={TOP + PLOT} />
          </clipPath>
          <pattern id="timeline-pause" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect class="hatch" width="2.5" height="6" />
          </pattern>
        </defs>
        <Grid x={x} y={y} range={range} least={least} most={most} inner={inner} />
        {ROWS.map((row, place) => (
          <text key={row} class="row-label" x={0} y={place * ROW_HEIGHT + 15}>
            {ROW_LABELS[row]}
          </text>
        ))}
        <g clip-path="url(#timeline-plot)">
          <GuardBands endpoint={endpoint} y={y} least={least} most={most} inner={inner} />
          {timeline.spells.map((period, place) => (
            <PeriodBar key={place} period={period} x={x} range={range} />
          ))}
          <path class="cadence" d={steps(shown, x, y)} />
          <line class="now" x1={x(now)} x2={x(now)} y1={0} y2={TOP + PLOT} />
          <PlannedDots runs={props.planned} last={all.at(-1)?.at ?? null} x={x} y={y} class="ahead" />
          {props.previewed && <PlannedDots runs={props.previewed} last={all.at(-1)?.at ?? null} x={x} y={y} class="ahead previewed" />}
          {shown.map((dot) => (
            <RunDot key={dot.run.id} dot={dot} x={x} y={y} fallback={endpoint.baseline.interval_ms ?? most} selected={dot.run.id === props.selected} />
          ))}
        </g>
      </svg>
    </div>
  );
}

function useWidth(box: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => element.clientWidth && setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return width;
}

/** From the shortest to the longest interval shown, with a margin. */
function bounds(endpoint: Endpoint, shown: Dot[], ahead: PlannedRun[]): [number, number] {
  const gaps = shown.flatMap((dot) => (dot.gap ? [dot.gap] : []));
  const plannedGaps = ahead.slice(1).map((one, place) => Date.parse(one.at) - Date.parse(ahead[place]!.at));
  const marked = [endpoint.guard.min_interval_ms, endpoint.guard.max_interval_ms, endpoint.baseline.interval_ms];
  const every = [...gaps, ...plannedGaps.filter((gap) => gap > 0), ...marked.filter((one): one is number => !!one)];
  if (every.length === 0) return [10_000, 600_000];
  return [Math.max(Math.min(...every) / 1.5, 50), Math.max(...every) * 1.5];
}

function describeTimeline(all: Dot[], timeline: Timeline, range: TimeRange): string {
  const inside = all.filter((dot) => dot.at >= range.from && dot.at <= range.to);
  const bad = inside.filter((dot) => dot.run.status !== "success" && dot.run.status !== null).length;
  const hints = timeline.spells.filter((one) => Date.parse(one.end) > range.from && Date.parse(one.begin) < range.to).length;
  return `Timeline, ${clockTime(range.from)} to ${clockTime(range.to)}: ${counted(inside.length, "run")}, ${bad} did not succeed, ${counted(hints, "hint or pause", "hints and pauses")}`;
}

type Scale = (value: number) => number;

function Grid(props: { x: Scale; y: Scale; range: TimeRange; least: number; most: number; inner: number }): JSX.Element {
  const { x, y, range, inner } = props;
  const days = range.to - range.from > 2 * 86_400_000;
  return (
    <g class="grid">
      {marks(props.least, props.most, 6).map((gap) => (
        <g key={gap}>
          <line x1={LEFT} x2={LEFT + inner} y1={y(gap)} y2={y(gap)} />
          <text x={LEFT - 8} y={y(gap) + 4} text-anchor="end">
            {shortSpan(gap)}
          </text>
        </g>
      ))}
      {ticks(range, Math.max(2, Math.floor(inner / 90))).map((at) => (
        <text key={at} x={x(at)} y={TOP + PLOT + 18} text-anchor="middle">
          {days ? new Date(at).toLocaleDateString(undefined, { day: "numeric", month: "short" }) : clockTime(at).slice(0, range.to - range.from < 600_000 ? 8 : 5)}
        </text>
      ))}
    </g>
  );
}

/** Intervals outside the guard are shaded; the baseline is a dotted line. */
function GuardBands(props: { endpoint: Endpoint; y: Scale; least: number; most: number; inner: number }): JSX.Element {
  const { endpoint, y, inner } = props;
  const { min_interval_ms: min, max_interval_ms: max } = endpoint.guard;
  const floor = TOP + PLOT;
  return (
    <g>
      {min && <rect class="forbidden" x={LEFT} y={y(min)} width={inner} height={Math.max(0, floor - y(min))} />}
      {max && <rect class="forbidden" x={LEFT} y={TOP} width={inner} height={Math.max(0, y(max) - TOP)} />}
      {endpoint.baseline.interval_ms && (
        <line class="baseline" x1={LEFT} x2={LEFT + inner} y1={y(endpoint.baseline.interval_ms)} y2={y(endpoint.baseline.interval_ms)} />
      )}
    </g>
  );
}

function PeriodBar({ period, x, range }: { period: HintPeriod; x: Scale; range: TimeRange }): JSX.Element | null {
  const begin = Math.max(Date.parse(period.begin), range.from);
  const end = Math.min(Date.parse(period.end), range.to);
  if (end < begin) return null;
  const top = ROWS.indexOf(period.kind) * ROW_HEIGHT + 2;
  const size = Math.max(x(end) - x(begin), 3);
  const text = describePeriod(period);
  const fits = Math.floor((size - 12) / 6.5);
  return (
    <g class={`hint-period ${period.kind}`}>
      <rect x={x(begin)} y={top} width={size} height={ROW_HEIGHT - 5} rx={4} />
      {period.kind === "pause" && <rect class="paused" x={x(begin)} y={TOP} width={size} height={PLOT} />}
      {period.kind === "one-shot" && period.at && <path class="moment" d={diamond(x(Date.parse(period.at)), top + 8.5)} />}
      {fits > 3 && (
        <text x={x(begin) + 6} y={top + 13}>
          {text.length > fits ? `${text.slice(0, fits - 1)}…` : text}
        </text>
      )}
      <title>{`${text} (${period.by}), ${fullTime(period.begin)} ${isOpenEnded(period.end) ? "until resumed" : `to ${fullTime(period.end)}`}`}</title>
    </g>
  );
}

function diamond(x: number, y: number): string {
  return `M${x} ${y - 5}l5 5-5 5-5-5z`;
}

/** A step line through the intervals between runs. */
function steps(shown: Dot[], x: Scale, y: Scale): string {
  let path = "";
  let last: number | undefined;
  for (const dot of shown) {
    if (!dot.gap) continue;
    const here = x(dot.at).toFixed(1);
    const level = y(dot.gap).toFixed(1);
    path += last === undefined ? `M${x(dot.at - dot.gap).toFixed(1)} ${level}H${here}` : `V${level}H${here}`;
    last = dot.at;
  }
  return path;
}

function RunDot({ dot, x, y, fallback, selected }: { dot: Dot; x: Scale; y: Scale; fallback: number; selected: boolean }): JSX.Element {
  const status = dot.run.status ?? "running";
  const place = { cx: x(dot.at), cy: y(dot.gap || fallback) };
  return (
    <g class={`run ring-${status}`} data-run={dot.run.id}>
      {selected && <circle class="chosen" {...place} r={10} />}
      <circle class={`dot ${sourceKind(dot.run.source)}`} {...place} r={dot.count > 1 ? 4.5 : 4} />
      <title>{`${status}, ${dot.run.source}, ${fullTime(dot.at)}${dot.count > 1 ? `, and ${dot.count - 1} more` : ""}`}</title>
    </g>
  );
}

function PlannedDots(props: { runs: PlannedRun[]; last: number | null; x: Scale; y: Scale; class: string }): JSX.Element {
  let before = props.last;
  return (
    <g class={props.class}>
      {props.runs.map((run) => {
        const at = Date.parse(run.at);
        const gap = before === null ? null : at - before;
        before = at;
        return <circle key={run.at} class={sourceKind(run.source)} cx={props.x(at)} cy={gap && gap > 0 ? props.y(gap) : TOP + 12} r={4} />;
      })}
    </g>
  );
}
