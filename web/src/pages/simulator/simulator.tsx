/** A scenario on a slider: under the product's rules and under the published ones, side by side. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { useData } from "../../lib/data";
import { counted } from "../../lib/format";
import { useShortcut } from "../../lib/keys";
import { query, setQuery } from "../../lib/router";
import { Icon } from "../../ui/icons";
import { Card, Legend, Loading, ProblemNotice } from "../../ui/parts";
import { RunChart, describeSteering } from "./run_chart";
import "./simulator.css";
import type { ModeResult, Simulation } from "./types";

const LOAD_ONCE = { when: () => false, every: 86_400_000 };
const DEFAULT_SCENARIO = "flash-sale";
const FRAME_MS = 100;
const SECONDS_PER_FRAME = 6;
const STEP_S = 10;
const BEGIN_S = 60;

export default function SimulatorPage(): JSX.Element {
  const scenario = query.value.get("scenario") ?? DEFAULT_SCENARIO;
  const data = useData<Simulation>("/v1/simulation", { ...LOAD_ONCE, query: { scenario } });
  const shown = data.value.value;
  const problem = data.problem.value;
  if (!shown && problem) {
    return (
      <div class="stack">
        <ProblemNotice problem={problem} retry={data.refresh} />
        {scenario !== DEFAULT_SCENARIO && <a href="/simulator">Go to the flash sale</a>}
      </div>
    );
  }
  if (!shown) return <Loading what="the simulation" />;
  return <Player key={shown.scenario} simulation={shown} />;
}

function Player({ simulation }: { simulation: Simulation }): JSX.Element {
  const end = simulation.minutes * 60;
  const second = useSignal(BEGIN_S);
  const playing = useSignal(false);
  const toggle = (): void => {
    if (!playing.value && second.value >= end) second.value = 0;
    playing.value = !playing.value;
  };
  useShortcut("p", "Plays or stops the simulation", toggle);
  useEffect(() => {
    if (!playing.value) return;
    const timer = setInterval(() => {
      second.value = Math.min(end, second.value + SECONDS_PER_FRAME);
      if (second.value >= end) playing.value = false;
    }, FRAME_MS);
    return () => clearInterval(timer);
  }, [playing.value]);
  const now = second.value;
  const phase = simulation.phases.findLast((one) => one.begin_s <= now);
  return (
    <div class="stack simulator">
      <Card title={`The same ${simulation.minutes} minutes with two sets of rules`} aside={<Scenarios simulation={simulation} />}>
        <div class="player">
          <button class="button primary" type="button" onClick={toggle}>
            <Icon name={playing.value ? "pause" : "play"} />
            {playing.value ? "Stop" : "Play"}
          </button>
          <input
            type="range"
            aria-label="Minute"
            aria-valuetext={`minute ${Math.floor(now / 60)}, ${phase?.name ?? ""}`}
            min={0}
            max={end}
            step={STEP_S}
            value={now}
            onInput={(event) => {
              playing.value = false;
              second.value = Number(event.currentTarget.value);
            }}
          />
          <output class="number">
            minute {Math.floor(now / 60)}, {phase?.name}
          </output>
        </div>
        <MeasurementTable simulation={simulation} second={now} />
      </Card>
      <div class="mode-results">
        <ResultCard simulation={simulation} result={simulation.corrected} name="Corrected" aside="the product's own rules" second={now} />
        <ResultCard simulation={simulation} result={simulation.as_published} name="As published" aside="the prototype's rules" second={now} />
      </div>
      <Card title="Runs so far" aside="by tier">
        <Tiers simulation={simulation} second={now} />
      </Card>
    </div>
  );
}

function Scenarios({ simulation }: { simulation: Simulation }): JSX.Element {
  return (
    <select class="pick" aria-label="Scenario" value={simulation.scenario} onChange={(event) => setQuery({ scenario: event.currentTarget.value })}>
      {simulation.scenarios.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

/** The latest measurements at the end of the previous minute. */
function MeasurementTable({ simulation, second }: { simulation: Simulation; second: number }): JSX.Element {
  const minute = Math.min(Math.max(0, Math.ceil(second / 60) - 1), simulation.minutes - 1);
  const [one, other] = [simulation.corrected.minutes[minute], simulation.as_published.minutes[minute]];
  return (
    <div class="world" role="group" aria-label="Measurements" tabIndex={0}>
    <table class="small-table">
      <caption>Latest measurements at the end of minute {minute}</caption>
      <thead>
        <tr>
          <th scope="col">Rules</th>
          {Object.keys(simulation.units).map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {[
          { name: "Corrected", row: one },
          { name: "As published", row: other },
        ].map(({ name, row }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {Object.entries(simulation.units).map(([column, unit]) => (
              <td key={column} class="number">
                {row?.[column] === null || row?.[column] === undefined ? "–" : `${String(row[column])} ${unit}`}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
    </div>
  );
}

const CAUSES = [
  { class: "source-baseline", label: "baseline" },
  { class: "source-hint", label: "interval hint" },
  { class: "source-one-shot", label: "one-shot" },
  { class: "source-clamped", label: "limited by min/max interval" },
  { class: "source-other", label: "other" },
  { class: "mark-steering", label: "steered" },
];

function ResultCard(props: { simulation: Simulation; result: ModeResult; name: string; aside: string; second: number }): JSX.Element {
  const { simulation, result, name, second } = props;
  const past = result.runs.filter((run) => run.second <= second).length;
  const latest = result.steering.filter((one) => one.second <= second).slice(-3).toReversed();
  return (
    <Card title={name} aside={`${counted(past, "run")} so far, ${result.runs.length} in total`} class="mode-result">
      <p class="quiet">{props.aside}</p>
      <RunChart simulation={simulation} result={result} name={name} second={second} />
      <Legend items={CAUSES} />
      <h3>Latest steering</h3>
      <ul class="latest">
        {latest.length === 0 && <li class="muted">No steering yet.</li>}
        {latest.map((one, index) => (
          <li key={index}>
            <span class="quiet number">{`${Math.floor(one.second / 60)}:${String(one.second % 60).padStart(2, "0")}`}</span> {one.lane}: {describeSteering(one)}
          </li>
        ))}
      </ul>
      <Checks result={result} />
    </Card>
  );
}

function Checks({ result }: { result: ModeResult }): JSX.Element {
  const passed = result.checks.filter((check) => check.passed).length;
  return (
    <details class="checks">
      <summary>
        {passed} of {result.checks.length} checks passed
      </summary>
      <ul>
        {result.checks.map((check) => (
          <li key={check.name}>
            <span class={`badge ${check.passed ? "good" : "bad"}`}>{check.passed ? "passed" : "failed"}</span> {check.name.replaceAll("-", " ")}
            <div class="quiet">{check.detail}</div>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Tiers({ simulation, second }: { simulation: Simulation; second: number }): JSX.Element {
  const tiers = [...new Set(simulation.lanes.map((lane) => lane.tier))];
  const count = (result: ModeResult, tier: string): number => {
    const names = new Set(simulation.lanes.filter((lane) => lane.tier === tier).map((lane) => lane.name));
    return result.runs.filter((run) => run.second <= second && names.has(run.lane)).length;
  };
  return (
    <table class="small-table tiers">
      <thead>
        <tr>
          <th scope="col">Tier</th>
          <th scope="col">Corrected</th>
          <th scope="col">As published</th>
        </tr>
      </thead>
      <tbody>
        {tiers.map((tier) => (
          <tr key={tier}>
            <th scope="row">{tier}</th>
            <td class="number">{count(simulation.corrected, tier)}</td>
            <td class="number">{count(simulation.as_published, tier)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
