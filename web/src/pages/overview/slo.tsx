/** What is promised, and whether it is kept. */

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

const WORDS: Record<string, string> = {
  tick_budget: "Ticks are quick",
  saturation: "Workers have room",
  queue_pressure: "Queues stay short",
  job_latency: "Runs are quick",
  cutoff_miss_rate: "Daily jobs in time",
  dead_man: "Ticks keep coming",
};

export function useLevels(): Levels {
  return useData("/v1/slo", { every: 10_000, when: () => false });
}

function wordsOf(level: Level): string {
  return WORDS[level.slo] ?? level.slo.replaceAll("_", " ");
}

/** A measured value in the unit of its promise. */
function measured(slo: string, value: number): string {
  if (/tick_budget|latency|dead/.test(slo)) return span(value);
  if (/saturation|miss|rate/.test(slo)) return percent(value);
  return String(Math.round(value));
}

/** What is broken, where nobody overlooks it. */
export function Breaches({ levels }: { levels: Levels }): JSX.Element | null {
  const told = levels.value.value;
  if (!told || told.breached === 0) return null;
  const names = [...new Set(told.items.filter((one) => one.breached).map(wordsOf))];
  return (
    <p class="notice bad" role="status">
      {counted(told.breached, "service level is", "service levels are")} breached: {names.join(", ")}.
    </p>
  );
}

/** Those that are broken, or about to be; the others are there for who wants to know. */
export function ServiceLevels({ levels }: { levels: Levels }): JSX.Element | null {
  const told = levels.value.value;
  if (!told || told.items.length === 0) return null;
  const bad = told.items.filter((one) => one.breached || one.judgement === "bad").toSorted((one, other) => Number(other.breached) - Number(one.breached));
  const kept = told.items.filter((one) => !bad.includes(one) && one.value !== null);
  return (
    <Card title="Service levels" aside={told.breached === 0 ? "none breached" : `${told.breached} breached`}>
      <div class="stack tight">
        {bad.length > 0 && <LevelList levels={bad} />}
        <details>
          <summary>{kept.length === 0 ? "Nothing was measured yet" : `${counted(kept.length, "promise is", "promises are")} kept`}</summary>
          <LevelList levels={kept} />
        </details>
      </div>
    </Card>
  );
}

function State({ level }: { level: Level }): JSX.Element {
  if (level.breached) return <span class="badge bad">breached</span>;
  if (level.judgement === "bad") return <span class="badge warn">at risk</span>;
  return level.judgement === "unjudged" ? <span class="badge">too little to tell</span> : <span class="badge good">kept</span>;
}

function LevelList({ levels }: { levels: Level[] }): JSX.Element {
  return (
    <ul class="levels">
      {levels.map((one) => (
        <li key={`${one.process} ${one.scheduler} ${one.slo}`} class="row spread">
          <span>
            <State level={one} /> {wordsOf(one)}{" "}
            <span class="quiet">{one.scheduler}</span>
          </span>
          <span class="quiet number">
            {one.breached && one.since ? <>since <RelativeTime at={one.since} tense="past" wall />, </> : null}
            {one.value === null ? "nothing measured" : `${measured(one.slo, one.value)}, at most ${measured(one.slo, one.threshold)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}
