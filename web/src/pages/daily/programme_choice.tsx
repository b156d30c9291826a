/** Which daily programme the page is about; there is nothing to choose where there is one alone. */

import type { JSX } from "preact";
import type { ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { setQuery } from "../../lib/router";
import { DAILY } from "../../resources/daily";

const MOST_PROGRAMMES = 101;

export function ProgrammeChoice({ programme }: { programme: string }): JSX.Element | null {
  const data = useData<ListPage<{ id: string; name: string | null }>>("/v1/daily/programmes", { query: { limit: MOST_PROGRAMMES }, when: (change) => change.steered, every: 60_000 });
  const found = data.value.value?.items ?? [];
  if (found.length < 2 && programme === DAILY) return null;
  return (
    <label class="row day-choice">
      <span>Programme</span>
      <select class="pick" value={programme} onChange={(event) => setQuery({ programme: event.currentTarget.value === DAILY ? null : event.currentTarget.value })}>
        {!found.some((one) => one.id === programme) && <option value={programme}>{programme}</option>}
        {found.map((one) => (
          <option key={one.id} value={one.id}>
            {one.name ?? one.id}
          </option>
        ))}
      </select>
    </label>
  );
}
