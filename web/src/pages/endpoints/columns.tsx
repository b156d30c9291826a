/** The columns of a table of endpoints. */

import type { JSX } from "preact";
import { serverNow, tick } from "../../lib/clock";
import { baseline, counted, distance, fullTime, isOpenEnded, span } from "../../lib/format";
import { Source } from "../../ui/parts";
import { Spark } from "../../ui/spark";
import { sortRows, type Column, type Order } from "../../ui/table";
import "./endpoints.css";
import { isFailing, type Row } from "./rows";

const A_MONTH = 30 * 86_400_000;

export const COLUMNS: Column<Row>[] = [
  { key: "name", title: "Name", width: "minmax(96px, 2fr)", sortKey: (row) => row.name, phone: "minmax(0, 1fr)", cell: (row) => <Name row={row} /> },
  { key: "baseline", title: "Baseline", width: "minmax(90px, 1fr)", sortKey: (row) => baseline(row.baseline), cell: (row) => <span class="quiet clip" title={baseline(row.baseline)}>{baseline(row.baseline)}</span> },
  { key: "cadence", title: "Current interval", width: "minmax(112px, 0.9fr)", sortKey: (row) => row.cadence_ms ?? Infinity, cell: (row) => <Cadence row={row} /> },
  { key: "source", title: "Source", width: "minmax(120px, 1fr)", sortKey: (row) => row.next_source, cell: (row) => <Source source={row.next_source} /> },
  { key: "next", title: "Next run", width: "minmax(88px, 0.9fr)", sortKey: (row) => nextOf(row), phone: "104px", cell: (row) => <Next row={row} /> },
  { key: "results", title: "Last runs", width: "108px", sortKey: (row) => badShare(row), phone: "60px", cell: (row) => <Spark results={row.results} /> },
  { key: "hints", title: "Hints", width: "minmax(80px, 1.2fr)", sortKey: (row) => (row.interval_hint ? 0 : row.one_shot_hint ? 1 : 2), cell: (row) => <Hints row={row} /> },
];


/** Rows in the order of a column; without one, failing endpoints first, then by name. */
export function orderRows(rows: Row[], order: Order | undefined): Row[] {
  if (order) return sortRows(rows, COLUMNS, order);
  const byName = sortRows(rows, COLUMNS, { key: "name", descending: false });
  return [...byName.filter(isFailing), ...byName.filter((row) => !isFailing(row))];
}

function Name({ row }: { row: Row }): JSX.Element {
  return (
    <span class="endpoint-name">
      <span class="clip">{row.name}</span>
      <span class="quiet clip">
        {isFailing(row) && <span class="failing" title={counted(row.failure_count, "consecutive failure")}>failing ({row.failure_count}) </span>}
        {row.job_id}
      </span>
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
  if (row.next_source === "closed" && row.next_run_at) {
    return (
      <span class="badge warn number" title={`Its calendar is closed: the run that is due at ${fullTime(row.next_run_at)} is skipped.`}>
        skips {distance(row.next_run_at, serverNow())}
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
