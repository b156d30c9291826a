/** What waking agents cost and brought, by schedule with a probe. */

import type { JSX } from "preact";
import type { ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { compact, counted } from "../../lib/format";
import { Card } from "../../ui/parts";
import type { WakeTotals } from "./types";

const MAX_ROWS = 12;

/** Nothing where no agent was woken by a probe yet. */
export function Wakes(): JSX.Element | null {
  const data = useData<ListPage<WakeTotals>>("/v1/learning/wakes", { every: 30_000, minGapMs: 10_000, query: { limit: 200 } });
  const rows = (data.value.value?.items ?? []).toSorted((one, other) => other.tokens - one.tokens);
  if (rows.length === 0) return null;
  const saved = rows.reduce((sum, row) => sum + row.saved_tokens, 0);
  return (
    <Card title="Agents woken by probes" aside={saved ? `${counted(saved, "token")} not worth it` : "by tokens spent"}>
      <table class="small-table">
        <thead>
          <tr>
            <th scope="col">Schedule</th>
            <th scope="col">Woken</th>
            <th scope="col">With an answer</th>
            <th scope="col">Tokens</th>
            <th scope="col">Not worth it</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map((row) => (
            <tr key={row.schedule_id}>
              <th scope="row">
                <a href={`/endpoints/${encodeURIComponent(row.schedule_id)}`}>{row.name}</a>
                <div class="quiet">{row.user_id}</div>
              </th>
              <td class="number">{compact(row.woken)}</td>
              <td class="number">{compact(row.paid)}</td>
              <td class="number">{compact(row.tokens)}</td>
              <td class="number">
                {compact(row.passed_over)}
                {row.passed_over > 0 && <div class="quiet">{counted(row.lost, "answer")} lost</div>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
