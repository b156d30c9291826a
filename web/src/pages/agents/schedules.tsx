/** The schedules of a user, or of all users: listed, created, changed and deleted. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { DeleteDialog, RecordDialog, type Editing } from "../../forms/record_dialog";
import { hasScope, type ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { shortTime } from "../../lib/format";
import { serverNow } from "../../lib/clock";
import { ActionOnRecord } from "../../forms/record_action";
import { SCHEDULES, timesOf } from "../../resources/schedules";
import { Card, Loading, ProblemNotice, RelativeTime } from "../../ui/parts";
import { chatOf } from "./chat";
import { pathOf, ScheduleDialog, type Asked } from "./schedule_dialogs";
import type { Schedule } from "./types";

interface Props {
  user: string | null;
  agent: string | null;
  zone: string | null;
}

const PAGE_SIZE = 50;

export function Schedules({ user, agent, zone }: Props): JSX.Element {
  const withFinished = useSignal(false);
  const limit = useSignal(PAGE_SIZE);
  const editing = useSignal<Editing | null>(null);
  const deleting = useSignal<Schedule | null>(null);
  const asked = useSignal<{ what: Asked; schedule: Schedule } | null>(null);
  const data = useData<ListPage<Schedule>>("/v1/schedules", {
    query: { user_id: user, enabled_only: !withFinished.value, limit: limit.value },
    every: 10_000,
  });
  const messageCount = user ? chatOf(user).entries.value.length : 0;
  useEffect(() => data.refresh(), [messageCount]);
  const page = data.value.value;
  return (
    <Card
      title="Schedules"
      class="schedules"
      aside={
        user &&
        hasScope("write") && (
          <button class="button" type="button" onClick={() => (editing.value = {})}>
            New schedule
          </button>
        )
      }
    >
      <label class="check quiet">
        <input type="checkbox" checked={withFinished.value} onChange={(event) => (withFinished.value = event.currentTarget.checked)} />
        include finished schedules
      </label>
      {data.problem.value && <ProblemNotice problem={data.problem.value} retry={data.refresh} />}
      {!page && !data.problem.value && <Loading what="schedules" />}
      {page && page.items.length === 0 && <p class="muted">{user ? `No schedules for ${user}.` : "No schedules yet."}</p>}
      <ul class="schedule-list">
        {page?.items.map((one) => (
          <ScheduleItem
            key={one.id}
            schedule={one}
            ask={(what) => (asked.value = { what, schedule: one })}
            edit={(copy) => (editing.value = { item: { ...one }, copy })}
            remove={() => (deleting.value = one)}
            onDone={data.refresh}
          />
        ))}
      </ul>
      {page?.next_cursor && limit.value < 500 && (
        <button class="button plain" type="button" onClick={() => (limit.value = 500)}>
          Show more
        </button>
      )}
      <RecordDialog
        resource={SCHEDULES}
        editing={editing.value}
        initial={{ user_id: user, agent_id: agent, timezone: zone ?? "UTC" }}
        onClose={() => (editing.value = null)}
        onSaved={data.refresh}
      />
      <ScheduleDialog asked={asked.value} onClose={() => (asked.value = null)} onDone={data.refresh} />
      <DeleteDialog resource={SCHEDULES} item={deleting.value && { ...deleting.value }} onClose={() => (deleting.value = null)} onDeleted={data.refresh} />
    </Card>
  );
}

interface ItemProps {
  schedule: Schedule;
  ask: (what: Asked) => void;
  edit: (copy: boolean) => void;
  remove: () => void;
  onDone: () => void;
}

function ScheduleItem({ schedule, ask, edit, remove, onDone }: ItemProps): JSX.Element {
  return (
    <li>
      <div class="row spread">
        <a class="clip" href={`/endpoints/${encodeURIComponent(schedule.id)}`}>
          {schedule.name}
        </a>
        <NextRun schedule={schedule} />
      </div>
      <p class="schedule-prompt">{schedule.prompt}</p>
      <span class="quiet">
        {timesOf({ ...schedule })}, by {schedule.agent_id}, for {schedule.user_id}
        {schedule.may_pace && ", paced by its agent"}
      </span>
      <div class="schedule-actions">
        <ActionButton label="Why this time?" name={schedule.name} onClick={() => ask("why")} />
        <ActionButton label="History" name={schedule.name} onClick={() => ask("history")} />
        {hasScope("write") && <Changes schedule={schedule} ask={ask} edit={edit} remove={remove} onDone={onDone} />}
      </div>
    </li>
  );
}

function Changes({ schedule, ask, edit, remove, onDone }: ItemProps): JSX.Element {
  const { name, paused, enabled } = schedule;
  const said = (text: string) => () => ({ text: `${text} ${name}.`, bad: false });
  const waits = paused && schedule.pause_reason !== SNOOZED;
  const resumable = paused || (!enabled && schedule.schedule_type === "recurring");
  return (
    <>
      {!waits && <ActionButton label="Snooze" name={name} onClick={() => ask("snooze")} />}
      {resumable && <ActionOnRecord label="Resume" name={name} path={pathOf(schedule, "resume")} say={said("Resumed")} onDone={onDone} />}
      {enabled && !paused && <ActionButton label="Pause" name={name} onClick={() => ask("pause")} />}
      {!waits && <ActionOnRecord label="Run now" name={name} path={pathOf(schedule, "run-now")} say={said("Running")} onDone={onDone} />}
      <ActionButton label="Edit" name={name} onClick={() => edit(false)} />
      <ActionButton label="Copy" name={name} onClick={() => edit(true)} />
      <ActionButton label="Delete" name={name} onClick={remove} />
    </>
  );
}

const SNOOZED = "snoozed";

function ActionButton({ label, name, onClick }: { label: string; name: string; onClick: () => void }): JSX.Element {
  return (
    <button class="button plain" type="button" aria-label={`${label} ${name}`} onClick={onClick}>
      {label}
    </button>
  );
}

function NextRun({ schedule }: { schedule: Schedule }): JSX.Element {
  if (!schedule.enabled) return <span class="badge">finished</span>;
  if (schedule.paused) {
    const until = schedule.paused_until ? ` until ${shortTime(schedule.paused_until, serverNow())}` : "";
    return <span class="badge warn">{schedule.pause_reason === SNOOZED ? "snoozed" : "paused"}{until}</span>;
  }
  return (
    <span class="quiet">
      next <RelativeTime at={schedule.next_run_at} none="not scheduled yet" tense="next" />
    </span>
  );
}
