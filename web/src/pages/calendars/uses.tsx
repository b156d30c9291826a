/** What names a calendar. */

import type { JSX } from "preact";
import type { ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { Card, Loading, ProblemNotice } from "../../ui/parts";

interface Use {
  kind: "endpoint" | "job" | "programme";
  id: string;
}

const SHOWN = 100;
const ADDRESSES: Record<Use["kind"], string> = { endpoint: "/endpoints/", job: "/jobs/", programme: "/daily?programme=" };

export function Uses({ id }: { id: string }): JSX.Element {
  const data = useData<ListPage<Use>>(`/v1/calendars/${encodeURIComponent(id)}/uses`, { query: { limit: SHOWN }, when: (change) => change.steered });
  const page = data.value.value;
  return (
    <Card title="Used by">
      {data.problem.value && <ProblemNotice problem={data.problem.value} retry={data.refresh} />}
      {!page && !data.problem.value && <Loading what="what names it" />}
      {page?.items.length === 0 && <p class="muted">Nothing names it yet.</p>}
      <ul class="uses">
        {page?.items.map((use) => (
          <li key={`${use.kind} ${use.id}`}>
            <span class="quiet">{use.kind}</span> <a href={`${ADDRESSES[use.kind]}${encodeURIComponent(use.id)}`}>{use.id}</a>
          </li>
        ))}
      </ul>
      {page?.next_cursor && <p class="quiet">and more</p>}
    </Card>
  );
}
