/** One endpoint: its cadence, why its next run is when it is, and steering. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { serverNow, tick } from "../../lib/clock";
import { useData } from "../../lib/data";
import { baseline, clockTime, counted, localZone, span } from "../../lib/format";
import { query, setQuery } from "../../lib/router";
import { Card, Empty, Legend, Loading, ProblemNotice, Source, RelativeTime } from "../../ui/parts";
import { Fact } from "../../run/details";
import { RunDrawer } from "../../run/drawer";
import { RunTable } from "../../run/table";
import { heading } from "../../ui/shell";
import type { PageProps } from "../page";
import "./endpoint.css";
import { Hints } from "./hints";
import { DefinitionActions } from "./definition_actions";
import { CalendarFacts, ClosedBadge } from "./calendars";
import { AboutJob } from "./job";
import { RunsActions } from "./runs_actions";
import { Statistics } from "./statistics";
import { latestRange, moveRange, queriedRange, zoomRange, type TimeRange } from "./scales";
import { Steer } from "./steer";
import { TimelineChart } from "./timeline";
import type { Endpoint, PlannedRun, Plan, TimelineRun, Preview, Timeline } from "./types";
import { Why } from "./why";

const HOUR = 3_600_000;
const RANGES = [
  { name: "15 m", length: HOUR / 4 },
  { name: "1 h", length: HOUR },
  { name: "6 h", length: 6 * HOUR },
  { name: "1 d", length: 24 * HOUR },
  { name: "7 d", length: 7 * 24 * HOUR },
];
const RUNS_LISTED = 25;
/** A range that ends within this fraction of its length before now counts as live. */
const LIVE_TOLERANCE = 200;

export default function EndpointPage({ params }: PageProps): JSX.Element {
  const id = params["id"] ?? "";
  return <OneEndpoint key={id} id={id} />;
}

function OneEndpoint({ id }: { id: string }): JSX.Element {
  const path = `/v1/endpoints/${encodeURIComponent(id)}`;
  const ownChanges = { when: (change: { endpoints: Set<string>; steered: boolean }) => change.steered || change.endpoints.has(id) };
  const data = useData<Endpoint>(path, ownChanges);
  const plan = useData<Plan>(`${path}/plan`, ownChanges);
  const length = useSignal(HOUR);
  /** A range in the past; undefined while the chart is live. */
  const fixedRange = useSignal<TimeRange | undefined>(undefined);
  const preview = useSignal<Preview | undefined>(undefined);
  void tick.value;
  const range = fixedRange.value ?? latestRange(length.value);
  const timeline = useData<Timeline>(`${path}/timeline`, { ...ownChanges, query: { ...queriedRange(range), limit: 2_000 } });
  const endpoint = data.value.value;
  useEffect(() => {
    if (endpoint) heading.value = endpoint.name;
  }, [endpoint?.name]);
  const loadedTimeline = timeline.value.value;
  if (!endpoint) {
    const problem = data.problem.value;
    if (problem?.status === 404) return <Missing />;
    return problem ? <ProblemNotice problem={problem} retry={data.refresh} /> : <Loading what="the endpoint" />;
  }
  function showRange(next: TimeRange): void {
    const size = next.to - next.from;
    // Back at the present, the chart is live again.
    const back = next.to >= latestRange(size).to - size / LIVE_TOLERANCE && (fixedRange.value === undefined ? next.from >= range.from : true);
    length.value = size;
    fixedRange.value = back ? undefined : next;
  }
  function refresh(): void {
    for (const one of [data, plan, timeline]) one.refresh();
  }
  const chosen = query.value.get("run") ?? undefined;
  const select = (run: string): void => setQuery({ run });
  return (
    <div class="stack endpoint-page">
      {data.problem.value && <ProblemNotice problem={data.problem.value} />}
      <DefinitionActions endpoint={endpoint} />
      <Facts endpoint={endpoint} gate={plan.value.value?.gate ?? null} />
      <Card title="Interval between runs" aside={fixedRange.value ? `${clockTime(range.from)} to ${clockTime(range.to)} ${localZone(range.to)}` : `last ${span(length.value * 0.85)}, live, times in ${localZone()}`}>
        <RangeControls range={range} live={fixedRange.value === undefined} onRange={showRange} onLive={() => (fixedRange.value = undefined)} onLength={(next) => { length.value = next; fixedRange.value = undefined; }} length={length.value} />
        {loadedTimeline ? (
          <TimelineChart
            endpoint={endpoint}
            timeline={loadedTimeline}
            planned={plannedRuns(endpoint, preview.value)}
            previewed={preview.value?.after.runs}
            range={range}
            onRange={showRange}
            selected={chosen}
            onSelect={select}
          />
        ) : (
          <Loading what="the timeline" />
        )}
        <KeyHelp />
        {loadedTimeline && !loadedTimeline.complete && <p class="quiet">Too many runs to show each one: zoom in.</p>}
        <TimelineLegend />
      </Card>
      <Statistics id={id} />
      <div class="endpoint-sides">
        <div class="stack">
          {plan.value.value && <Why plan={plan.value.value} />}
          <Hints endpoint={endpoint} timeline={loadedTimeline} />
        </div>
        {endpoint.target.kind === "prompt" ? (
          <Card title="Steer">
            <p class="quiet">
              This endpoint belongs to a user's schedule. <a href="/agents">Create or delete schedules</a> on the Agents page.
            </p>
          </Card>
        ) : (
          <Steer endpoint={endpoint} onPreview={(next) => (preview.value = next)} onDone={refresh} />
        )}
      </div>
      {loadedTimeline && <Runs runs={loadedTimeline.runs} endpoint={endpoint} />}
      <RunDrawer />
    </div>
  );
}

