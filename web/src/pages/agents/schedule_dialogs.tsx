/** Dialogs about one schedule: a question before it is snoozed or paused, its history, and why it runs when it does. */

import type { JSX } from "preact";
import type { Json } from "../../forms/fields";
import { RecordForm } from "../../forms/record_form";
import { callApi, type ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { counted, fullTime } from "../../lib/format";
import { announceOwnChange } from "../../lib/live";
import { PAUSE, SNOOZE, type ScheduleQuestion } from "../../resources/schedules";
import { Dialog } from "../../ui/dialog";
import { Empty, Loading, ProblemNotice, ServerText, Status } from "../../ui/parts";
import { toast } from "../../ui/toast";
import type { Schedule, SchedulePlan, ScheduleRun } from "./types";

export type Asked = "snooze" | "pause" | "history" | "why";
const QUESTIONS = { snooze: SNOOZE, pause: PAUSE };

export const pathOf = (schedule: Schedule, end: string): string => `/v1/schedules/${encodeURIComponent(schedule.id)}/${end}`;

interface Props {
  asked: { what: Asked; schedule: Schedule } | null;
  onClose: () => void;
  onDone: () => void;
}

export function ScheduleDialog({ asked, onClose, onDone }: Props): JSX.Element {
  const titles = { snooze: SNOOZE.title, pause: PAUSE.title, history: "History", why: "Why this time?" };
  return (
    <Dialog title={asked ? `${titles[asked.what]}: ${asked.schedule.name}` : ""} open={asked !== null} onClose={onClose}>
      {asked && (asked.what === "history" ? <History schedule={asked.schedule} /> : asked.what === "why" ? <Why schedule={asked.schedule} /> : <Question question={QUESTIONS[asked.what]} schedule={asked.schedule} onDone={() => (onDone(), onClose())} />)}
    </Dialog>
  );
}

function Question({ question, schedule, onDone }: { question: ScheduleQuestion; schedule: Schedule; onDone: () => void }): JSX.Element {
  async function send(body: Json): Promise<void> {
    await callApi("POST", pathOf(schedule, question.operation), { body });
    announceOwnChange();
    toast(`${question.done} ${schedule.name}.`);
    onDone();
  }
  return (
    <div class="stack tight">
      <p>{question.about}</p>
      <RecordForm sections={question.sections} record={undefined} editing={false} submit={question.submit} send={send} />
    </div>
  );
}

function Why({ schedule }: { schedule: Schedule }): JSX.Element {
  const plan = useData<SchedulePlan>(pathOf(schedule, "plan"));
  const found = plan.value.value;
  if (!found) return plan.problem.value ? <ProblemNotice problem={plan.problem.value} retry={plan.refresh} /> : <Loading what="the reason" />;
  return (
    <div class="stack tight" role="status">
      {found.by && (
        <p>
          <strong>{found.by}</strong>
          {found.reason && `: ${found.reason}`}
        </p>
      )}
      <p>
        <ServerText text={found.answer} />
      </p>
    </div>
  );
}

function History({ schedule }: { schedule: Schedule }): JSX.Element {
  const runs = useData<ListPage<ScheduleRun>>(pathOf(schedule, "runs"), { query: { limit: 50 } });
  const found = runs.value.value;
  if (!found) return runs.problem.value ? <ProblemNotice problem={runs.problem.value} retry={runs.refresh} /> : <Loading what="the history" />;
  if (found.items.length === 0) return <Empty title="It has not run yet" />;
  return (
    <ul class="schedule-list">
      {found.items.map((run) => (
        <li key={run.id}>
          <div class="row spread">
            <span class="number">{fullTime(run.slot)}</span>
            <Status status={run.status} />
          </div>
          <span class="quiet">{outcomeOf(run)}</span>
        </li>
      ))}
    </ul>
  );
}

function outcomeOf(run: ScheduleRun): string {
  const told = run.nothing_to_report ? "nothing to report" : run.messages === null ? "" : counted(run.messages, "message");
  return [told, run.tokens ? counted(run.tokens, "token") : "", run.reason ?? "", run.verdict ? "" : "tried again"].filter(Boolean).join(", ");
}
