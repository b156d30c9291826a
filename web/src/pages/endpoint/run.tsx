/** One run in detail: its cause, its request, and its response. */

import type { JSX } from "preact";
import { useData } from "../../lib/data";
import { counted, fullTime, span } from "../../lib/format";
import { Card, Loading, ProblemNotice, Source, Status } from "../../ui/parts";
import { startedAt } from "./scales";
import { describePeriod } from "./timeline";
import type { Endpoint, TimelineRun, Run, HintPeriod } from "./types";

interface Props {
  id: string;
  endpoint: Endpoint;
  periods: HintPeriod[];
  onClose: () => void;
}

export function RunDetails({ id, endpoint, periods, onClose }: Props): JSX.Element {
  const data = useData<Run>(`/v1/runs/${encodeURIComponent(id)}`, { when: (change) => change.endpoints.has(endpoint.id), every: 60_000 });
  const run = data.value.value;
  const problem = data.problem.value;
  return (
    <Card
      title="Run"
      class="run-details"
      aside={
        <button class="button plain" type="button" onClick={onClose}>
          Close
        </button>
      }
    >
      {problem && <ProblemNotice problem={problem} retry={data.refresh} />}
      {!run && !problem && <Loading what="the run" />}
      {run && <Details run={run} endpoint={endpoint} periods={periods} />}
    </Card>
  );
}

function Details({ run, endpoint, periods }: { run: Run; endpoint: Endpoint; periods: HintPeriod[] }): JSX.Element {
  return (
    <div class="stack">
      <dl class="facts">
        <Fact name="Status">
          <Status status={run.status} />
        </Fact>
        <Fact name="Why this time?">
          <Source source={run.source} />
        </Fact>
        <Fact name="Due">{fullTime(run.due_at)}</Fact>
        <Fact name="Started">{run.started_at ? `${fullTime(run.started_at)}, start delay ${span(run.late_ms)}` : "not started"}</Fact>
        <Fact name="Duration">{span(run.duration_ms)}</Fact>
        <Fact name="Attempt">
          {run.attempt}
          {!run.verdict && run.status ? ", not the final result for this due time" : ""}
          {run.coalesced > 0 ? `, also covers ${counted(run.coalesced, "missed due time")}` : ""}
        </Fact>
      </dl>
      <p>{explainMoment(run, periods)}</p>
      {run.reason && <p class="muted">{run.reason}</p>}
      {run.error && (
        <div>
          <h3>Error</h3>
          <pre class="text bad">{run.error}</pre>
        </div>
      )}
      {run.traceback && (
        <div>
          <h3>Traceback</h3>
          <pre class="text" tabIndex={0}>{run.traceback}</pre>
        </div>
      )}
      <div class="exchange">
        <div>
          <h3>Request (current definition)</h3>
          <pre class="text" tabIndex={0}>{request(endpoint)}</pre>
        </div>
        <div>
          <h3>Response</h3>
          <pre class="text" tabIndex={0}>{run.response === null ? "No response recorded." : pretty(run.response)}</pre>
        </div>
      </div>
    </div>
  );
}

export function Fact({ name, wide = false, children }: { name: string; wide?: boolean; children: preact.ComponentChildren }): JSX.Element {
  return (
    <div class={wide ? "whole" : ""}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const SOURCE_SENTENCES: Record<string, string> = {
  "baseline-cron": "Set by the cron expression.",
  "baseline-interval": "Set by the baseline interval, counted from the previous run.",
  "baseline-once": "Set by the one-time baseline.",
  "ai-interval": "An interval hint set this time.",
  "ai-oneshot": "A one-shot hint set this time.",
  "clamped-min": "Limited by minimum interval.",
  "clamped-max": "Limited by maximum interval.",
  paused: "A pause ended at this time.",
  first: "The first run after the endpoint was created.",
  manual: "A run was requested manually.",
  resume: "The endpoint was resumed and its next run recalculated.",
  retry: "Retry: the previous attempt failed.",
  quota: "A quota delayed the run until this time.",
};

/** Why a run came when it did, with the reason and the origin of its hint. */
function explainMoment(run: TimelineRun, periods: HintPeriod[]): string {
  const sentence = SOURCE_SENTENCES[run.source] ?? `Set by ${run.source}.`;
  const kinds = run.source === "ai-oneshot" ? ["one-shot"] : run.source === "paused" || run.source === "resume" ? ["pause"] : ["interval", "one-shot"];
  const at = startedAt(run);
  const due = Date.parse(run.due_at);
  const period = periods.findLast((one) => kinds.includes(one.kind) && Date.parse(one.begin) <= at && Date.parse(one.end) >= due - 1);
  if (run.source.startsWith("baseline") || !period) return sentence;
  const named = sentence.replace(/ (hint|pause) /, (noun) => `${noun}(${period.by}) `);
  return `${named.slice(0, -1)}: ${describePeriod(period)}.`;
}

function request(endpoint: Endpoint): string {
  const { kind, url, method, headers, body, ...rest } = endpoint.target;
  if (kind !== "http") return pretty({ kind, ...rest });
  const lines = [`${method ?? "GET"} ${url ?? ""}`, ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`)];
  if (body !== null && body !== undefined) lines.push("", typeof body === "string" ? body : pretty(body));
  return lines.join("\n");
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
