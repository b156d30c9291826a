/** All endpoints: how often each runs now, why, when next, and how its last runs ended. */

import { computed, effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { serverNow, tick } from "../../lib/clock";
import { baseline, compact, counted, distance, fullTime, isOpenEnded, span } from "../../lib/format";
import { useShortcut } from "../../lib/keys";
import { query, setQuery } from "../../lib/router";
import { NewEndpoint } from "./new_endpoint";
import { Empty, Loading, ProblemNotice, Source } from "../../ui/parts";
import { Spark } from "../../ui/spark";
import { Table, sortRows, type Column, type Order } from "../../ui/table";
import "./endpoints.css";
import { Rows, type Row } from "./rows";

const A_MONTH = 30 * 86_400_000;
const rows = new Rows();
const search = computed(() => (query.value.get("q") ?? "").trim().toLowerCase());
const order = computed<Order | undefined>(() => {
  const text = query.value.get("sort");
  return text ? { key: text.replace(/^-/, ""), descending: text.startsWith("-") } : undefined;
});

const COLUMNS: Column<Row>[] = [
  { key: "name", title: "Name", width: "minmax(96px, 2fr)", sortKey: (row) => row.name, phone: "minmax(0, 1fr)", cell: (row) => <Name row={row} /> },
  { key: "baseline", title: "Baseline", width: "minmax(90px, 1fr)", sortKey: (row) => baseline(row.baseline), cell: (row) => <span class="quiet clip" title={baseline(row.baseline)}>{baseline(row.baseline)}</span> },
  { key: "cadence", title: "Current interval", width: "minmax(96px, 0.9fr)", sortKey: (row) => row.cadence_ms ?? Infinity, cell: (row) => <Cadence row={row} /> },
  { key: "source", title: "Source", width: "minmax(120px, 1fr)", sortKey: (row) => row.next_source, cell: (row) => <Source source={row.next_source} /> },
  { key: "next", title: "Next run", width: "minmax(88px, 0.9fr)", sortKey: (row) => nextOf(row), phone: "92px", cell: (row) => <Next row={row} /> },
  { key: "results", title: "Last runs", width: "108px", sortKey: (row) => badShare(row), phone: "60px", cell: (row) => <Spark results={row.results} /> },
  { key: "hints", title: "Hints", width: "minmax(80px, 1.2fr)", sortKey: (row) => (row.interval_hint ? 0 : row.one_shot_hint ? 1 : 2), cell: (row) => <Hints row={row} /> },
];

const shown = signal<Row[]>([]);
effect(() => {
  const text = search.value;
  const found = text ? rows.all.value.filter((row) => row.searchText.includes(text)) : rows.all.value;
  shown.value = sortRows(found, COLUMNS, order.value ?? { key: "name", descending: false });
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
        order={order.value ?? { key: "name", descending: false }}
        onOrder={(next) => setQuery({ sort: `${next.descending ? "-" : ""}${next.key}` })}
        onVisibleRows={(visible) => (rows.visibleIds = visible.map((row) => row.id))}
        href={(row) => `/endpoints/${encodeURIComponent(row.id)}`}
      />
    </>
  );
}

function Name({ row }: { row: Row }): JSX.Element {
  return (
    <span class="endpoint-name">
      <span class="clip">{row.name}</span>
      <span class="quiet clip">{row.job_id}</span>
    </span>
  );
}

function Cadence({ row }: { row: Row }): JSX.Element {
  const own = row.baseline.kind === "every" ? row.baseline.interval_ms : undefined;
  if (row.cadence_ms === null) return <span class="quiet">same as baseline</span>;
  const changed = own !== undefined && own !== row.cadence_ms;
  return (
    <span class={changed ? "changed" : ""}>
      {span(row.cadence_ms)}
      {changed && <span class="quiet"> {row.cadence_ms < own ? "shorter" : "longer"}</span>}
    </span>
  );
}

function Next({ row }: { row: Row }): JSX.Element {
  void tick.value;
  if (row.running) return <span class="badge accent">running</span>;
  if (!row.active) return <span class="quiet">disabled</span>;
  if (row.paused_until) {
    const soon = Date.parse(row.paused_until) - serverNow() < A_MONTH;
    return (
      <span class="badge warn number" title={`Paused until ${isOpenEnded(row.paused_until) ? "resumed" : fullTime(row.paused_until)}. ${row.pause_reason ?? ""}`}>
        {soon ? `resumes ${distance(row.paused_until, serverNow())}` : "paused"}
      </span>
    );
  }
  if (row.next_source === "retired") {
    return (
      <span class="badge warn" title="No running worker declares its function. The endpoint is active again when one does.">
        retired
      </span>
    );
  }
  if (row.suspect) {
    return (
      <span class="badge warn" title="Its worker process died during a run. Until a run completes, it does not run together with other suspects.">
        suspect
      </span>
    );
  }
  if (!row.next_run_at) return <span class="quiet">finished</span>;
  return (
    <time class="number" dateTime={row.next_run_at} title={fullTime(row.next_run_at)}>
      {Date.parse(row.next_run_at) <= serverNow() ? "due" : distance(row.next_run_at, serverNow())}
    </time>
  );
}

function Hints({ row }: { row: Row }): JSX.Element | null {
  const { interval_hint: interval, one_shot_hint: once } = row;
  if (!interval && !once) return null;
  const reason = interval?.reason ?? once?.reason ?? "";
  const titles = [interval && `Interval hint (${interval.by})`, once && `One-shot hint (${once.by})`, reason];
  return (
    <span class="clip hint" title={titles.filter(Boolean).join("; ")}>
      {interval && <span class="swatch source-hint" />}
      {once && <span class="swatch source-one-shot" />}
      <span class="clip">{reason || (interval ? `every ${span(interval.interval_ms)}` : "one-shot")}</span>
    </span>
  );
}

function nextOf(row: Row): number {
  if (row.running) return -1;
  return row.active && row.next_run_at ? Date.parse(row.next_run_at) : Infinity;
}

function badShare(row: Row): number {
  return row.results.length ? row.results.filter((one) => one.status === "success").length / row.results.length : 2;
}
