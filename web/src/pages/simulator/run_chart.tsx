/** A row for every endpoint of a scenario: its runs, its steering, and the scenario's phases behind. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { counted, span } from "../../lib/format";
import { sourceKind } from "../../ui/parts";
import type { ModeResult, Simulation, SteeringEvent } from "./types";

const ROW_HEIGHT = 30;
const HEADER_HEIGHT = 20;
const FOOTER_HEIGHT = 20;

interface Props {
  simulation: Simulation;
  result: ModeResult;
  name: string;
  second: number;
}

export function RunChart({ simulation, result, name, second }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(500);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => element.clientWidth && setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const end = simulation.minutes * 60;
  const x = (at: number): number => 2 + (at / end) * (width - 8);
  const rowTop = new Map(simulation.lanes.map((lane, row) => [lane.name, HEADER_HEIGHT + row * ROW_HEIGHT]));
  const bottom = HEADER_HEIGHT + simulation.lanes.length * ROW_HEIGHT;
  const past = result.runs.filter((run) => run.second <= second).length;
  return (
    <div ref={box} class="run-chart">
      <svg width={width} height={bottom + FOOTER_HEIGHT} role="img" aria-label={`${name}: ${counted(past, "run")} of ${counted(simulation.lanes.length, "endpoint")} by minute ${Math.floor(second / 60)}`}>
        {simulation.phases.map((phase, index) => (
          <g key={phase.name} class={`phase phase-${index % 5}`}>
            <rect x={x(phase.begin_s)} y={0} width={x(phase.end_s) - x(phase.begin_s)} height={bottom} />
            {x(phase.end_s) - x(phase.begin_s) > phase.name.length * 6 && (
              <text x={x(phase.begin_s) + 4} y={13}>
                {phase.name}
              </text>
            )}
          </g>
        ))}
        {simulation.lanes.map((lane) => (
          <g key={lane.name}>
            <line class="lane-line" x1={0} x2={width} y1={(rowTop.get(lane.name) ?? 0) + ROW_HEIGHT - 0.5} y2={(rowTop.get(lane.name) ?? 0) + ROW_HEIGHT - 0.5} />
            <text class="lane-label" x={4} y={(rowTop.get(lane.name) ?? 0) + 11}>
              {lane.name}
            </text>
          </g>
        ))}
        {result.steering.map((one, index) => (
          <SteeringMark key={index} steering={one} x={x(one.second)} y={(rowTop.get(one.lane) ?? 0) + 21} past={one.second <= second} />
        ))}
        {result.runs.map((run, index) => (
          <rect
            key={index}
            class={`tick ${sourceKind(run.cause)} ${run.second <= second ? "" : "future"}`}
            x={x(run.second) - 1}
            y={(rowTop.get(run.lane) ?? 0) + 15}
            width={2}
            height={12}
          />
        ))}
        <line class="playhead" x1={x(second)} x2={x(second)} y1={0} y2={bottom} />
        {[0, 10, 20, 30, 40].filter((minute) => minute <= simulation.minutes).map((minute) => (
          <text key={minute} class="minute" x={x(minute * 60)} y={bottom + 14} text-anchor={minute === 0 ? "start" : minute === simulation.minutes ? "end" : "middle"}>
            {minute}
          </text>
        ))}
      </svg>
    </div>
  );
}

function SteeringMark({ steering, x, y, past }: { steering: SteeringEvent; x: number; y: number; past: boolean }): JSX.Element {
  return (
    <path class={`steering ${steering.kind} ${past ? "" : "future"}`} d={`M${x} ${y - 7}l4 6h-8z`}>
      <title>{`${steering.lane}, minute ${Math.floor(steering.second / 60)}: ${describeSteering(steering)}`}</title>
    </path>
  );
}

export function describeSteering(one: SteeringEvent): string {
  if (one.kind === "interval") return `every ${span((one.interval_s ?? 0) * 1_000)}`;
  if (one.kind === "one-shot") return one.at_s === null ? "once" : `once, after ${span((one.at_s - one.second) * 1_000)}`;
  if (one.kind === "pause") return one.until_s === null ? "paused until resumed" : `paused for ${span((one.until_s - one.second) * 1_000)}`;
  return one.kind === "resume" ? "resumed" : "hints cleared";
}
