/** All runs: in flight with their age, and closed ones by status, job, endpoint, source and time. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { counted } from "../../lib/format";
import { hasScope } from "../../lib/api";
import { query } from "../../lib/router";
import { RunDrawer } from "../../run/drawer";
import { Redrive } from "../../run/redrive";
import { useRuns } from "../../run/run_list";
import { RunTable } from "../../run/table";
import { Card, Empty, Loading, ProblemNotice } from "../../ui/parts";
import { Filters, readFilter } from "./filters";
import { InFlight } from "./in_flight";

export default function RunsPage(): JSX.Element {
  const filter = readFilter(query.value);
  const about = { job_id: filter.job_id, endpoint_id: filter.endpoint_id };
  return (
    <div class="stack">
      <Filters />
      <InFlight {...about} />
      <ClosedRuns />
      <RunDrawer />
    </div>
  );
}

function ClosedRuns(): JSX.Element {
  const filter = readFilter(query.value);
  const redriving = useSignal(false);
  const list = useRuns(filter);
  const items = list.items.value;
  const problem = list.problem.value;
  const narrowed = filter.endpoint_id !== undefined || filter.job_id !== undefined;
  const redrive = hasScope("steer") && narrowed && (
    <button class="button" type="button" onClick={() => (redriving.value = true)}>
      Redrive failed…
    </button>
  );
  return (
    <Card
      title="Completed"
      aside={
        <span class="row">
          <span role="status">{items && `${counted(items.length, "run")} shown, newest first`}</span>
          {redrive}
        </span>
      }
    >
      <div class="stack tight">
        {problem && <ProblemNotice problem={problem} retry={() => void list.refresh()} />}
        {!items && !problem && <Loading what="runs" />}
        {items?.length === 0 && <NoRuns more={list.cursor.value !== null} />}
        {items && items.length > 0 && <RunTable runs={items} label="Runs" />}
        {items && list.cursor.value && (
          <div>
            <button class="button" type="button" disabled={list.loading.value} onClick={() => void list.loadOlder()}>
              {items.length === 0 ? "Search further back" : "Load older"}
            </button>
          </div>
        )}
      </div>
      <Redrive about={{ endpoint_id: filter.endpoint_id, job_id: filter.job_id }} open={redriving.value} onClose={() => (redriving.value = false)} />
    </Card>
  );
}

function NoRuns({ more }: { more: boolean }): JSX.Element {
  return (
    <Empty title="No results">
      <p>{more ? "No run among the newest matches these filters." : "No run matches these filters. Runs are listed here when they end."}</p>
    </Empty>
  );
}
