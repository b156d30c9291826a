/** One endpoint: its cadence and what changed it, why it runs next when it does, and how to steer it. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { serverNow, tick } from "../../lib/clock";
import { useData } from "../../lib/data";
import { baseline, clockTime, counted, shortTime, span } from "../../lib/format";
import { query, setQuery } from "../../lib/router";
import { Card, Empty, Legend, Loading, ProblemNotice, Source, Status, RelativeTime } from "../../ui/parts";
import { heading } from "../../ui/shell";
import type { PageProps } from "../page";
import "./endpoint.css";
import { Fact, RunDetails } from "./run";
import { asked, moved, zoomed, type Sight } from "./scales";
import { Steer } from "./steer";
import { TimelineChart, latest } from "./timeline";
import type { Endpoint, Foreseen, Plan, Point, Preview, Spell, Timeline } from "./types";
import { Why } from "./why";

const HOUR = 3_600_000;
const REACHES = [
  { name: "15 m", length: HOUR / 4 },
  { name: "1 h", length: HOUR },
  { name: "6 h", length: 6 * HOUR },
  { name: "1 d", length: 24 * HOUR },
  { name: "7 d", length: 7 * 24 * HOUR },
];
const LISTED = 25;
/** Closer to the present than this part of what is in sight, it is the present: time goes on meanwhile. */
const NEAR = 200;

export default function EndpointPage({ params }: PageProps): JSX.Element {
  const id = params["id"] ?? "";
  return <OneEndpoint key={id} id={id} />;
}

function OneEndpoint({ id }: { id: string }): JSX.Element {
  const path = `/v1/endpoints/${encodeURIComponent(id)}`;
  const concerns = { when: (change: { endpoints: Set<string>; steered: boolean }) => change.steered || change.endpoints.has(id) };
  const data = useData<Endpoint>(path, concerns);
  const plan = useData<Plan>(`${path}/plan`, concerns);
  const length = useSignal(HOUR);
  /** Somewhere in the past; undefined while it follows the present. */
  const held = useSignal<Sight | undefined>(undefined);
  const preview = useSignal<Preview | undefined>(undefined);
  void tick.value;
  const sight = held.value ?? latest(length.value);
  const timeline = useData<Timeline>(`${path}/timeline`, { ...concerns, query: { ...asked(sight), limit: 2_000 } });
  const endpoint = data.value.value;
  useEffect(() => {
    if (endpoint) heading.value = endpoint.name;
  }, [endpoint?.name]);
  const told = timeline.value.value;
  if (!endpoint) {
    const problem = data.problem.value;
    if (problem?.status === 404) return <Missing />;
    return problem ? <ProblemNotice problem={problem} retry={data.refresh} /> : <Loading what="the endpoint" />;
  }
  function look(next: Sight): void {
    const size = next.to - next.from;
    // Who comes back to the present follows it again.
    const back = next.to >= latest(size).to - size / NEAR && (held.value === undefined ? next.from >= sight.from : true);
    length.value = size;
    held.value = back ? undefined : next;
  }
  function refresh(): void {
    for (const one of [data, plan, timeline]) one.refresh();
  }
  const chosen = query.value.get("run") ?? undefined;
  const select = (run: string | null): void => setQuery({ run });
  return (
    <div class="stack endpoint-page">
      {data.problem.value && <ProblemNotice problem={data.problem.value} />}
      <Facts endpoint={endpoint} />
      <Card title="Cadence" aside={held.value ? `${clockTime(sight.from)} to ${clockTime(sight.to)}` : `last ${span(length.value * 0.85)}, live`}>
        <Sights sight={sight} live={held.value === undefined} onSight={look} onLive={() => (held.value = undefined)} onLength={(next) => { length.value = next; held.value = undefined; }} length={length.value} />
        {told ? (
          <TimelineChart
            endpoint={endpoint}
            timeline={told}
            foreseen={ahead(endpoint, preview.value)}
            wished={preview.value?.after.runs}
            sight={sight}
            onSight={look}
            selected={chosen}
            onSelect={select}
          />
        ) : (
          <Loading what="the timeline" />
        )}
        <Keys />
        {told && !told.complete && <p class="quiet">There were more runs than are drawn; zoom in to see each.</p>}
        <Marks />
      </Card>
      {chosen && <RunDetails id={chosen} endpoint={endpoint} spells={told?.spells ?? []} onClose={() => select(null)} />}
      <div class="endpoint-sides">
        <div class="stack">
          {plan.value.value && <Why plan={plan.value.value} />}
          <Hints endpoint={endpoint} timeline={told} />
        </div>
        <Steer endpoint={endpoint} onPreview={(next) => (preview.value = next)} onDone={refresh} />
      </div>
      {told && <Runs runs={told.runs} chosen={chosen} onSelect={select} />}
    </div>
  );
}

