/** Service levels, and whether they are met. */

import type { JSX } from "preact";
import { useData, type Data } from "../../lib/data";
import { counted, percent, span } from "../../lib/format";
import { Card, RelativeTime } from "../../ui/parts";

interface Level {
  process: string;
  scheduler: string;
  slo: string;
  breached: boolean;
  judgement: "good" | "fair" | "bad" | "unjudged";
  since: string | null;
  value: number | null;
  threshold: number;
  window_minutes: number;
}

type Levels = Data<{ breached: number; items: Level[] }>;

const LABELS: Record<string, string> = {
  tick_budget: "Tick duration p95",
  saturation: "Worker saturation",
  queue_pressure: "Queue depth",
  job_latency: "Run duration p95",
  cutoff_miss_rate: "Daily cutoff miss rate",
  dead_man: "Scheduler heartbeat",
};

export function useLevels(): Levels {
  return useData("/v1/slo", { every: 10_000, when: () => false });
}

function labelOf(level: Level): string {
  return LABELS[level.slo] ?? level.slo.replaceAll("_", " ");
}

/** A value in the unit of its service level. */
function formatValue(slo: string, value: number): string {
  if (/tick_budget|latency|dead/.test(slo)) return span(value);
  if (/saturation|miss|rate/.test(slo)) return percent(value);
  return String(Math.round(value));
}

/** Breached service levels, at the top of the page. */
export function Breaches({ levels }: { levels: Levels }): JSX.Element | null {
  const answer = levels.value.value;
  if (!answer || answer.breached === 0) return null;
  const names = [...new Set(answer.items.filter((one) => one.breached).map(labelOf))];
  return (
    <p class="notice bad" role="status">
      {counted(answer.breached, "SLO")} breached: {names.join(", ")}.
    </p>
  );
}

/** Service levels that are breached or at risk; the others are folded. */
export function ServiceLevels({ levels }: { levels: Levels }): JSX.Element | null {
  const answer = levels.value.value;
  if (!answer || answer.items.length === 0) return null;
  const bad = answer.items.filter((one) => one.breached || one.judgement === "bad").toSorted((one, other) => Number(other.breached) - Number(one.breached));
  const met = answer.items.filter((one) => !bad.includes(one) && one.value !== null);
  return (
    <Card title="SLOs" aside={answer.breached === 0 ? "SLOs OK" : `${answer.breached} breached`}>
      <div class="stack tight">
        {bad.length > 0 && <LevelList levels={bad} />}
        <details>
          <summary>{met.length === 0 ? "No results yet" : `${counted(met.length, "SLO")} OK`}</summary>
          <LevelList levels={met} />
        </details>
      </div>
    </Card>
  );
}

function State({ level }: { level: Level }): JSX.Element {
  if (level.breached) return <span class="badge bad">breached</span>;
  if (level.judgement === "bad") return <span class="badge warn">at risk</span>;
  return level.judgement === "unjudged" ? <span class="badge">not enough samples</span> : <span class="badge good">OK</span>;
}

function LevelList({ levels }: { levels: Level[] }): JSX.Element {
  return (
    <ul class="levels">
      {levels.map((one) => (
        <li key={`${one.process} ${one.scheduler} ${one.slo}`} class="row spread">
          <span>
            <State level={one} /> {labelOf(one)}{" "}
            <span class="quiet">{one.scheduler}</span>
          </span>
          <span class="quiet number">
            {one.breached && one.since ? <>since <RelativeTime at={one.since} tense="past" wall />, </> : null}
            {one.value === null ? "no results yet" : `${formatValue(one.slo, one.value)}, limit ${formatValue(one.slo, one.threshold)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}
