/** A list of runs, newest first; each opens beside it. */

import type { JSX } from "preact";
import { localZone, span } from "../lib/format";
import { query } from "../lib/router";
import type { Run } from "../pages/endpoint/types";
import { Source, Status } from "../ui/parts";
import { Kind, RunLink } from "./link";
import "./run.css";

export type ListedRun = Pick<Run, "id" | "job_id" | "endpoint_id" | "due_at" | "started_at" | "source" | "status" | "kind" | "duration_ms" | "error" | "reason">;

interface Props {
  runs: ListedRun[];
  label: string;
  /** What the page is about, and what therefore needs no column. */
  without?: ("endpoint" | "job")[];
}

export function RunTable({ runs, label, without = [] }: Props): JSX.Element {
  const chosen = query.value.get("run");
  const endpoint = !without.includes("endpoint");
  const job = !without.includes("job");
  return (
    <table class="small-table runs" aria-label={label}>
      <thead>
        <tr>
          <th scope="col">Started ({localZone()})</th>
          <th scope="col">Status</th>
          {endpoint && <th scope="col">Endpoint</th>}
          {job && <th scope="col" class="wide-only">Job</th>}
          <th scope="col" class={endpoint ? "wide-only" : ""}>Why this time?</th>
          <th scope="col">Duration</th>
          <th scope="col" class="wide-only">Error</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <tr key={run.id} class={run.id === chosen ? "chosen" : ""}>
            <th scope="row">
              <RunLink id={run.id} at={run.started_at ?? run.due_at} />
            </th>
            <td>
              <Status status={run.status} /> <Kind kind={run.kind} />
            </td>
            {endpoint && (
              <td class="clip">
                <a href={`/endpoints/${encodeURIComponent(run.endpoint_id)}`}>{run.endpoint_id}</a>
              </td>
            )}
            {job && (
              <td class="wide-only clip">
                <a href={`/jobs/${encodeURIComponent(run.job_id)}`}>{run.job_id}</a>
              </td>
            )}
            <td class={endpoint ? "wide-only" : ""}>
              <Source source={run.source} />
            </td>
            <td class="number">{span(run.duration_ms)}</td>
            <td class="wide-only clip" title={run.error ?? run.reason ?? ""}>{run.error ?? run.reason ?? ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
