/** Analyses of planners: their reasoning, their tool calls, and the results. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { asProblem, callApi, type ListPage, type Problem } from "../../lib/api";
import { useData } from "../../lib/data";
import { compact, counted, span } from "../../lib/format";
import { Card, Loading, ProblemNotice, RelativeTime } from "../../ui/parts";
import type { Analysis, ToolCall } from "./types";

const PAGE_SIZE = 30;

export function Analyses(): JSX.Element {
  const data = useData<ListPage<Analysis>>("/v1/analyses", { query: { limit: PAGE_SIZE }, minGapMs: 3_000 });
  const older = useSignal<ListPage<Analysis> | undefined>(undefined);
  const search = useSignal("");
  const problem = useSignal<Problem | undefined>(undefined);
  const newest = data.value.value;
  if (!newest) return <Card title="Planner evaluations">{data.problem.value ? <ProblemNotice problem={data.problem.value} /> : <Loading what="planner evaluations" />}</Card>;
  const seen = new Set(newest.items.map((one) => one.id));
  const all = [...newest.items, ...(older.value?.items ?? []).filter((one) => !seen.has(one.id))];
  const shown = all.filter((one) => `${one.planner} ${one.endpoint_id} ${one.reasoning}`.toLowerCase().includes(search.value.trim().toLowerCase()));
  const cursor = older.value ? older.value.next_cursor : newest.next_cursor;
  async function more(): Promise<void> {
    try {
      const next = await callApi<ListPage<Analysis>>("GET", "/v1/analyses", { query: { limit: PAGE_SIZE, cursor } });
      older.value = { items: [...(older.value?.items ?? newest!.items), ...next.items], next_cursor: next.next_cursor };
      problem.value = undefined;
    } catch (error) {
      problem.value = asProblem(error);
    }
  }
  return (
    <Card title="Planner evaluations" aside="newest first">
      {all.length === 0 ? (
        <p class="muted">No results yet. Planners evaluate completed runs: rules, the learning planner and, where an endpoint allows it, an LLM planner.</p>
      ) : (
        <div class="stack tight">
          <div class="search">
            <input type="search" aria-label="Search planner evaluations" placeholder="Planner, endpoint or text" value={search.value} onInput={(event) => (search.value = event.currentTarget.value)} />
          </div>
          <ul class="analyses" aria-label="Planner evaluations">
            {shown.map((one) => (
              <AnalysisItem key={one.id} analysis={one} />
            ))}
          </ul>
          {shown.length === 0 && <p class="muted">No matches in the {counted(all.length, "evaluation")} loaded.</p>}
          {problem.value && <ProblemNotice problem={problem.value} />}
          {cursor && (
            <div>
              <button class="button" type="button" onClick={() => void more()}>
                Load older
              </button>
            </div>
          )}
        </div>
      )}
    </Card>
  );
}

const TRIGGERS: Record<string, string> = { run: "after a run", failure: "after a new failure", sibling: "after a change of another endpoint of the job", due: "at a time the planner had chosen" };

function AnalysisItem({ analysis }: { analysis: Analysis }): JSX.Element {
  const tokens = analysis.tokens.input + analysis.tokens.output;
  return (
    <li>
      <details>
        <summary>
          <span class="badge">{analysis.planner}</span>
          <span class="clip">
            <span class="muted">{analysis.endpoint_id}</span> {summary(analysis)}
          </span>
          <span class="quiet analysis-facts">
            {analysis.shadow && <span class="badge">dry run</span>}
            {analysis.error && <span class="badge bad">failed</span>}
            {analysis.calls.length > 0 && <span class="badge accent">{counted(analysis.calls.length, "call")}</span>}
            {tokens > 0 && <span class="number">{counted(tokens, "token")}</span>}
            <RelativeTime at={analysis.began_at} tense="past" />
          </span>
        </summary>
        <div class="stack tight analysis-body">
          <p class="quiet">
            Endpoint <a href={`/endpoints/${encodeURIComponent(analysis.endpoint_id)}`}>{analysis.endpoint_id}</a>, {TRIGGERS[analysis.trigger] ?? analysis.trigger}; duration {span(analysis.duration_ms)}
            {tokens > 0 && `; ${compact(analysis.tokens.input)} input tokens, ${compact(analysis.tokens.output)} output tokens`}
            {analysis.look_again_at && (
              <>
                ; next evaluation <RelativeTime at={analysis.look_again_at} />
              </>
            )}
            .
          </p>
          {analysis.reasoning && <p class="reasoning">{analysis.reasoning}</p>}
          {analysis.error && <pre class="text bad">{analysis.error}</pre>}
          {analysis.calls.map((call, index) => (
            <Call key={index} call={call} />
          ))}
        </div>
      </details>
    </li>
  );
}

function summary(analysis: Analysis): string {
  return analysis.reasoning || analysis.error || analysis.calls.map((call) => call.tool).join(", ") || "no reason given";
}

function Call({ call }: { call: ToolCall }): JSX.Element {
  return (
    <div class="call">
      <code>
        {call.tool}({Object.entries(call.arguments).map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ")})
      </code>{" "}
      <span class="quiet">on {call.endpoint_id}</span>
      <div class={call.error ? "refused" : "quiet"}>{call.error ? `Rejected: ${call.error}` : call.result}</div>
    </div>
  );
}
