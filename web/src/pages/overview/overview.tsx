/** The state of everything at a glance. */

import type { JSX } from "preact";
import { toldNow } from "../../lib/clock";
import { useData } from "../../lib/data";
import { compact, percent, span } from "../../lib/format";
import { Card, Empty, Legend, Loading, ProblemNotice, When } from "../../ui/parts";
import { Alerts } from "./alerts";
import { ForecastChart, LatenessChart, RunsChart, STATUSES } from "./charts";
import "./overview.css";
import { ServiceLevels } from "./slo";
import type { Overview, Planner, Quota } from "./types";

export default function OverviewPage(): JSX.Element {
  const data = useData<Overview>("/v1/overview", { every: 5_000, atMost: 2_000 });
  const shown = data.value.value;
  if (!shown) {
    const problem = data.problem.value;
    return problem ? <ProblemNotice problem={problem} retry={data.refresh} /> : <Loading what="the overview" />;
  }
  toldNow(shown.now);
  if (shown.endpoints === 0) return <Beginning />;
  return (
    <div class="stack">
      {data.problem.value && <ProblemNotice problem={data.problem.value} />}
      <Figures overview={shown} />
      <div class="overview-charts">
        <Card title="Runs per minute" aside={<Reach overview={shown} />}>
          <RunsChart pulse={shown.pulse} />
          <Legend items={statusesIn(shown).map((status) => ({ class: `status-${status}`, label: status }))} />
        </Card>
        <Card title="Due next" aside={`next ${Math.round((shown.forecast.due.length * shown.forecast.span_ms) / 60_000)} minutes, if nothing is steered`}>
          <ForecastChart forecast={shown.forecast} />
          {shown.forecast.overdue > 0 && <p class="quiet">{compact(shown.forecast.overdue)} due already, waiting to start</p>}
        </Card>
        <Card title="Lateness" aside="how long after its moment a run began">
          <LatenessChart pulse={shown.pulse} />
          <Legend items={[{ class: "source-baseline", label: "half of all" }, { class: "status-timeout", label: "99 of 100" }]} />
        </Card>
        <div class="stack">
          <ServiceLevels />
          <Alerts />
          <Planners planners={shown.planners} />
          <Quotas quotas={shown.quotas} resets={shown.quota_resets_at} />
        </div>
      </div>
    </div>
  );
}

/** Those that occur; what never happens needs no colour. */
function statusesIn(overview: Overview): string[] {
  return STATUSES.filter((status) => status === "success" || overview.pulse.beats.some((beat) => beat.statuses[status]));
}

function Reach({ overview }: { overview: Overview }): JSX.Element {
  const { pulse, now } = overview;
  const reach = span(Date.parse(now) - Date.parse(pulse.since));
  return <>{pulse.complete ? `last ${reach}` : `newest ${compact(pulse.runs)} runs, ${reach}`}</>;
}

function Figures({ overview }: { overview: Overview }): JSX.Element {
  const { pulse } = overview;
  const minutes = Math.max((Date.parse(overview.now) - Date.parse(pulse.since)) / 60_000, 1 / 60);
  return (
    <dl class="figures">
      <Figure name="Endpoints" value={compact(overview.endpoints)} />
      <Figure name="In flight" value={compact(overview.in_flight)} />
      <Figure name="Runs per minute" value={compact(Math.round((pulse.runs / minutes) * 10) / 10)} />
      <Figure name="Success" value={pulse.success_rate === null ? "–" : percent(pulse.success_rate)} tone={tone(pulse.success_rate)} />
      <Figure name="Late, half of all" value={pulse.late_p50_ms === null ? "–" : span(pulse.late_p50_ms)} />
      <Figure name="Late, 99 of 100" value={pulse.late_p99_ms === null ? "–" : span(pulse.late_p99_ms)} />
    </dl>
  );
}

function tone(rate: number | null): string {
  if (rate === null || rate >= 0.99) return "";
  return rate >= 0.9 ? "warn" : "bad";
}

function Figure({ name, value, tone = "" }: { name: string; value: string; tone?: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={`number ${tone}`}>{value}</dd>
    </div>
  );
}

function Planners({ planners }: { planners: Planner[] }): JSX.Element {
  return (
    <Card title="Planners" aside="within the same time">
      {planners.length === 0 ? (
        <p class="muted">No planner had anything to say.</p>
      ) : (
        <table class="small-table">
          <thead>
            <tr>
              <th scope="col">Planner</th>
              <th scope="col">Sittings</th>
              <th scope="col">Tokens</th>
              <th scope="col">Last</th>
            </tr>
          </thead>
          <tbody>
            {planners.map((one) => (
              <tr key={one.planner}>
                <th scope="row">
                  {one.planner} {one.failed > 0 && <span class="badge bad">{one.failed} failed</span>}
                </th>
                <td class="number">{compact(one.sittings)}</td>
                <td class="number">{compact(one.tokens)}</td>
                <td>
                  <When at={one.last_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

const QUOTA_NAMES: Record<string, string> = { runs: "Runs", planner_tokens: "Planner tokens", endpoints: "Endpoints" };
const QUOTA_WORDS: Record<string, string> = { near: "over 80 %", nearer: "over 95 %", spent: "spent" };

function Quotas({ quotas, resets }: { quotas: Quota[]; resets: string }): JSX.Element {
  return (
    <Card title="Quota this month" aside={<>begins anew <When at={resets} /></>}>
      <ul class="quotas">
        {quotas.map((one) => (
          <li key={one.name}>
            <div class="row spread">
              <span>{QUOTA_NAMES[one.name] ?? one.name}</span>
              <span class="number">
                {one.level !== "ok" && <span class={`badge ${one.level === "near" ? "warn" : "bad"}`}>{QUOTA_WORDS[one.level]}</span>}{" "}
                {compact(one.used)}
                <span class="muted">{one.limit === null ? ", without limit" : ` of ${compact(one.limit)}`}</span>
              </span>
            </div>
            {one.share !== null && (
              <meter min={0} max={1} low={0.8} high={0.95} optimum={0} value={Math.min(one.share, 1)} aria-label={`${QUOTA_NAMES[one.name] ?? one.name}: ${percent(one.share)} used`} />
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Beginning(): JSX.Element {
  return (
    <>
      <Empty title="Nothing is scheduled yet">
        <p>Create a job and an endpoint, or start the demo to see something move:</p>
        <p>
          <code>cadenza up --demo</code>
        </p>
        <p>
          <a href="/docs" data-reload>
            How to create endpoints
          </a>
        </p>
      </Empty>
      <div class="stack">
        <ServiceLevels />
        <Alerts />
      </div>
    </>
  );
}
