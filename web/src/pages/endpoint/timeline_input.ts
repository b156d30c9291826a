/** Moving, zooming and selecting on the timeline with mouse, touch and keys. */

import { useEffect, useRef } from "preact/hooks";
import { dots, latestRange, moveRange, zoomRange, type TimeRange } from "./scales";
import type { Timeline } from "./types";

export interface TimelineInput {
  timeline: Timeline;
  range: TimeRange;
  onRange: (range: TimeRange) => void;
  selected: string | undefined;
  onSelect: (run: string) => void;
}

/** Handlers for mouse, touch and keys. */
export function usePointerAndKeys(box: { current: HTMLElement | null }, props: TimelineInput, plot: { left: number; width: number }): Record<string, unknown> {
  const current = useRef(props);
  current.current = props;
  const pointers = useRef(new Map<number, { x: number; y: number; start: number }>());
  const dragged = useRef(false);
  const at = (clientX: number, range: TimeRange): number => {
    const left = (box.current?.getBoundingClientRect().left ?? 0) + plot.left;
    return range.from + ((clientX - left) / plot.width) * (range.to - range.from);
  };
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    // Preact's wheel listeners are passive; this one has to prevent scrolling.
    function onWheel(event: WheelEvent): void {
      const { range, onRange } = current.current;
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      if (!event.ctrlKey && !event.metaKey && !sideways) return;
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) onRange(zoomRange(range, Math.exp(event.deltaY / 300), at(event.clientX, range)));
      else onRange(moveRange(range, ((event.deltaX || event.deltaY) / plot.width) * (range.to - range.from)));
    }
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [plot.width]);

  function onPointerDown(event: PointerEvent): void {
    if (event.button !== 0) return;
    pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY, start: event.clientX });
    dragged.current = false;
  }
  function onPointerMove(event: PointerEvent): void {
    const pointer = pointers.current.get(event.pointerId);
    if (!pointer) return;
    const { range, onRange } = current.current;
    const length = range.to - range.from;
    if (Math.abs(event.clientX - pointer.start) > 4 && !dragged.current) {
      dragged.current = true;
      box.current?.setPointerCapture(event.pointerId);
    }
    const other = [...pointers.current].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const before = Math.max(20, Math.abs(pointer.x - other.x));
      const after = Math.max(20, Math.abs(event.clientX - other.x));
      onRange(zoomRange(range, before / after, at((event.clientX + other.x) / 2, range)));
    } else if (dragged.current) onRange(moveRange(range, ((pointer.x - event.clientX) / plot.width) * length));
    pointer.x = event.clientX;
  }
  function onPointerUp(event: PointerEvent): void {
    const pointer = pointers.current.delete(event.pointerId);
    if (!pointer || dragged.current || event.type !== "pointerup") return;
    const near = nearest(box.current, event.clientX, event.clientY);
    if (near) current.current.onSelect(near);
  }
  function onKeyDown(event: KeyboardEvent): void {
    const { range, onRange } = current.current;
    const length = range.to - range.from;
    const acts: Record<string, () => void> = {
      ArrowLeft: () => (event.shiftKey ? selectNeighbour(current.current, -1) : onRange(moveRange(range, -length / 8))),
      ArrowRight: () => (event.shiftKey ? selectNeighbour(current.current, 1) : onRange(moveRange(range, length / 8))),
      "+": () => onRange(zoomRange(range, 1 / 1.5)),
      "-": () => onRange(zoomRange(range, 1.5)),
      Home: () => onRange(latestRange(length)),
    };
    const act = acts[event.key === "=" ? "+" : event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }
  return { onPointerDown, onPointerMove, onPointerUp, onPointerCancel: onPointerUp, onKeyDown };
}

const CLICK_DISTANCE = 14;

/** The run under the pointer or close to it. */
function nearest(box: HTMLElement | null, clientX: number, clientY: number): string | undefined {
  let best: { id: string; distance: number } | undefined;
  for (const element of box?.querySelectorAll<SVGElement>("[data-run]") ?? []) {
    const place = element.getBoundingClientRect();
    const distance = Math.hypot(place.left + place.width / 2 - clientX, place.top + place.height / 2 - clientY);
    if (distance < CLICK_DISTANCE && (!best || distance < best.distance)) best = { id: element.dataset["run"]!, distance };
  }
  return best?.id;
}

function selectNeighbour(props: TimelineInput, step: 1 | -1): void {
  const all = dots(props.timeline.runs);
  const here = all.findIndex((dot) => dot.run.id === props.selected);
  const next = here < 0 ? all.at(-1) : all[here + step];
  if (!next) return;
  props.onSelect(next.run.id);
  const { from, to } = props.range;
  if (next.at < from || next.at > to) props.onRange(moveRange(props.range, next.at - (from + to) / 2));
}
