/** Runs over the cadence as a step line, with hints, pauses and the guard; zoomed and moved by hand. */

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { serverNow, tick } from "../../lib/clock";
import { clockTime, counted, fullTime, shortSpan, span } from "../../lib/format";
import { sourceKind } from "../../ui/parts";
import { dots, marks, moved, thinned, ticks, zoomed, type Dot, type Sight } from "./scales";
import type { Endpoint, Foreseen, Spell, Timeline } from "./types";

const LANE = 22;
const LANES = ["interval", "one-shot", "pause"] as const;
const LANE_NAMES = { interval: "Hints", "one-shot": "One-shots", pause: "Pauses" };
const LEFT = 62;
const RIGHT = 12;
const PLOT = 190;
const AXIS = 26;
const TOP = LANE * LANES.length + 10;
const HEIGHT = TOP + PLOT + AXIS;

interface Props {
  endpoint: Endpoint;
  timeline: Timeline;
  foreseen: Foreseen[];
  /** What would be, while steering is thought about. */
  wished: Foreseen[] | undefined;
  sight: Sight;
  onSight: (sight: Sight) => void;
  selected: string | undefined;
  onSelect: (run: string) => void;
}

export function TimelineChart(props: Props): JSX.Element {
  const { endpoint, timeline, sight } = props;
  void tick.value;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const inner = Math.max(width - LEFT - RIGHT, 50);
  const x = (at: number): number => LEFT + ((at - sight.from) / (sight.to - sight.from)) * inner;
  const all = useMemo(() => dots(timeline.runs), [timeline]);
  const shown = thinned(all, sight, Math.floor(inner / 5));
  const [least, most] = bounds(endpoint, shown, [...props.foreseen, ...(props.wished ?? [])]);
  const y = (gap: number): number => {
    const share = (Math.log(gap) - Math.log(least)) / (Math.log(most) - Math.log(least));
    return TOP + PLOT - 8 - share * (PLOT - 16);
  };
  const hands = useHands(box, props, inner);
  const now = serverNow();
  return (
    <div
      class="timeline"
      ref={box}
      role="group"
      aria-label={said(all, timeline, sight)}
      aria-describedby="timeline-keys"
      tabIndex={0}
      data-from={new Date(sight.from).toISOString()}
      data-to={new Date(sight.to).toISOString()}
      {...hands}
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
        <Grid x={x} y={y} sight={sight} least={least} most={most} inner={inner} />
        {LANES.map((lane, place) => (
          <text key={lane} class="lane-name" x={0} y={place * LANE + 15}>
            {LANE_NAMES[lane]}
          </text>
        ))}
        <g clip-path="url(#timeline-plot)">
          <GuardBands endpoint={endpoint} y={y} least={least} most={most} inner={inner} />
          {timeline.spells.map((spell, place) => (
            <SpellBar key={place} spell={spell} x={x} sight={sight} />
          ))}
          <path class="cadence" d={steps(shown, x, y)} />
          <line class="now" x1={x(now)} x2={x(now)} y1={0} y2={TOP + PLOT} />
          <Ahead runs={props.foreseen} last={all.at(-1)?.at ?? null} x={x} y={y} class="ahead" />
          {props.wished && <Ahead runs={props.wished} last={all.at(-1)?.at ?? null} x={x} y={y} class="ahead wished" />}
          {shown.map((dot) => (
            <RunDot key={dot.run.id} dot={dot} x={x} y={y} otherwise={endpoint.baseline.interval_ms ?? most} selected={dot.run.id === props.selected} />
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
    const watch = new ResizeObserver(() => element.clientWidth && setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return width;
}

/** From the shortest to the longest interval that is to be seen, with some air. */
function bounds(endpoint: Endpoint, shown: Dot[], ahead: Foreseen[]): [number, number] {
  const gaps = shown.flatMap((dot) => (dot.gap ? [dot.gap] : []));
  const soon = ahead.slice(1).map((one, place) => Date.parse(one.at) - Date.parse(ahead[place]!.at));
  const marked = [endpoint.guard.min_interval_ms, endpoint.guard.max_interval_ms, endpoint.baseline.interval_ms];
  const every = [...gaps, ...soon.filter((gap) => gap > 0), ...marked.filter((one): one is number => !!one)];
  if (every.length === 0) return [10_000, 600_000];
  return [Math.max(Math.min(...every) / 1.5, 50), Math.max(...every) * 1.5];
}

function said(all: Dot[], timeline: Timeline, sight: Sight): string {
  const inside = all.filter((dot) => dot.at >= sight.from && dot.at <= sight.to);
  const bad = inside.filter((dot) => dot.run.status !== "success" && dot.run.status !== null).length;
  const hints = timeline.spells.filter((one) => Date.parse(one.end) > sight.from && Date.parse(one.begin) < sight.to).length;
  return `Timeline, ${clockTime(sight.from)} to ${clockTime(sight.to)}: ${counted(inside.length, "run")}, ${bad} not successful, ${counted(hints, "hint or pause", "hints and pauses")}`;
}

type Scale = (value: number) => number;

function Grid(props: { x: Scale; y: Scale; sight: Sight; least: number; most: number; inner: number }): JSX.Element {
  const { x, y, sight, inner } = props;
  const days = sight.to - sight.from > 2 * 86_400_000;
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
      {ticks(sight, Math.max(2, Math.floor(inner / 90))).map((at) => (
        <text key={at} x={x(at)} y={TOP + PLOT + 18} text-anchor="middle">
          {days ? new Date(at).toLocaleDateString(undefined, { day: "numeric", month: "short" }) : clockTime(at).slice(0, sight.to - sight.from < 600_000 ? 8 : 5)}
        </text>
      ))}
    </g>
  );
}

/** What the guard does not allow is shaded; the baseline is a dotted line. */
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

export function spellWords(spell: Spell): string {
  const what =
    spell.kind === "interval" ? `every ${span(spell.interval_ms ?? 0)}` : spell.kind === "pause" ? "paused" : `once at ${clockTime(spell.at ?? spell.begin)}`;
  return spell.reason ? `${what}: ${spell.reason}` : what;
}

function SpellBar({ spell, x, sight }: { spell: Spell; x: Scale; sight: Sight }): JSX.Element | null {
  const begin = Math.max(Date.parse(spell.begin), sight.from);
  const end = Math.min(Date.parse(spell.end), sight.to);
  if (end < begin) return null;
  const top = LANES.indexOf(spell.kind) * LANE + 2;
  const size = Math.max(x(end) - x(begin), 3);
  const words = spellWords(spell);
  const fits = Math.floor((size - 12) / 6.5);
  return (
    <g class={`spell ${spell.kind}`}>
      <rect x={x(begin)} y={top} width={size} height={LANE - 5} rx={4} />
      {spell.kind === "pause" && <rect class="paused" x={x(begin)} y={TOP} width={size} height={PLOT} />}
      {spell.kind === "one-shot" && spell.at && <path class="moment" d={diamond(x(Date.parse(spell.at)), top + 8.5)} />}
      {fits > 3 && (
        <text x={x(begin) + 6} y={top + 13}>
          {words.length > fits ? `${words.slice(0, fits - 1)}…` : words}
        </text>
      )}
      <title>{`${words} (${spell.origin}), ${fullTime(spell.begin)} to ${fullTime(spell.end)}`}</title>
    </g>
  );
}

function diamond(x: number, y: number): string {
  return `M${x} ${y - 5}l5 5-5 5-5-5z`;
}

/** A line that stays at an interval until the next run shows another. */
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

function RunDot({ dot, x, y, otherwise, selected }: { dot: Dot; x: Scale; y: Scale; otherwise: number; selected: boolean }): JSX.Element {
  const status = dot.run.status ?? "running";
  const place = { cx: x(dot.at), cy: y(dot.gap || otherwise) };
  return (
    <g class={`run ring-${status}`} data-run={dot.run.id}>
      {selected && <circle class="chosen" {...place} r={10} />}
      <circle class={`dot ${sourceKind(dot.run.source)}`} {...place} r={dot.count > 1 ? 4.5 : 4} />
      <title>{`${status}, ${dot.run.source}, ${fullTime(dot.at)}${dot.count > 1 ? `, and ${dot.count - 1} more` : ""}`}</title>
    </g>
  );
}

function Ahead(props: { runs: Foreseen[]; last: number | null; x: Scale; y: Scale; class: string }): JSX.Element {
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

/** Mouse, touch and keys. */
function useHands(box: { current: HTMLElement | null }, props: Props, inner: number): Record<string, unknown> {
  const newest = useRef(props);
  newest.current = props;
  const fingers = useRef(new Map<number, { x: number; y: number; start: number }>());
  const dragged = useRef(false);
  const at = (clientX: number, sight: Sight): number => {
    const left = (box.current?.getBoundingClientRect().left ?? 0) + LEFT;
    return sight.from + ((clientX - left) / inner) * (sight.to - sight.from);
  };
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    // Preact listens passively to wheels; this one must be able to keep the page where it is.
    function turn(event: WheelEvent): void {
      const { sight, onSight } = newest.current;
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      if (!event.ctrlKey && !event.metaKey && !sideways) return;
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) onSight(zoomed(sight, Math.exp(event.deltaY / 300), at(event.clientX, sight)));
      else onSight(moved(sight, ((event.deltaX || event.deltaY) / inner) * (sight.to - sight.from)));
    }
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, [inner]);

  function onPointerDown(event: PointerEvent): void {
    if (event.button !== 0) return;
    fingers.current.set(event.pointerId, { x: event.clientX, y: event.clientY, start: event.clientX });
    dragged.current = false;
  }
  function onPointerMove(event: PointerEvent): void {
    const held = fingers.current.get(event.pointerId);
    if (!held) return;
    const { sight, onSight } = newest.current;
    const length = sight.to - sight.from;
    if (Math.abs(event.clientX - held.start) > 4 && !dragged.current) {
      dragged.current = true;
      box.current?.setPointerCapture(event.pointerId);
    }
    const other = [...fingers.current].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const before = Math.max(20, Math.abs(held.x - other.x));
      const after = Math.max(20, Math.abs(event.clientX - other.x));
      onSight(zoomed(sight, before / after, at((event.clientX + other.x) / 2, sight)));
    } else if (dragged.current) onSight(moved(sight, ((held.x - event.clientX) / inner) * length));
    held.x = event.clientX;
  }
  function onPointerUp(event: PointerEvent): void {
    const held = fingers.current.delete(event.pointerId);
    if (!held || dragged.current || event.type !== "pointerup") return;
    const near = nearest(box.current, event.clientX, event.clientY);
    if (near) newest.current.onSelect(near);
  }
  function onKeyDown(event: KeyboardEvent): void {
    const { sight, onSight } = newest.current;
    const length = sight.to - sight.from;
    const acts: Record<string, () => void> = {
      ArrowLeft: () => (event.shiftKey ? beside(newest.current, -1) : onSight(moved(sight, -length / 8))),
      ArrowRight: () => (event.shiftKey ? beside(newest.current, 1) : onSight(moved(sight, length / 8))),
      "+": () => onSight(zoomed(sight, 1 / 1.5)),
      "-": () => onSight(zoomed(sight, 1.5)),
      Home: () => onSight(latest(length)),
    };
    const act = acts[event.key === "=" ? "+" : event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }
  return { onPointerDown, onPointerMove, onPointerUp, onPointerCancel: onPointerUp, onKeyDown };
}

/** The newest part of this length, with a little of what is ahead. */
export function latest(length: number): Sight {
  const now = serverNow();
  return { from: now - length * 0.85, to: now + length * 0.15 };
}

const REACH = 14;

/** The run under the pointer or close to it. */
function nearest(box: HTMLElement | null, clientX: number, clientY: number): string | undefined {
  let best: { id: string; away: number } | undefined;
  for (const element of box?.querySelectorAll<SVGElement>("[data-run]") ?? []) {
    const place = element.getBoundingClientRect();
    const away = Math.hypot(place.left + place.width / 2 - clientX, place.top + place.height / 2 - clientY);
    if (away < REACH && (!best || away < best.away)) best = { id: element.dataset["run"]!, away };
  }
  return best?.id;
}

function beside(props: Props, step: 1 | -1): void {
  const all = dots(props.timeline.runs);
  const here = all.findIndex((dot) => dot.run.id === props.selected);
  const next = here < 0 ? all.at(-1) : all[here + step];
  if (!next) return;
  props.onSelect(next.run.id);
  const { from, to } = props.sight;
  if (next.at < from || next.at > to) props.onSight(moved(props.sight, next.at - (from + to) / 2));
}