function plannedRuns(endpoint: Endpoint, preview: Preview | undefined): PlannedRun[] {
  if (preview) return preview.before.runs;
  return endpoint.next_run_at ? [{ at: endpoint.next_run_at, source: endpoint.next_source }] : [];
}

function Missing(): JSX.Element {
  return (
    <Empty title="Endpoint not found">
      <p>
        It may have been deleted. <a href="/endpoints">See all endpoints</a>
      </p>
    </Empty>
  );
}

function Facts({ endpoint, gate }: { endpoint: Endpoint; gate: string | null }): JSX.Element {
  const paused = endpoint.paused_until !== null && Date.parse(endpoint.paused_until) > serverNow();
  const hint = endpoint.interval_hint;
  const fresh = hint && Date.parse(hint.expires_at) > serverNow() ? hint : null;
  const limits = runLimits(endpoint);
  const hintBy = { "ai-interval": hint?.by, "ai-oneshot": endpoint.one_shot_hint?.by }[endpoint.next_source];
  return (
    <Card
      title="Endpoint"
      aside={
        <span class="row">
          {endpoint.running && <span class="badge accent">running</span>}
          {!endpoint.enabled && <span class="badge warn">disabled</span>}
          {!endpoint.job_active && <span class="badge warn">job paused</span>}
          {paused && <span class="badge warn">paused</span>}
          {!paused && <ClosedBadge gate={gate} />}
          {endpoint.suspect && !paused && (
            <span class="badge warn" title={`Its worker process died ${counted(endpoint.abandoned_count, "time")} during a run. Until a run completes, it does not run together with other suspects.`}>
              suspect
            </span>
          )}
          {endpoint.failure_count > 0 && <span class="badge bad">{counted(endpoint.failure_count, "consecutive failure")}</span>}
          {Object.entries(endpoint.labels).map(([name, value]) => (
            <span key={name} class="badge">{`${name}=${value}`}</span>
          ))}
        </span>
      }
    >
      {endpoint.description && <p class="muted">{endpoint.description}</p>}
      <dl class="facts">
        <Fact name="Job">
          <a href={`/jobs/${encodeURIComponent(endpoint.job_id)}`}>{endpoint.job_id}</a>
        </Fact>
        <Fact name="Next run">
          <RelativeTime at={endpoint.next_run_at} none="none" tense="next" /> <Source source={endpoint.next_source} by={hintBy} />
        </Fact>
        <Fact name="Last run">
          <RelativeTime at={endpoint.last_run_at} tense="past" />
        </Fact>
        <Fact name="Baseline">{baseline(endpoint.baseline)}</Fact>
        <Fact name="Current interval">{fresh ? `every ${span(fresh.interval_ms)}, set by a hint (${endpoint.hint_mode})` : "same as baseline"}</Fact>
        <Fact name="Guard">{intervalLimits(endpoint.guard)}</Fact>
        <CalendarFacts rules={endpoint.calendar} />
        {limits.length > 0 && <Fact name="Limits of runs">{limits.join(", ")}</Fact>}
        {endpoint.priority !== 0 && <Fact name="Priority">{endpoint.priority}</Fact>}
        <Fact name="Target endpoint" wide>
          <code class="wrap">{endpoint.target.kind === "http" ? `${endpoint.target.method ?? "GET"} ${endpoint.target.url ?? ""}` : endpoint.target.kind}</code>
        </Fact>
      </dl>
      <AboutJob id={endpoint.job_id} />
    </Card>
  );
}

