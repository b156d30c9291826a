/** All endpoints: how often each runs now, why, when next, and how its last runs ended. */

import { computed, effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { compact, counted } from "../../lib/format";
import { useShortcut } from "../../lib/keys";
import { query, setQuery } from "../../lib/router";
import { Empty, Loading, ProblemNotice } from "../../ui/parts";
import { Table, type Order } from "../../ui/table";
import { COLUMNS, orderRows } from "./columns";
import "./endpoints.css";
import { NewEndpoint } from "./new_endpoint";
import { isFailing, Rows, type Row } from "./rows";

const rows = new Rows();
const search = computed(() => (query.value.get("q") ?? "").trim().toLowerCase());
const onlyFailing = computed(() => query.value.get("state") === "failing");
const order = computed<Order | undefined>(() => {
  const text = query.value.get("sort");
  return text ? { key: text.replace(/^-/, ""), descending: text.startsWith("-") } : undefined;
});

const shown = signal<Row[]>([]);
effect(() => {
  const text = search.value;
  const found = text ? rows.all.value.filter((row) => row.searchText.includes(text)) : rows.all.value;
  shown.value = orderRows(onlyFailing.value ? found.filter(isFailing) : found, order.value);
});

export default function EndpointsPage(): JSX.Element {
  const searchInput = useRef<HTMLInputElement>(null);
  useEffect(() => rows.follow(), []);
  useShortcut("/", "Search endpoints", () => searchInput.current?.focus());
  return (
    <div class="stack endpoints">
      <div class="row spread">
        <label class="search">
          <span class="visually-hidden">Search endpoints</span>
          <input
            ref={searchInput}
            type="search"
            placeholder="Search by name, id, job, label, source"
            value={query.value.get("q") ?? ""}
            onInput={(event) => setQuery({ q: event.currentTarget.value })}
          />
        </label>
        <Failing />
        <span class="quiet number" role="status">
          {shown.value.length === rows.all.value.length ? counted(shown.value.length, "endpoint") : `${compact(shown.value.length)} of ${counted(rows.all.value.length, "endpoint")}`}
          {rows.loading.value && ", loading more…"}
        </span>
        {rows.all.value.length > 0 && <NewEndpoint />}
      </div>
      <Body />
    </div>
  );
}

function Failing(): JSX.Element | null {
  const count = rows.all.value.filter(isFailing).length;
  if (count === 0 && !onlyFailing.value) return null;
  return (
    <button class="button" type="button" aria-pressed={onlyFailing.value} onClick={() => setQuery({ state: onlyFailing.value ? null : "failing" })}>
      <span class="swatch status-failure" /> {compact(count)} failing
    </button>
  );
}

function Body(): JSX.Element {
  const problem = rows.problem.value;
  if (rows.all.value.length === 0) {
    if (problem) return <ProblemNotice problem={problem} retry={() => rows.reload()} />;
    if (rows.loading.value) return <Loading what="endpoints" />;
    return (
      <Empty title="No endpoints yet">
        <p>An endpoint is a target that runs on a schedule: an HTTP request, a function, or a heartbeat that is expected.</p>
        <NewEndpoint />
      </Empty>
    );
  }
  if (shown.value.length === 0) return <Empty title="No matching endpoints" />;
  return (
    <>
      {problem && <ProblemNotice problem={problem} retry={() => rows.reload()} />}
      <Table
        label="Endpoints"
        columns={COLUMNS}
        rows={shown.value}
        id={(row) => row.id}
        order={order.value}
        onOrder={(next) => setQuery({ sort: `${next.descending ? "-" : ""}${next.key}` })}
        onVisibleRows={(visible) => (rows.visibleIds = visible.map((row) => row.id))}
        href={(row) => `/endpoints/${encodeURIComponent(row.id)}`}
      />
    </>
  );
}
