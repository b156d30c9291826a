/** All closed runs, by status, job, endpoint, source and time. */

import type { JSX } from "preact";
import { counted } from "../../lib/format";
import { query } from "../../lib/router";
import { RunDrawer } from "../../run/drawer";
import { useRuns } from "../../run/run_list";
import { RunTable } from "../../run/table";
import { Card, Empty, Loading, ProblemNotice } from "../../ui/parts";
import { Filters, readFilter } from "./filters";

export default function RunsPage(): JSX.Element {
  return (
    <div class="stack">
      <Filters />
      <ClosedRuns />
      <RunDrawer />
    </div>
  );
}

function ClosedRuns(): JSX.Element {
  const filter = readFilter(query.value);
  const list = useRuns(filter);
  const items = list.items.value;
  const problem = list.problem.value;
  return (
    <Card
      title="Completed"
      aside={<span role="status">{items && `${counted(items.length, "run")} shown, newest first`}</span>}
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
