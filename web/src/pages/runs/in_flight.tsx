/** Runs in flight: what runs or waits now, with its age, the oldest first. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { hasScope, type ListPage } from "../../lib/api";
import { serverNow, tick } from "../../lib/clock";
import { useData } from "../../lib/data";
import { counted, fullTime, localZone, span, UNTIL_RESUMED } from "../../lib/format";
import { CancelDialog } from "../../run/actions";
import { Kind, RunLink, RunTime } from "../../run/link";
import { Card, ProblemNotice, Source } from "../../ui/parts";

interface OpenRun {
  id: string;
  job_id: string;
  endpoint_id: string;
  slot: string;
  /** Null while something must change first, such as a job that is paused. */
  due_at: string | null;
  attempt: number;
  source: string;
  kind: string;
  /** Null for a requested run that no worker has yet. */
  claimed_at: string | null;
  started_at: string | null;
  waiting: boolean;
  cancelling: boolean;
}

const LIMIT = 50;

interface Props {
  job_id?: string | undefined;
  endpoint_id?: string | undefined;
}

export function InFlight({ job_id, endpoint_id }: Props): JSX.Element | null {
  const data = useData<ListPage<OpenRun>>("/v1/runs/open", { query: { job_id, endpoint_id, limit: LIMIT }, every: 3_000 });
  const cancelling = useSignal<OpenRun | undefined>(undefined);
  const problem = data.problem.value;
  const items = data.value.value?.items.toSorted((one, other) => startOf(one) - startOf(other)) ?? [];
  const more = data.value.value?.next_cursor ? " or more" : "";
  return (
    <Card title="In flight" aside={data.value.value && `${counted(items.length, "run")}${more}, oldest first`}>
      {problem && <ProblemNotice problem={problem} retry={data.refresh} />}
      {items.length === 0 && !problem && <p class="muted">No run is in flight.</p>}
      {items.length > 0 && <OpenRuns items={items} onCancel={(run) => (cancelling.value = run)} />}
      <CancelDialog run={cancelling.value} onClose={() => (cancelling.value = undefined)} onDone={data.refresh} />
    </Card>
  );
}

/** Requested runs that wait have not begun, and come last. */
const startOf = (run: OpenRun): number => Date.parse(run.started_at ?? run.claimed_at ?? UNTIL_RESUMED);

function OpenRuns({ items, onCancel }: { items: OpenRun[]; onCancel: (run: OpenRun) => void }): JSX.Element {
  return (
    <table class="small-table runs" aria-label="Runs in flight">
      <thead>
        <tr>
          <th scope="col">Due ({localZone()})</th>
          <th scope="col">Age</th>
          <th scope="col">Endpoint</th>
          <th scope="col" class="wide-only">Job</th>
          <th scope="col" class="wide-only">Why this time?</th>
          <th scope="col">
            <span class="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {items.map((run) => (
          <tr key={run.id}>
            <th scope="row">
              {run.claimed_at ? <RunLink id={run.id} at={run.slot} /> : <RunTime at={run.slot} />}
            </th>
            <td class="number">
              <Age run={run} /> <Kind kind={run.kind} />
            </td>
            <td class="clip">
              <a href={`/endpoints/${encodeURIComponent(run.endpoint_id)}`}>{run.endpoint_id}</a>
            </td>
            <td class="wide-only clip">
              <a href={`/jobs/${encodeURIComponent(run.job_id)}`}>{run.job_id}</a>
            </td>
            <td class="wide-only">
              <Source source={run.source} />
            </td>
            <td>
              {run.cancelling && <span class="badge warn">cancelling</span>}
              {hasScope("steer") && !run.cancelling && (
                <button class="button plain" type="button" aria-label={`Cancel the run of ${run.endpoint_id}`} onClick={() => onCancel(run)}>
                  Cancel
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Age({ run }: { run: OpenRun }): JSX.Element {
  void tick.value;
  if (!run.claimed_at) return <span title={run.due_at ? `Can start from ${fullTime(run.due_at)}` : "Something must change first, such as a paused job."}>requested, waiting</span>;
  const age = Math.max(0, serverNow() - startOf(run));
  const shown = span(Math.floor(age / 1_000) * 1_000);
  return <span>{run.waiting || !run.started_at ? `waiting ${shown}` : shown}</span>;
}
