/** One run in detail: its cause, the hints in force, its request, and its response. */

import type { ComponentChildren, JSX } from "preact";
import { counted, fullTime, isOpenEnded, shortTime, span } from "../lib/format";
import { serverNow } from "../lib/clock";
import type { Endpoint, HintPeriod, Run } from "../pages/endpoint/types";
import { RelativeTime, Source, Status } from "../ui/parts";
import { describePeriod, explainMoment, inForce, pretty, requestText } from "./explain";
import { Kind } from "./link";

interface Props {
  run: Run;
  /** Undefined while it is loaded, or if it was deleted. */
  endpoint: Endpoint | undefined;
  endpointDeleted: boolean;
  periods: HintPeriod[];
}

export function RunDetails({ run, endpoint, endpointDeleted, periods }: Props): JSX.Element {
  return (
    <div class="stack run-facts">
      <dl class="facts">
        <Fact name="Status">
          <Status status={run.status} /> <Kind kind={run.kind} />
        </Fact>
        <Fact name="Endpoint">
          <a href={`/endpoints/${encodeURIComponent(run.endpoint_id)}`}>{endpoint?.name ?? run.endpoint_id}</a>
        </Fact>
        <Fact name="Job">
          <a href={`/jobs/${encodeURIComponent(run.job_id)}`}>{run.job_id}</a>
        </Fact>
        <Fact name="Attempt">
          {run.attempt}
          {!run.verdict && run.status ? ", not the final result for this due time" : ""}
          {run.coalesced > 0 ? `, also covers ${counted(run.coalesced, "missed due time")}` : ""}
        </Fact>
        <Fact name="Due">{fullTime(run.due_at)}</Fact>
        <Fact name="Started">{run.started_at ? `${fullTime(run.started_at)}, start delay ${span(run.late_ms)}` : "not started"}</Fact>
        <Fact name="Duration">{run.status ? span(run.duration_ms) : run.started_at ? <>started <RelativeTime at={run.started_at} tense="past" /></> : "not started"}</Fact>
        <Fact name="Run id">
          <code>{run.id}</code>
        </Fact>
      </dl>
      <Section title="Why this time?">
        <p>
          <Source source={run.source} /> {explainMoment(run, periods)}
        </p>
        <HintsInForce periods={inForce(run, periods)} />
      </Section>
      {run.reason && <Section title="Reason"><p>{run.reason}</p></Section>}
      {run.error && <Section title="Error"><pre class="text bad">{run.error}</pre></Section>}
      {run.traceback && (
        <Section title="Traceback">
          <pre class="text" tabIndex={0}>{run.traceback}</pre>
        </Section>
      )}
      <Section title="Request (current definition)">
        {endpoint ? <pre class="text" tabIndex={0}>{requestText(endpoint)}</pre> : <p class="quiet">{endpointDeleted ? "The endpoint was deleted." : "Loading…"}</p>}
      </Section>
      <Section title="Response">
        <pre class="text" tabIndex={0}>{run.response === null ? "No response recorded." : pretty(run.response)}</pre>
      </Section>
    </div>
  );
}

function HintsInForce({ periods }: { periods: HintPeriod[] }): JSX.Element {
  if (periods.length === 0) return <p class="quiet">No hint or pause was in force.</p>;
  const now = serverNow();
  return (
    <>
      <p class="quiet">In force then:</p>
      <ul class="hints-in-force">
        {periods.map((period, index) => (
          <li key={index}>
            <span class={`swatch source-${period.kind === "interval" ? "hint" : period.kind === "pause" ? "paused" : "one-shot"}`} />
            <span>
              {describePeriod(period)}{" "}
              <span class="quiet">
                ({period.by}, from {shortTime(period.begin, now)} {isOpenEnded(period.end) ? "until resumed" : `to ${shortTime(period.end, now)}`})
              </span>
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Section({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

export function Fact({ name, wide = false, children }: { name: string; wide?: boolean; children: ComponentChildren }): JSX.Element {
  return (
    <div class={wide ? "whole" : ""}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
