/** The open run of a page, in a drawer: the address names it, so that the link can be shared. */

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { useData } from "../lib/data";
import type { Change } from "../lib/live";
import { query, setQuery } from "../lib/router";
import type { Endpoint, Run, Timeline } from "../pages/endpoint/types";
import { Drawer } from "../ui/drawer";
import { Loading, ProblemNotice } from "../ui/parts";
import { RunActions } from "./actions";
import { RunDetails } from "./details";
import "./run.css";

/** Shows the run of the address, if it names one. */
export function RunDrawer(): JSX.Element | null {
  const id = query.value.get("run");
  return id ? <OpenRun id={id} /> : null;
}

function OpenRun({ id }: { id: string }): JSX.Element {
  const endpointId = useRef<string | undefined>(undefined);
  const concerned = (change: Change): boolean => change.steered || endpointId.current === undefined || change.endpoints.has(endpointId.current);
  const data = useData<Run>(`/v1/runs/${encodeURIComponent(id)}`, { when: concerned, every: 15_000 });
  const run = data.value.value;
  endpointId.current = run?.endpoint_id;
  const path = run && `/v1/endpoints/${encodeURIComponent(run.endpoint_id)}`;
  const endpoint = useData<Endpoint>(path ?? null, { when: (change) => change.steered, every: 60_000 });
  const timeline = useData<Timeline>(path ? `${path}/timeline` : null, { query: run ? around(run) : {}, when: () => false, every: 60_000 });
  const problem = data.problem.value;
  return (
    <Drawer
      title={run ? `Run of ${endpoint.value.value?.name ?? run.endpoint_id}` : "Run"}
      name={id}
      class="run-details"
      onClose={() => setQuery({ run: null })}
      actions={run && <RunActions run={run} onDone={data.refresh} />}
    >
      {problem?.status === 404 ? (
        <p class="muted">This run was not found. Runs are deleted when they are older than the retention.</p>
      ) : (
        problem && <ProblemNotice problem={problem} retry={data.refresh} />
      )}
      {!run && !problem && <Loading what="the run" />}
      {run && <RunDetails run={run} endpoint={endpoint.value.value} endpointDeleted={endpoint.problem.value?.status === 404} periods={timeline.value.value?.spells ?? []} />}
    </Drawer>
  );
}

/** The time of a run, for the hints that were in force. */
function around(run: Run): Record<string, unknown> {
  const begin = Math.min(Date.parse(run.due_at), Date.parse(run.claimed_at));
  const end = Date.parse(run.finished_at ?? run.started_at ?? run.claimed_at) + 1;
  return { since: new Date(begin - 1).toISOString(), until: new Date(Math.max(end, begin + 1)).toISOString(), limit: 1 };
}