function ahead(endpoint: Endpoint, preview: Preview | undefined): Foreseen[] {
  if (preview) return preview.before.runs;
  return endpoint.next_run_at ? [{ at: endpoint.next_run_at, source: endpoint.next_source }] : [];
}

function Missing(): JSX.Element {
  return (
    <Empty title="There is no such endpoint">
      <p>
        It may have been deleted. <a href="/endpoints">See all endpoints</a>
      </p>
    </Empty>
  );
}

function Facts({ endpoint }: { endpoint: Endpoint }): JSX.Element {
  const { guard } = endpoint;
  const paused = endpoint.paused_until !== null && Date.parse(endpoint.paused_until) > serverNow();
  const hint = endpoint.interval_hint;
  const fresh = hint && Date.parse(hint.expires_at) > serverNow() ? hint : null;
  return (
    <Card
      title={`Job ${endpoint.job_id}`}
      aside={
        <span class="row">
          {endpoint.running && <span class="badge accent">running</span>}
          {!endpoint.enabled && <span class="badge warn">switched off</span>}
          {!endpoint.job_active && <span class="badge warn">its job is paused</span>}
          {paused && <span class="badge warn">paused</span>}
          {endpoint.failure_count > 0 && <span class="badge bad">{counted(endpoint.failure_count, "failure")} in a row</span>}
          {Object.entries(endpoint.labels).map(([name, value]) => (
            <span key={name} class="badge">{`${name}=${value}`}</span>
          ))}
        </span>
      }
    >
      {endpoint.description && <p class="muted">{endpoint.description}</p>}
      <dl class="facts">
        <Fact name="Next run">
          <RelativeTime at={endpoint.next_run_at} none="none" tense="next" /> <Source source={endpoint.next_source} />
        </Fact>
        <Fact name="Last run">
          <RelativeTime at={endpoint.last_run_at} tense="past" />
        </Fact>
        <Fact name="Baseline">{baseline(endpoint.baseline)}</Fact>
        <Fact name="Now">{fresh ? `every ${span(fresh.interval_ms)}, by a hint (${endpoint.hint_mode})` : "as its baseline says"}</Fact>
        <Fact name="Guard">
          {guard.min_interval_ms ? `at least ${span(guard.min_interval_ms)}` : "no least"}, {guard.max_interval_ms ? `at most ${span(guard.max_interval_ms)}` : "no most"}
        </Fact>
        <Fact name="Target" wide>
          <code class="wrap">{endpoint.target.kind === "http" ? `${endpoint.target.method ?? "GET"} ${endpoint.target.url ?? ""}` : endpoint.target.kind}</code>
        </Fact>
      </dl>
    </Card>
  );
}

interface SightsProps {
  sight: Sight;
  live: boolean;
  length: number;
  onSight: (sight: Sight) => void;
  onLive: () => void;
  onLength: (length: number) => void;
}

function Sights({ sight, live, length, onSight, onLive, onLength }: SightsProps): JSX.Element {
  const size = sight.to - sight.from;
  return (
    <div class="row sights" role="group" aria-label="What is in sight">
      {REACHES.map((reach) => (
        <button key={reach.name} class="button" type="button" aria-pressed={live && Math.abs(reach.length - length) < 1} onClick={() => onLength(reach.length)}>
          {reach.name}
        </button>
      ))}
      <span class="sights-moves">
        <button class="button" type="button" aria-label="Earlier" onClick={() => onSight(moved(sight, -size / 2))}>
          ←
        </button>
        <button class="button" type="button" aria-label="Later" onClick={() => onSight(moved(sight, size / 2))}>
          →
        </button>
        <button class="button" type="button" aria-label="Zoom out" onClick={() => onSight(zoomed(sight, 2))}>
          −
        </button>
        <button class="button" type="button" aria-label="Zoom in" onClick={() => onSight(zoomed(sight, 0.5))}>
          +
        </button>
        <button class="button" type="button" disabled={live} onClick={onLive}>
          Live
        </button>
      </span>
    </div>
  );
}

