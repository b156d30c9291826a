/** What planners cost, by day and by endpoint, and what learning saves. */

import type { JSX } from "preact";
import type { ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { compact, counted, percent, span } from "../../lib/format";
import { Card, Loading, ProblemNotice } from "../../ui/parts";
import type { LearningResult, Spending, Tokens } from "./types";

const REFRESH = { every: 30_000, minGapMs: 10_000 };
const MAX_ROWS = 12;
const allTokens = (tokens: Tokens): number => tokens.input + tokens.output;

export function Costs(): JSX.Element {
  const data = useData<Spending>("/v1/analyses/spending", { ...REFRESH, query: { days: 7 } });
  const answer = data.value.value;
  if (!answer) return <Card title="Cost">{data.problem.value ? <ProblemNotice problem={data.problem.value} /> : <Loading what="the cost" />}</Card>;
  const most = Math.max(...answer.days.map((one) => allTokens(one.tokens)), 1);
  return (
    <Card title="Cost" aside={`7 days, ${counted(allTokens(answer.tokens), "token")}${answer.complete ? "" : " in the newest evaluations"}`}>
      {answer.days.length === 0 ? (
        <p class="muted">No planner evaluations in this range.</p>
      ) : (
        <div class="costs">
          <table class="small-table">
            <caption>By date (UTC)</caption>
            <thead>
              <tr>
                <th scope="col">Date and planner</th>
                <th scope="col">Evaluations</th>
                <th scope="col">Tokens</th>
              </tr>
            </thead>
            <tbody>
              {answer.days.map((one) => (
                <tr key={`${one.day} ${one.planner}`}>
                  <th scope="row">
                    {one.day} <span class="badge">{one.planner}</span>
                  </th>
                  <td class="number">{compact(one.sittings)}</td>
                  <td class="number">
                    {compact(allTokens(one.tokens))}
                    <div class="bar" style={{ width: `${(allTokens(one.tokens) / most) * 100}%` }} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <table class="small-table">
            <caption>By endpoint, most expensive first</caption>
            <thead>
              <tr>
                <th scope="col">Endpoint and planner</th>
                <th scope="col">Evaluations</th>
                <th scope="col">Tokens</th>
                <th scope="col">Tokens each</th>
              </tr>
            </thead>
            <tbody>
              {answer.endpoints.slice(0, MAX_ROWS).map((one) => (
                <tr key={`${one.endpoint_id} ${one.planner}`}>
                  <th scope="row">
                    <a href={`/endpoints/${encodeURIComponent(one.endpoint_id)}`}>{one.endpoint_id}</a> <span class="badge">{one.planner}</span>{" "}
                    {one.failed > 0 && <span class="badge bad">{one.failed} failed</span>}
                  </th>
                  <td class="number">{compact(one.sittings)}</td>
                  <td class="number">{compact(allTokens(one.tokens))}</td>
                  <td class="number">{compact(Math.round(allTokens(one.tokens) / one.sittings))}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}

type Part = (row: LearningResult) => number;
const changes: Part = (row) => row.changes;
const runs: Part = (row) => row.plain_looks;
const total = (rows: LearningResult[], part: Part): number => rows.reduce((sum, row) => sum + part(row), 0);

/** The mean of a value, weighted: delays by changes, shares of runs by runs. */
function mean(rows: LearningResult[], value: Part, weight: Part): number {
  const weights = total(rows, weight);
  return weights ? total(rows, (row) => value(row) * weight(row)) / weights : 0;
}

export function Learning(): JSX.Element {
  const data = useData<ListPage<LearningResult>>("/v1/learning", { ...REFRESH, query: { limit: 200 } });
  const answer = data.value.value;
  if (!answer) return <Card title="Learning planner savings">{data.problem.value ? <ProblemNotice problem={data.problem.value} /> : <Loading what="the savings" />}</Card>;
  const rows = answer.items.filter((row) => row.changes > 0).toSorted((one, other) => savedMs(other) - savedMs(one));
  return (
    <Card title="Learning planner savings" aside="time until a change is detected">
      {rows.length === 0 ? (
        <p class="muted">No results yet. The learning planner needs runs of endpoints with an interval. In shadow mode it only makes a dry run and changes nothing.</p>
      ) : (
        <div class="stack tight">
          <Summary rows={answer.items.filter((row) => row.learning === "shadow")} shadow />
          <Summary rows={answer.items.filter((row) => row.learning === "on")} shadow={false} />
          <table class="small-table learned">
            <thead>
              <tr>
                <th scope="col">Endpoint</th>
                <th scope="col">Without learning</th>
                <th scope="col">With learning</th>
                <th scope="col">Runs used</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, MAX_ROWS).map((row) => (
                <tr key={row.endpoint_id}>
                  <th scope="row">
                    <a href={`/endpoints/${encodeURIComponent(row.endpoint_id)}`}>{row.name}</a> {row.learning === "on" && <span class="badge accent">active</span>}
                    <div class="quiet">{counted(row.changes, "change")}</div>
                  </th>
                  <td class="number">{span(row.plain_delay_ms)}</td>
                  <td class="number">{span(row.delay_ms)}</td>
                  <td class="number">{percent(row.looks, 0)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {answer.next_cursor && <p class="quiet">Only the first 200 endpoints by id.</p>}
        </div>
      )}
    </Card>
  );
}

const savedMs = (row: LearningResult): number => (row.plain_delay_ms - row.delay_ms) * row.changes;

/** Includes endpoints that did not change: their runs are the ones spent on others. */
function Summary({ rows, shadow }: { rows: LearningResult[]; shadow: boolean }): JSX.Element | null {
  const changeCount = total(rows, changes);
  if (!changeCount) return null;
  const noticed = shadow ? counted(changeCount, "change would be", "changes would be") : counted(changeCount, "change was", "changes were");
  return (
    <p>
      {shadow ? "Dry run (shadow mode)" : "Active"}: {noticed} detected after <strong>{span(mean(rows, (row) => row.delay_ms, changes))}</strong> on average instead of{" "}
      <strong>{span(mean(rows, (row) => row.plain_delay_ms, changes))}</strong>, with {percent(mean(rows, (row) => row.looks, runs), 0)} of the runs.
    </p>
  );
}
