/** What is promised, and whether it is kept. */

import type { JSX } from "preact";
import { useData } from "../../lib/data";
import { percent, span } from "../../lib/format";
import { Card, When } from "../../ui/parts";

interface Level {
  process: string;
  scheduler: string;
  slo: string;
  breached: boolean;
  since: string | null;
  value: number | null;
  threshold: number;
  window_minutes: number;
}

const WORDS: Record<string, string> = {
  tick_budget: "Tick within its budget",
  saturation: "Free hands",
  queue_pressure: "Short queue",
  job_latency: "Quick jobs",
  cutoff_miss_rate: "Days done in time",
  dead_man: "Ticks keep coming",
};

/** A measured value in the unit of its promise. */
function measured(slo: string, value: number): string {
  if (/tick_budget|latency|dead/.test(slo)) return span(value);
  if (/saturation|miss|rate/.test(slo)) return percent(value);
  return String(Math.round(value));
}

export function ServiceLevels(): JSX.Element | null {
  const data = useData<{ breached: number; items: Level[] }>("/v1/slo", { every: 10_000, when: () => false });
  const told = data.value.value;
  if (!told || told.items.length === 0) return null;
  const shown = told.items.toSorted((one, other) => Number(other.breached) - Number(one.breached));
  return (
    <Card title="Service levels" aside={told.breached === 0 ? "all kept" : `${told.breached} breached`}>
      <ul class="levels">
        {shown.map((one) => (
          <li key={`${one.process} ${one.scheduler} ${one.slo}`} class="row spread">
            <span>
              <span class={`badge ${one.breached ? "bad" : "good"}`}>{one.breached ? "breached" : "kept"}</span>{" "}
              {WORDS[one.slo] ?? one.slo.replaceAll("_", " ")} <span class="quiet">{one.scheduler}</span>
            </span>
            <span class="quiet number">
              {one.breached && one.since ? <>since <When at={one.since} />, </> : null}
              {one.value === null ? "nothing measured" : `${measured(one.slo, one.value)} of ${measured(one.slo, one.threshold)}`}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
