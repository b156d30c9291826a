/** What planners thought, what they did, and what came of it. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { asProblem, callApi, type ListPage, type Problem } from "../../lib/api";
import { useData } from "../../lib/data";
import { compact, counted, span } from "../../lib/format";
import { Card, Loading, ProblemNotice, RelativeTime } from "../../ui/parts";
import type { Sitting, ToolCall } from "./types";

const PAGE = 30;

export function Sittings(): JSX.Element {
  const data = useData<ListPage<Sitting>>("/v1/analyses", { query: { limit: PAGE }, minGapMs: 3_000 });
  const older = useSignal<ListPage<Sitting> | undefined>(undefined);
  const wanted = useSignal("");
  const problem = useSignal<Problem | undefined>(undefined);
  const newest = data.value.value;
  if (!newest) return <Card title="Sittings">{data.problem.value ? <ProblemNotice problem={data.problem.value} /> : <Loading what="sittings" />}</Card>;
  const seen = new Set(newest.items.map((one) => one.id));
  const all = [...newest.items, ...(older.value?.items ?? []).filter((one) => !seen.has(one.id))];
  const shown = all.filter((one) => `${one.planner} ${one.endpoint_id} ${one.reasoning}`.toLowerCase().includes(wanted.value.trim().toLowerCase()));
  const cursor = older.value ? older.value.next_cursor : newest.next_cursor;
  async function more(): Promise<void> {
    try {
      const next = await callApi<ListPage<Sitting>>("GET", "/v1/analyses", { query: { limit: PAGE, cursor } });
      older.value = { items: [...(older.value?.items ?? newest!.items), ...next.items], next_cursor: next.next_cursor };
      problem.value = undefined;
    } catch (error) {
      problem.value = asProblem(error);
    }
  }
  return (
    <Card title="Sittings" aside="newest first">
      {all.length === 0 ? (
        <p class="muted">No planner has said anything yet. Planners sit after runs: rules, the learning planner and, where an endpoint wants it, a language model.</p>
      ) : (
        <div class="stack tight">
          <div class="search">
            <input type="search" aria-label="Search sittings" placeholder="Planner, endpoint or words" value={wanted.value} onInput={(event) => (wanted.value = event.currentTarget.value)} />
          </div>
          <ul class="sittings" aria-label="Sittings">
            {shown.map((one) => (
              <OneSitting key={one.id} sitting={one} />
            ))}
          </ul>
          {shown.length === 0 && <p class="muted">None of {all.length === 1 ? "this one" : `these ${all.length}`} says so.</p>}
          {problem.value && <ProblemNotice problem={problem.value} />}
          {cursor && (
            <div>
              <button class="button" type="button" onClick={() => void more()}>
                Older
              </button>
            </div>
          )}
        </div>
      )}
    </Card>
  );
}

const TRIGGERS: Record<string, string> = { run: "after a run", failure: "after a new failure", sibling: "after a sibling's change", due: "as it wanted to" };

function OneSitting({ sitting }: { sitting: Sitting }): JSX.Element {
  const tokens = sitting.tokens.input + sitting.tokens.output;
  return (
    <li>
      <details>
        <summary>
          <span class="badge">{sitting.planner}</span>
          <span class="clip">
            <span class="muted">{sitting.endpoint_id}</span> {firstWords(sitting)}
          </span>
          <span class="quiet sitting-facts">
            {sitting.shadow && <span class="badge">shadow</span>}
            {sitting.error && <span class="badge bad">failed</span>}
            {sitting.calls.length > 0 && <span class="badge accent">{counted(sitting.calls.length, "call")}</span>}
            {tokens > 0 && <span class="number">{counted(tokens, "token")}</span>}
            <RelativeTime at={sitting.began_at} tense="past" />
          </span>
        </summary>
        <div class="stack tight sitting-body">
          <p class="quiet">
            About <a href={`/endpoints/${encodeURIComponent(sitting.endpoint_id)}`}>{sitting.endpoint_id}</a>, {TRIGGERS[sitting.trigger] ?? sitting.trigger}; it took {span(sitting.duration_ms)}
            {tokens > 0 && `, read ${compact(sitting.tokens.input)} and wrote ${compact(sitting.tokens.output)} tokens`}
            {sitting.look_again_at && (
              <>
                ; looks again <RelativeTime at={sitting.look_again_at} />
              </>
            )}
            .
          </p>
          {sitting.reasoning && <p class="reasoning">{sitting.reasoning}</p>}
          {sitting.error && <pre class="text bad">{sitting.error}</pre>}
          {sitting.calls.map((call, place) => (
            <Call key={place} call={call} />
          ))}
        </div>
      </details>
    </li>
  );
}

function firstWords(sitting: Sitting): string {
  return sitting.reasoning || sitting.error || sitting.calls.map((call) => call.tool).join(", ") || "nothing to say";
}

function Call({ call }: { call: ToolCall }): JSX.Element {
  return (
    <div class="call">
      <code>
        {call.tool}({Object.entries(call.arguments).map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ")})
      </code>{" "}
      <span class="quiet">on {call.endpoint_id}</span>
      <div class={call.error ? "refused" : "quiet"}>{call.error ? `Refused: ${call.error}` : call.result}</div>
    </div>
  );
}
