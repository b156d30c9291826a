/** What planners cost, by day and by endpoint, and what learning has won. */

import type { JSX } from "preact";
import type { ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { compact, counted, percent, span } from "../../lib/format";
import { Card, Loading, ProblemNotice } from "../../ui/parts";
import type { Learned, Spending, Tokens } from "./types";

const SLOWLY = { every: 30_000, minGapMs: 10_000 };
const MOST = 12;
const all = (tokens: Tokens): number => tokens.input + tokens.output;

export function Costs(): JSX.Element {
  const data = useData<Spending>("/v1/analyses/spending", { ...SLOWLY, query: { days: 7 } });
  const told = data.value.value;
  if (!told) return <Card title="Cost">{data.problem.value ? <ProblemNotice problem={data.problem.value} /> : <Loading what="the cost" />}</Card>;
  const most = Math.max(...told.days.map((one) => all(one.tokens)), 1);
  return (
    <Card title="Cost" aside={`7 days, ${counted(all(told.tokens), "token")}${told.complete ? "" : " of the newest sittings"}`}>
      {told.days.length === 0 ? (
        <p class="muted">No planner has sat in these days.</p>
      ) : (
        <div class="costs">
          <table class="small-table">
            <caption>By day</caption>
            <thead>
              <tr>
                <th scope="col">Day and planner</th>
                <th scope="col">Sittings</th>
                <th scope="col">Tokens</th>
              </tr>
            </thead>
            <tbody>
              {told.days.map((one) => (
                <tr key={`${one.day} ${one.planner}`}>
                  <th scope="row">
                    {one.day} <span class="badge">{one.planner}</span>
                  </th>
                  <td class="number">{compact(one.sittings)}</td>
                  <td class="number">
                    {compact(all(one.tokens))}
                    <div class="bar" style={{ width: `${(all(one.tokens) / most) * 100}%` }} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <table class="small-table">
            <caption>By endpoint, the dearest first</caption>
            <thead>
              <tr>
                <th scope="col">Endpoint and planner</th>
                <th scope="col">Sittings</th>
                <th scope="col">Tokens</th>
                <th scope="col">Each</th>
              </tr>
            </thead>
            <tbody>
              {told.endpoints.slice(0, MOST).map((one) => (
                <tr key={`${one.endpoint_id} ${one.planner}`}>
                  <th scope="row">
                    <a href={`/endpoints/${encodeURIComponent(one.endpoint_id)}`}>{one.endpoint_id}</a> <span class="badge">{one.planner}</span>{" "}
                    {one.failed > 0 && <span class="badge bad">{one.failed} failed</span>}
                  </th>
                  <td class="number">{compact(one.sittings)}</td>
                  <td class="number">{compact(all(one.tokens))}</td>
                  <td class="number">{compact(Math.round(all(one.tokens) / one.sittings))}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

type Part = (row: Learned) => number;
const changes: Part = (row) => row.changes;
const runs: Part = (row) => row.plain_looks;
const total = (rows: Learned[], part: Part): number => rows.reduce((sum, row) => sum + part(row), 0);

/** Of delays by changes, of runs by runs: each weighs as often as it came. */
function mean(rows: Learned[], value: Part, weight: Part): number {
  const weights = total(rows, weight);
  return weights ? total(rows, (row) => value(row) * weight(row)) / weights : 0;
}

export function Learning(): JSX.Element {
  const data = useData<ListPage<Learned>>("/v1/learning", { ...SLOWLY, query: { limit: 200 } });
  const told = data.value.value;
  if (!told) return <Card title="Learning">{data.problem.value ? <ProblemNotice problem={data.problem.value} /> : <Loading what="what was learned" />}</Card>;
  const rows = told.items.filter((row) => row.changes > 0).toSorted((one, other) => won(other) - won(one));
  return (
    <Card title="What learning wins" aside="how late changes are seen">
      {rows.length === 0 ? (
        <p class="muted">No change was seen yet. The learning planner needs runs of endpoints with an interval; in the shadow it only thinks.</p>
      ) : (
        <div class="stack tight">
          <Summary rows={told.items.filter((row) => row.learning === "shadow")} shadow />
          <Summary rows={told.items.filter((row) => row.learning === "on")} shadow={false} />
          <table class="small-table learned">
            <thead>
              <tr>
                <th scope="col">Endpoint</th>
                <th scope="col">Without</th>
                <th scope="col">With</th>
                <th scope="col">Of runs</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, MOST).map((row) => (
                <tr key={row.endpoint_id}>
                  <th scope="row">
                    <a href={`/endpoints/${encodeURIComponent(row.endpoint_id)}`}>{row.name}</a> {row.learning === "on" && <span class="badge accent">steers</span>}
                    <div class="quiet">{counted(row.changes, "change")}</div>
                  </th>
                  <td class="number">{span(row.plain_delay_ms)}</td>
                  <td class="number">{span(row.delay_ms)}</td>
                  <td class="number">{percent(row.looks, 0)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {told.next_cursor && <p class="quiet">Of the first 200 endpoints, by their ids.</p>}
        </div>
      )}
    </Card>
  );
}

const won = (row: Learned): number => (row.plain_delay_ms - row.delay_ms) * row.changes;

/** Endpoints that did not change are among them: it is their runs that are spent on others. */
function Summary({ rows, shadow }: { rows: Learned[]; shadow: boolean }): JSX.Element | null {
  const came = total(rows, changes);
  if (!came) return null;
  const seen = shadow ? counted(came, "change would be", "changes would be") : counted(came, "change was", "changes were");
  return (
    <p>
      {shadow ? "In the shadow" : "Where it steers"}, {seen} seen after <strong>{span(mean(rows, (row) => row.delay_ms, changes))}</strong> on average instead of{" "}
      <strong>{span(mean(rows, (row) => row.plain_delay_ms, changes))}</strong>, with {percent(mean(rows, (row) => row.looks, runs), 0)} of the runs.
    </p>
  );
}
