/** The state of everything at a glance. */

import type { JSX } from "preact";
import { useData } from "../../lib/data";
import { compact, counted, percent, span } from "../../lib/format";
import { Card, Empty, Figures, Legend, Loading, ProblemNotice, RelativeTime, type FigureProps } from "../../ui/parts";
import { NewEndpoint } from "../endpoints/new_endpoint";
import { Alerts } from "./alerts";
import { ForecastChart, LatenessChart, RunsChart, STATUSES } from "./charts";
import "./overview.css";
import { Breaches, ServiceLevels, useLevels } from "./slo";
import type { Forecast, Overview, Planner, Quota } from "./types";

export default function OverviewPage(): JSX.Element {
  const data = useData<Overview>("/v1/overview", { every: 5_000, minGapMs: 2_000 });
  const levels = useLevels();
  const shown = data.value.value;
  if (!shown) {
    const problem = data.problem.value;
    return problem ? <ProblemNotice problem={problem} retry={data.refresh} /> : <Loading what="the overview" />;
  }
  if (shown.endpoints === 0) {
    return (
      <div class="stack">
        <Breaches levels={levels} />
        <NothingYet />
        <ServiceLevels levels={levels} />
        <Alerts />
      </div>
    );
  }
  return (
    <div class="stack">
      {data.problem.value && <ProblemNotice problem={data.problem.value} />}
      <Breaches levels={levels} />
      <Figures items={figures(shown)} />
      <div class="overview-charts">
        <div class="stack">
          <Card title="Runs per minute" aside={<HistogramRange overview={shown} />}>
            <RunsChart histogram={shown.pulse} />
            <Legend items={statusesIn(shown).map((status) => ({ class: `status-${status}`, label: status }))} />
          </Card>
          <Card title="Start delay" aside="from due time to start">
            <LatenessChart histogram={shown.pulse} />
            <Legend items={[{ class: "source-baseline", label: "median" }, { class: "status-timeout", label: "p99" }]} />
          </Card>
          <Quotas quotas={shown.quotas} resets={shown.quota_resets_at} />
        </div>
        <div class="stack">
          <Card title="Upcoming runs" aside={`next ${span(shown.forecast.due.length * shown.forecast.span_ms)}, if nothing is changed`}>
            <ForecastChart forecast={shown.forecast} />
            <p class="quiet">{overdueText(shown.forecast)}</p>
          </Card>
          <ServiceLevels levels={levels} />
          <Alerts />
          <Planners planners={shown.planners} />
        </div>
      </div>
    </div>
  );
}

/** The statuses that occur, for the legend. */
function statusesIn(overview: Overview): string[] {
  return STATUSES.filter((status) => status === "success" || overview.pulse.beats.some((bin) => bin.statuses[status]));
}

function HistogramRange({ overview }: { overview: Overview }): JSX.Element {
  const { pulse, now } = overview;
  const reach = span(Date.parse(now) - Date.parse(pulse.since));
  return <>{pulse.complete ? `last ${reach}` : `the newest ${counted(pulse.runs, "run")}, ${reach}`}</>;
}

function overdueText(forecast: Forecast): string {
  const overdue = forecast.overdue ? `Queue depth ${compact(forecast.overdue)}: due and not started yet` : "Queue depth 0: no run is waiting to start";
  return forecast.complete ? `${overdue}.` : `${overdue}. Too many endpoints to count all: only the soonest are shown.`;
}

function figures(overview: Overview): FigureProps[] {
  const { pulse } = overview;
  const minutes = Math.max((Date.parse(overview.now) - Date.parse(pulse.since)) / 60_000, 1 / 60);
  return [
    { name: "Endpoints", value: compact(overview.endpoints) },
    { name: "Running now", value: compact(overview.in_flight) },
    { name: "Runs per minute", value: compact(Math.round((pulse.runs / minutes) * 10) / 10) },
    { name: "Success rate", value: pulse.success_rate === null ? "–" : percent(pulse.success_rate), tone: tone(pulse.success_rate) },
    { name: "Median start delay", value: pulse.late_p50_ms === null ? "–" : span(pulse.late_p50_ms) },
    { name: "p99 start delay", value: pulse.late_p99_ms === null ? "–" : span(pulse.late_p99_ms) },
  ];
}

function tone(rate: number | null): string {
  if (rate === null || rate >= 0.99) return "";
  return rate >= 0.9 ? "warn" : "bad";
}

function Planners({ planners }: { planners: Planner[] }): JSX.Element {
  return (
    <Card title="Planners" aside="in the same range">
      {planners.length === 0 ? (
        <p class="muted">No planner evaluations in this range.</p>
      ) : (
        <table class="small-table">
          <thead>
            <tr>
              <th scope="col">Planner</th>
              <th scope="col">Evaluations</th>
              <th scope="col">Tokens</th>
              <th scope="col">Last evaluation</th>
            </tr>
          </thead>
          <tbody>
            {planners.map((one) => (
              <tr key={one.planner}>
                <th scope="row">
                  <a href="/planners">{one.planner}</a> {one.failed > 0 && <span class="badge bad">{one.failed} failed</span>}
                </th>
                <td class="number">{compact(one.sittings)}</td>
                <td class="number">{compact(one.tokens)}</td>
                <td>
                  <RelativeTime at={one.last_at} tense="past" />
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
const QUOTA_LABELS: Record<string, string> = { near: "over 80 %", nearer: "over 95 %", spent: "used up" };

function Quotas({ quotas, resets }: { quotas: Quota[]; resets: string }): JSX.Element {
  return (
    <Card title="Quota this month" aside={<>resets <RelativeTime at={resets} /></>}>
      <ul class="quotas">
        {quotas.map((one) => (
          <li key={one.name}>
            <div class="row spread">
              <span>{QUOTA_NAMES[one.name] ?? one.name}</span>
              <span class="number">
                {one.level !== "ok" && <span class={`badge ${one.level === "near" ? "warn" : "bad"}`}>{QUOTA_LABELS[one.level]}</span>}{" "}
                {compact(one.used)}
                <span class="muted">{one.limit === null ? ", no limits" : ` of ${compact(one.limit)}`}</span>
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

function NothingYet(): JSX.Element {
  return (
    <Empty title="No endpoints yet">
      <p>An endpoint is a target that runs on a schedule: an HTTP request, a function, or a heartbeat that is expected.</p>
      <NewEndpoint />
      <p>
        To see an example, start the demo: <code>cadenza up --demo</code>
      </p>
    </Empty>
  );
}
