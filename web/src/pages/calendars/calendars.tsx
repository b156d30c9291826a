/** All calendars of the tenant. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Json } from "../../forms/fields";
import "../../forms/forms.css";
import { nameOf } from "../../forms/resource";
import { hasScope, type ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { CALENDARS } from "../../resources/calendars";
import { Card, Empty, Loading, ProblemNotice } from "../../ui/parts";

const PAGE_SIZE = 100;

export default function CalendarsPage(): JSX.Element {
  const cursors = useSignal<string[]>([]);
  const data = useData<ListPage<Json>>("/v1/calendars", { query: { limit: PAGE_SIZE, cursor: cursors.value.at(-1) }, when: (change) => change.steered });
  const page = data.value.value;
  const next = page?.next_cursor;
  const isEmpty = page?.items.length === 0 && cursors.value.length === 0;
  const create = hasScope("write") && (
    <a class="button primary" href="/calendars/new/new">
      New calendar
    </a>
  );
  return (
    <Card title="Calendars" aside={!isEmpty && create}>
      {data.problem.value && <ProblemNotice problem={data.problem.value} retry={data.refresh} />}
      {!page && !data.problem.value && <Loading what="calendars" />}
      {isEmpty && (
        <Empty title="No calendars yet">
          <p>{CALENDARS.about}</p>
          {create}
        </Empty>
      )}
      <ul class="records">
        {page?.items.map((item) => (
          <li key={item["id"] as string}>
            <div>
              <a href={CALENDARS.href!(item)}>{nameOf(CALENDARS, item)}</a>
              <div class="quiet">{CALENDARS.details(item)}</div>
            </div>
          </li>
        ))}
      </ul>
      <div class="row">
        {cursors.value.length > 0 && (
          <button class="button plain" type="button" onClick={() => (cursors.value = cursors.value.slice(0, -1))}>
            Previous page
          </button>
        )}
        {next && (
          <button class="button plain" type="button" onClick={() => (cursors.value = [...cursors.value, next])}>
            Next page
          </button>
        )}
      </div>
    </Card>
  );
}
