/** The users who were not served on a day, and why. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { asProblem, callApi, type ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { clockTime, compact, counted, fullTime, localZone } from "../../lib/format";
import { Card, Loading, ProblemNotice } from "../../ui/parts";
import { toast } from "../../ui/toast";
import { CAUSES, type Verdict } from "./types";

const PAGE_SIZE = 50;

interface Props {
  programme: string;
  date: string;
  missed: number;
  inGaps: number;
}

export function Misses({ programme, date, missed, inGaps }: Props): JSX.Element {
  const data = useData<ListPage<Verdict>>("/v1/daily/misses", { query: { date, programme, limit: PAGE_SIZE }, every: 5_000, when: () => false });
  const morePages = useSignal<ListPage<Verdict> | null>(null);
  const firstPage = data.value.value;
  const items = [...(firstPage?.items ?? []), ...(morePages.value?.items ?? [])];
  const cursor = morePages.value ? morePages.value.next_cursor : firstPage?.next_cursor;
  async function more(): Promise<void> {
    try {
      const page = await callApi<ListPage<Verdict>>("GET", "/v1/daily/misses", { query: { date, programme, limit: PAGE_SIZE, cursor } });
      morePages.value = { items: [...(morePages.value?.items ?? []), ...page.items], next_cursor: page.next_cursor };
    } catch (error) {
      toast(asProblem(error).message, { bad: true });
    }
  }
  return (
    <Card title="Missed" aside={missed ? `${compact(missed)} on ${date}` : undefined} class="misses">
      {data.problem.value && <ProblemNotice problem={data.problem.value} retry={data.refresh} />}
      {!firstPage && !data.problem.value && <Loading what="misses" />}
      {firstPage && items.length === 0 && !inGaps && <p class="muted">No user missed on {date}.</p>}
      {inGaps > 0 && <p class="muted">{counted(inGaps, "user")} missed without single results: the scheduler was down for more than 7 days.</p>}
      {items.length > 0 && (
        <div class="scrolled" tabIndex={0} role="region" aria-label="Misses">
          <table class="plain-table">
            <thead>
              <tr>
                <th scope="col">User</th>
                <th scope="col">Due (local)</th>
                <th scope="col">Recorded ({localZone()})</th>
                <th scope="col">Reason</th>
              </tr>
            </thead>
            <tbody>
              {items.map((one) => (
                <tr key={one.user_id}>
                  <th scope="row" class="break">
                    {one.user_id}
                  </th>
                  <td class="number">{one.due_time}</td>
                  <td class="number">
                    <time dateTime={one.decided_at} title={fullTime(one.decided_at)}>
                      {clockTime(one.decided_at)}
                    </time>
                  </td>
                  <td>{one.late ? `missed: ${CAUSES[one.cause ?? ""] ?? one.cause ?? "unknown cause"}` : "no success before the cutoff"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {cursor && (
        <button class="button plain" type="button" onClick={() => void more()}>
          Show more
        </button>
      )}
    </Card>
  );
}
