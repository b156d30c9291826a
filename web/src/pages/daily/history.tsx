/** The verdicts of the last days. */

import type { JSX } from "preact";
import { useData } from "../../lib/data";
import { compact, percent } from "../../lib/format";
import { Card, Loading, ProblemNotice } from "../../ui/parts";
import { DAILY } from "../../resources/daily";
import type { Day } from "./types";

const DAYS = 30;

interface Props {
  programme: string;
  today: string;
  shown: string;
}

export function History({ programme, today, shown }: Props): JSX.Element {
  const data = useData<{ since: string; items: Day[] }>("/v1/daily/history", { query: { days: DAYS, programme }, every: 10_000, when: () => false });
  const answer = data.value.value;
  const most = Math.max(...(answer?.items ?? []).map((day) => day.success + day.cutoff_reached), 1);
  return (
    <Card title="History" aside={`last ${DAYS} days`}>
      {data.problem.value && <ProblemNotice problem={data.problem.value} retry={data.refresh} />}
      {!answer && !data.problem.value && <Loading what="the history" />}
      {answer && answer.items.length === 0 && <p class="muted">No results yet.</p>}
      <ul class="days">
        {answer?.items.map((day) => (
          <HistoryDay key={day.date} day={day} most={most} isShown={day.date === shown} href={hrefOf(programme, day.date === today ? null : day.date)} />
        ))}
      </ul>
    </Card>
  );
}

function hrefOf(programme: string, date: string | null): string {
  const query = new URLSearchParams({ ...(programme === DAILY ? {} : { programme }), ...(date ? { date } : {}) }).toString();
  return query ? `/daily?${query}` : "/daily";
}

function HistoryDay({ day, most, isShown, href }: { day: Day; most: number; isShown: boolean; href: string }): JSX.Element {
  const all = day.success + day.cutoff_reached;
  const label = `${compact(day.success)} succeeded, ${compact(day.cutoff_reached)} missed${day.late ? `, ${compact(day.late)} of them in an outage` : ""}`;
  return (
    <li>
      <a class="number" href={href} {...(isShown ? { "aria-current": "date" as const } : {})}>
        {day.date}
      </a>
      <span class="day-bar" role="img" aria-label={label} title={label} style={{ width: `${Math.max(2, (all / most) * 100)}%` }}>
        <span class="status-success" style={{ flexGrow: day.success }} />
        <span class="status-failure" style={{ flexGrow: day.cutoff_reached }} />
      </span>
      <span class="number quiet">{all ? percent(day.success / all) : "–"}</span>
    </li>
  );
}