function Keys(): JSX.Element {
  return (
    <p class="quiet" id="timeline-keys">
      Drag to move, pinch or Ctrl and wheel to zoom. With the keyboard: ← → move, + − zoom, Home is now, Shift ← → go from run to run.
    </p>
  );
}

const MARKS = [
  { class: "source-baseline", label: "baseline" },
  { class: "source-hint", label: "interval hint" },
  { class: "source-one-shot", label: "one-shot" },
  { class: "source-clamped", label: "clamped by the guard" },
  { class: "source-paused", label: "after a pause" },
  { class: "source-other", label: "other" },
  { class: "mark-failure", label: "ring: failed" },
  { class: "mark-forbidden", label: "outside the guard" },
  { class: "mark-ahead", label: "to come" },
];

function Marks(): JSX.Element {
  return <Legend items={MARKS} />;
}

function Hints({ endpoint, timeline }: { endpoint: Endpoint; timeline: Timeline | undefined }): JSX.Element | null {
  const spells = (timeline?.spells ?? []).slice(-8).toReversed();
  if (spells.length === 0 && !endpoint.pause_reason) return null;
  const now = serverNow();
  return (
    <Card title="Hints and pauses" aside="in sight, newest first">
      <ul class="spells">
        {spells.map((spell, place) => (
          <li key={place}>
            <span class={`swatch source-${spell.kind === "interval" ? "hint" : spell.kind === "pause" ? "paused" : "one-shot"}`} />
            <div>
              <div>
                {spell.kind === "interval" ? `Every ${span(spell.interval_ms ?? 0)}` : spell.kind === "pause" ? "Paused" : `Once at ${clockTime(spell.at ?? spell.begin)}`}
                {holds(spell, now) && <span class="badge accent">holds</span>}
              </div>
              {spell.reason && <div class="reason">{spell.reason}</div>}
              <div class="quiet">
                {spell.origin}, {shortTime(spell.begin, now)} to {shortTime(spell.end, now)}
              </div>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** A one-shot holds until its moment has come. */
function holds(spell: Spell, now: number): boolean {
  const end = spell.kind === "one-shot" && spell.at ? spell.at : spell.end;
  return Date.parse(spell.begin) <= now && Date.parse(end) > now;
}

function Runs({ runs, chosen, onSelect }: { runs: Point[]; chosen: string | undefined; onSelect: (run: string) => void }): JSX.Element {
  const newest = runs.slice(-LISTED).toReversed();
  return (
    <Card title="Runs" aside={runs.length > LISTED ? `the newest ${LISTED} of ${counted(runs.length, "run")} in sight` : `${counted(runs.length, "run")} in sight`}>
      {newest.length === 0 ? (
        <p class="muted">Nothing ran in this time.</p>
      ) : (
        <table class="small-table runs">
          <thead>
            <tr>
              <th scope="col">Started</th>
              <th scope="col">Status</th>
              <th scope="col">Why then</th>
              <th scope="col">Took</th>
              <th scope="col" class="wide-only">Said</th>
            </tr>
          </thead>
          <tbody>
            {newest.map((run) => (
              <tr key={run.id} class={run.id === chosen ? "chosen" : ""}>
                <th scope="row">
                  <button class="link number" type="button" onClick={() => onSelect(run.id)}>
                    {clockTime(run.started_at ?? run.due_at)}
                  </button>
                </th>
                <td>
                  <Status status={run.status} />
                </td>
                <td>
                  <Source source={run.source} />
                </td>
                <td class="number">{span(run.duration_ms)}</td>
                <td class="wide-only clip">{run.error ?? run.reason ?? ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}
