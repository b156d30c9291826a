/** Every endpoint of a scenario as a lane: its runs, what steered it, and the phases of the world behind. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { counted, span } from "../../lib/format";
import { sourceKind } from "../../ui/parts";
import type { Course, Simulation, Steering } from "./types";

const LANE = 30;
const HEAD = 20;
const FOOT = 20;

interface Props {
  simulation: Simulation;
  course: Course;
  name: string;
  second: number;
}

export function Lanes({ simulation, course, name, second }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(500);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => element.clientWidth && setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const end = simulation.minutes * 60;
  const x = (at: number): number => 2 + (at / end) * (width - 8);
  const place = new Map(simulation.lanes.map((lane, row) => [lane.name, HEAD + row * LANE]));
  const floor = HEAD + simulation.lanes.length * LANE;
  const past = course.runs.filter((run) => run.second <= second).length;
  return (
    <div ref={box} class="lanes">
      <svg width={width} height={floor + FOOT} role="img" aria-label={`${name}: ${counted(past, "run")} of ${counted(simulation.lanes.length, "endpoint")} by minute ${Math.floor(second / 60)}`}>
        {simulation.phases.map((phase, order) => (
          <g key={phase.name} class={`phase phase-${order % 5}`}>
            <rect x={x(phase.begin_s)} y={0} width={x(phase.end_s) - x(phase.begin_s)} height={floor} />
            {x(phase.end_s) - x(phase.begin_s) > phase.name.length * 6 && (
              <text x={x(phase.begin_s) + 4} y={13}>
                {phase.name}
              </text>
            )}
          </g>
        ))}
        {simulation.lanes.map((lane) => (
          <g key={lane.name}>
            <line class="lane-line" x1={0} x2={width} y1={(place.get(lane.name) ?? 0) + LANE - 0.5} y2={(place.get(lane.name) ?? 0) + LANE - 0.5} />
            <text class="lane-label" x={4} y={(place.get(lane.name) ?? 0) + 11}>
              {lane.name}
            </text>
          </g>
        ))}
        {course.steering.map((one, order) => (
          <Mark key={order} steering={one} x={x(one.second)} y={(place.get(one.lane) ?? 0) + 21} past={one.second <= second} />
        ))}
        {course.runs.map((run, order) => (
          <rect
            key={order}
            class={`tick ${sourceKind(run.cause)} ${run.second <= second ? "" : "future"}`}
            x={x(run.second) - 1}
            y={(place.get(run.lane) ?? 0) + 15}
            width={2}
            height={12}
          />
        ))}
        <line class="playhead" x1={x(second)} x2={x(second)} y1={0} y2={floor} />
        {[0, 10, 20, 30, 40].filter((minute) => minute <= simulation.minutes).map((minute) => (
          <text key={minute} class="minute" x={x(minute * 60)} y={floor + 14} text-anchor={minute === 0 ? "start" : minute === simulation.minutes ? "end" : "middle"}>
            {minute}
          </text>
        ))}
      </svg>
    </div>
  );
}

function Mark({ steering, x, y, past }: { steering: Steering; x: number; y: number; past: boolean }): JSX.Element {
  return (
    <path class={`steering ${steering.kind} ${past ? "" : "future"}`} d={`M${x} ${y - 7}l4 6h-8z`}>
      <title>{`${steering.lane}, minute ${Math.floor(steering.second / 60)}: ${steeringWords(steering)}`}</title>
    </path>
  );
}

export function steeringWords(one: Steering): string {
  if (one.kind === "interval") return `every ${span((one.interval_s ?? 0) * 1_000)}`;
  if (one.kind === "one-shot") return one.at_s === null ? "once" : `once, after ${span((one.at_s - one.second) * 1_000)}`;
  if (one.kind === "pause") return one.until_s === null ? "paused for long" : `paused for ${span((one.until_s - one.second) * 1_000)}`;
  return one.kind === "resume" ? "resumed" : "hints cleared";
}