function intervalLimits({ min_interval_ms: min, max_interval_ms: max }: Endpoint["guard"]): string {
  const limits = [min && `minimum ${span(min)}`, max && `maximum ${span(max)}`].filter(Boolean);
  return limits.join(", ") || "no limits";
}

/** The limits that it is under, and its key where that has no limit. */
function runLimits({ limited_by: found, limit_key: key }: Endpoint): string[] {
  const unlimited = key !== null && !found.includes(`key:${key}`) ? [`key ${key} (no limit set)`] : [];
  return [...found.map((one) => one.replace(":", " ")), ...unlimited];
}

interface RangeControlsProps {
  range: TimeRange;
  live: boolean;
  length: number;
  onRange: (range: TimeRange) => void;
  onLive: () => void;
  onLength: (length: number) => void;
}

function RangeControls({ range, live, length, onRange, onLive, onLength }: RangeControlsProps): JSX.Element {
  const size = range.to - range.from;
  return (
    <div class="row range-controls" role="group" aria-label="Time range">
      {RANGES.map((choice) => (
        <button key={choice.name} class="button" type="button" aria-pressed={live && Math.abs(choice.length - length) < 1} onClick={() => onLength(choice.length)}>
          {choice.name}
        </button>
      ))}
      <span class="range-moves">
        <button class="button" type="button" aria-label="Earlier" onClick={() => onRange(moveRange(range, -size / 2))}>
          ←
        </button>
        <button class="button" type="button" aria-label="Later" onClick={() => onRange(moveRange(range, size / 2))}>
          →
        </button>
        <button class="button" type="button" aria-label="Zoom out" onClick={() => onRange(zoomRange(range, 2))}>
          −
        </button>
        <button class="button" type="button" aria-label="Zoom in" onClick={() => onRange(zoomRange(range, 0.5))}>
          +
        </button>
        <button class="button" type="button" disabled={live} onClick={onLive}>
          Live
        </button>
      </span>
    </div>
  );
}

function KeyHelp(): JSX.Element {
  return (
    <p class="quiet" id="timeline-keys">
      Drag to move; pinch, or Ctrl and mouse wheel, to zoom. Keyboard: ← → move, + − zoom, Home shows now, Shift ← → select the previous or next run.
    </p>
  );
}

const TIMELINE_MARKS = [
  { class: "source-baseline", label: "baseline" },
  { class: "source-hint", label: "interval hint" },
  { class: "source-one-shot", label: "one-shot" },
  { class: "source-clamped", label: "limited by min/max interval" },
  { class: "source-paused", label: "after a pause" },
  { class: "source-calendar", label: "by a calendar" },
  { class: "source-other", label: "other" },
  { class: "mark-failure", label: "failed" },
  { class: "mark-forbidden", label: "outside the limits" },
  { class: "mark-ahead", label: "planned" },
];

function TimelineLegend(): JSX.Element {
  return <Legend items={TIMELINE_MARKS} />;
}

function Runs({ runs, endpoint }: { runs: TimelineRun[]; endpoint: Endpoint }): JSX.Element {
  const newest = runs.slice(-RUNS_LISTED).toReversed().map((run) => ({ ...run, endpoint_id: endpoint.id, job_id: endpoint.job_id }));
  const all = <a href={`/runs?endpoint=${encodeURIComponent(endpoint.id)}`}>All runs</a>;
  return (
    <Card
      title="Runs"
      aside={
        <span class="row">
          {runs.length > RUNS_LISTED ? `newest ${RUNS_LISTED} of ${counted(runs.length, "run")} in this range` : `${counted(runs.length, "run")} in this range`}
          {all}
          <RunsActions endpoint={endpoint} />
        </span>
      }
    >
      {newest.length === 0 ? <p class="muted">No runs in this range.</p> : <RunTable runs={newest} label="Runs in this range" without={["endpoint", "job"]} />}
    </Card>
  );
}
