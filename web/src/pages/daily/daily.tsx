/** A daily programme: a day's windows, misses, the history of past days, and its users. */

import type { JSX } from "preact";
import { serverNow, tick } from "../../lib/clock";
import { useData } from "../../lib/data";
import { compact, counted, percent } from "../../lib/format";
import { query, setQuery } from "../../lib/router";
import { DAILY, PROGRAMMES } from "../../resources/daily";
import { Card, Empty, Figures, Legend, Loading, ProblemNotice, RelativeTime } from "../../ui/parts";
import { Records } from "../settings/records";
import "./daily.css";
import { History } from "./history";
import { Misses } from "./misses";
import { ProgrammeChoice } from "./programme_choice";
import type { Window, Windows } from "./types";
import { Users } from "./users";
import { DueMinutes, WindowsChart } from "./windows";

const IGNORE_CHANGES = (): boolean => false;
const MAX_OPEN_SHOWN = 6;

export default function DailyPage(): JSX.Element {
  const date = query.value.get("date");
  const programme = query.value.get("programme") ?? DAILY;
  const data = useData<Windows>("/v1/daily/windows", { query: { date, programme }, every: 3_000, when: IGNORE_CHANGES });
  const shown = data.value.value;
  if (!shown) {
    const problem = data.problem.value;
    if (!problem) return <Loading what="the day" />;
    return (
      <div class="stack">
        <ProblemNotice problem={problem} retry={data.refresh} />
        {(date !== null || programme !== DAILY) && <a href="/daily">Go to today</a>}
      </div>
    );
  }
  return (
    <div class="stack daily">
      {data.problem.value && <ProblemNotice problem={data.problem.value} retry={data.refresh} />}
      <DaySummary shown={shown} programme={programme} />
      {shown.windows.length === 0 && shown.counts.in_gaps > 0 ? (
        <Misses key={`${programme} ${shown.date}`} programme={programme} date={shown.date} missed={shown.counts.cutoff_reached} inGaps={shown.counts.in_gaps} />
      ) : shown.windows.length === 0 ? (
        <Card key="windows" title="Windows">
          <Empty title={`No user is due on ${shown.date}`}>
            <p>Each user has a due time in a time zone. In the window before it, the daily target is called until it succeeds. Add a user to start.</p>
          </Empty>
        </Card>
      ) : (
        <div key="windows" class="daily-two">
          <div class="stack">
            <Card title="Results by due time" aside="on the clocks of each user">
              <WindowsChart date={shown.date} windows={shown.windows} />
              <Legend items={[{ class: "status-success", label: "succeeded" }, { class: "status-running", label: "pending" }, { class: "status-failure", label: "missed" }]} />
            </Card>
            <DueMinutes windows={shown.windows} />
          </div>
          <div class="stack">
            <OpenNow windows={shown.windows} />
            <Misses key={`${programme} ${shown.date}`} programme={programme} date={shown.date} missed={shown.counts.cutoff_reached} inGaps={shown.counts.in_gaps} />
          </div>
        </div>
      )}
      {/* Without a key, a day's first window would reuse this element, and close its open dialogs. */}
      <div key="users" class="daily-two">
        <History key={programme} programme={programme} today={shown.now.slice(0, 10)} shown={shown.date} />
        <Users key={`users ${programme}`} programme={programme} />
      </div>
      <Records key="programmes" resource={PROGRAMMES} />
    </div>
  );
}

function DaySummary({ shown, programme }: { shown: Windows; programme: string }): JSX.Element {
  const { counts } = shown;
  const decided = counts.success + counts.cutoff_reached;
  const today = shown.now.slice(0, 10);
  return (
    <div class="stack">
      <div class="row">
        <ProgrammeChoice programme={programme} />
        <label class="row day-choice">
          <span>Date</span>
          <input type="date" value={shown.date} onChange={(event) => setQuery({ date: event.currentTarget.value || null })} />
        </label>
        {shown.date !== today && (
          <button class="button" type="button" onClick={() => setQuery({ date: null })}>
            Today
          </button>
        )}
      </div>
      <Figures
        items={[
          { name: "Succeeded", value: compact(counts.success) },
          { name: "Pending", value: `${compact(shown.waiting)}${shown.waiting_until ? "+" : ""}` },
          { name: "Missed", value: compact(counts.cutoff_reached), tone: counts.cutoff_reached ? "bad" : "" },
          { name: "Missed in an outage", value: compact(counts.late), tone: counts.late ? "warn" : "" },
          ...(counts.in_gaps ? [{ name: "In an outage over 7 days", value: compact(counts.in_gaps), tone: "warn" }] : []),
          { name: "Success rate", value: decided ? percent(counts.success / decided) : "–" },
        ]}
      />
    </div>
  );
}

/** Windows that are open at this moment, the soonest cutoff first. */
function OpenNow({ windows }: { windows: Window[] }): JSX.Element {
  void tick.value;
  const now = serverNow();
  const open = windows.filter((one) => Date.parse(one.opens_at) <= now && now < Date.parse(one.cutoff));
  return (
    <Card title="Open windows" aside={open.length ? counted(open.length, "due time") : undefined}>
      {open.length === 0 && <p class="muted">No open windows.</p>}
      <ul class="open-windows">
        {open.slice(0, MAX_OPEN_SHOWN).map((one) => (
          <OpenWindow key={one.due_time} window={one} />
        ))}
      </ul>
      {open.length > MAX_OPEN_SHOWN && <p class="quiet">and {counted(open.length - MAX_OPEN_SHOWN, "later window")}</p>}
    </Card>
  );
}

function OpenWindow({ window }: { window: Window }): JSX.Element {
  const all = window.waiting === null ? null : window.success + window.cutoff_reached + window.waiting;
  return (
    <li>
      <div class="row spread">
        <span class="number">{window.due_time}</span>
        <span class="quiet">
          cutoff <RelativeTime at={window.cutoff} />
        </span>
        <span class="number">
          {compact(window.success)}
          {all !== null && <span class="muted"> of {compact(all)} succeeded</span>}
        </span>
      </div>
      {all !== null && <progress max={all} value={window.success} aria-label={`Due at ${window.due_time}: ${window.success} of ${all} succeeded`} />}
    </li>
  );
}
