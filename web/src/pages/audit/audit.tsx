/** The audit: who changed, steered or logged in, from which surface, with the difference. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { asProblem, callApi, hasScope, type ListPage, type Problem } from "../../lib/api";
import { useData } from "../../lib/data";
import { counted, fullTime, localZone } from "../../lib/format";
import { query, setQuery } from "../../lib/router";
import { RANGES, utc } from "../../run/time_range";
import { Card, Empty, Loading, ProblemNotice, RelativeTime } from "../../ui/parts";
import { Choice, DateFilter, TextFilter } from "../runs/filters";
import "./audit.css";
import { Export } from "./export";
import { RecordDrawer } from "./record";
import { Outcome, Subject } from "./subject";
import { operationName, type AuditRecord } from "./types";

const LIMIT = 50;
const SURFACES = ["rest", "cli", "mcp", "dashboard", "agent", "program"];
const KINDS = ["endpoint", "job", "rule", "run", "alert", "key", "session", "user", "agent", "schedule", "secret", "daily_user", "tenant"];

/** The filter that the address holds, as the API takes it. */
export function auditFilter(from: URLSearchParams): Record<string, string | undefined> {
  const within = RANGES.find((one) => one.name === from.get("within"))?.ms;
  return {
    who: from.get("who") || undefined,
    surface: from.get("surface") || undefined,
    operation: from.get("operation")?.trim().toLowerCase().replaceAll(" ", "_") || undefined,
    subject_kind: from.get("kind") || undefined,
    subject_id: from.get("id") || undefined,
    // On a grid of minutes, so that the address of the request is the same for a while.
    since: within === undefined ? utc(from.get("since")) : new Date(Math.floor((Date.now() - within) / 60_000) * 60_000).toISOString(),
    until: within === undefined ? utc(from.get("until")) : undefined,
  };
}

export default function AuditPage(): JSX.Element {
  if (!hasScope("admin")) {
    return (
      <Empty title="Not allowed">
        <p>The audit needs a key with the admin scope.</p>
      </Empty>
    );
  }
  return (
    <div class="stack">
      <Filters />
      <Records />
      <RecordDrawer />
    </div>
  );
}

function Filters(): JSX.Element {
  const between = query.value.get("within") === "between";
  return (
    <div class="filters" role="search" aria-label="Filter the audit">
      <TextFilter label="Who" name="who" />
      <Choice label="Surface" name="surface" none="any surface" options={SURFACES.map((one) => [one, one])} />
      <TextFilter label="Operation" name="operation" />
      <Choice label="Kind" name="kind" none="any kind" options={KINDS.map((one) => [one, one.replaceAll("_", " ")])} />
      <TextFilter label="Id" name="id" />
      <Choice label="Time" name="within" none="any time" options={[...RANGES.map(({ name }): [string, string] => [name, `last ${name}`]), ["between", "between…"]]} />
      {between && <DateFilter label={`From (${localZone()})`} name="since" />}
      {between && <DateFilter label={`Until (${localZone()})`} name="until" />}
    </div>
  );
}

function Records(): JSX.Element {
  const filter = auditFilter(query.value);
  const key = JSON.stringify(filter);
  return <FilteredRecords key={key} filter={filter} />;
}

function FilteredRecords({ filter }: { filter: Record<string, string | undefined> }): JSX.Element {
  const data = useData<ListPage<AuditRecord>>("/v1/audit", { query: { ...filter, limit: LIMIT }, when: (change) => change.steered, minGapMs: 3_000 });
  const older = useSignal<ListPage<AuditRecord> | undefined>(undefined);
  const olderProblem = useSignal<Problem | undefined>(undefined);
  const newest = data.value.value;
  const problem = data.problem.value ?? olderProblem.value;
  const seen = new Set(newest?.items.map((one) => one.id));
  const items = [...(newest?.items ?? []), ...(older.value?.items ?? []).filter((one) => !seen.has(one.id))];
  const cursor = older.value ? older.value.next_cursor : newest?.next_cursor;
  async function loadOlder(): Promise<void> {
    try {
      const page = await callApi<ListPage<AuditRecord>>("GET", "/v1/audit", { query: { ...filter, limit: LIMIT, cursor } });
      // What is shown stays: newer records push it off the first page.
      older.value = { items: [...items, ...page.items], next_cursor: page.next_cursor };
      olderProblem.value = undefined;
    } catch (error) {
      olderProblem.value = asProblem(error);
    }
  }
  return (
    <Card
      title="Changes"
      aside={
        <span class="row">
          <span role="status">{newest && `${counted(items.length, "record")} shown, newest first`}</span>
          <Export filter={filter} />
        </span>
      }
    >
      <div class="stack tight">
        {problem && <ProblemNotice problem={problem} retry={data.refresh} />}
        {!newest && !problem && <Loading what="the audit" />}
        {newest && items.length === 0 && <Empty title="No results">Nothing matches these filters.</Empty>}
        {items.length > 0 && <RecordTable items={items} />}
        {cursor && (
          <div>
            <button class="button" type="button" onClick={() => void loadOlder()}>
              Load older
            </button>
          </div>
        )}
      </div>
    </Card>
  );
}

function RecordTable({ items }: { items: AuditRecord[] }): JSX.Element {
  const chosen = query.value.get("record");
  return (
    <table class="small-table runs audit" aria-label="Audit records">
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Who</th>
          <th scope="col">Operation</th>
          <th scope="col">Subject</th>
          <th scope="col" class="wide-only">Surface</th>
          <th scope="col" class="wide-only">Difference</th>
        </tr>
      </thead>
      <tbody>
        {items.map((record) => (
          <tr key={record.id} class={record.id === chosen ? "chosen" : ""}>
            <th scope="row">
              <button class="link number" type="button" title={fullTime(record.at)} onClick={() => setQuery({ record: record.id })}>
                <RelativeTime at={record.at} tense="past" />
              </button>
            </th>
            <td class="clip" title={record.who}>{record.name ?? record.by}</td>
            <td>
              {operationName(record.operation)} <Outcome outcome={record.outcome} />
            </td>
            <td class="clip">
              <Subject record={record} />
            </td>
            <td class="wide-only">{record.surface}</td>
            <td class="wide-only clip">{record.changes.map((one) => one.field).join(", ")}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
