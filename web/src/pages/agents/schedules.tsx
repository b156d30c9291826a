/** The schedules of a user, or of all users: listed, created and deleted. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { DeleteDialog, RecordDialog, type Editing } from "../../forms/record_dialog";
import { hasScope, type ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { fullTime } from "../../lib/format";
import { SCHEDULES } from "../../resources/agents";
import { Card, Loading, ProblemNotice, RelativeTime } from "../../ui/parts";
import { chatOf } from "./chat";
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
          <ScheduleItem key={one.id} schedule={one} onCopy={() => (editing.value = { item: { ...one }, copy: true })} onDelete={() => (deleting.value = one)} />
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
      <DeleteDialog resource={SCHEDULES} item={deleting.value && { ...deleting.value }} onClose={() => (deleting.value = null)} onDeleted={data.refresh} />
    </Card>
  );
}

function ScheduleItem({ schedule, onCopy, onDelete }: { schedule: Schedule; onCopy: () => void; onDelete: () => void }): JSX.Element {
  const when =
    schedule.schedule_type === "recurring"
      ? `${schedule.cron_expression ?? ""} (${schedule.timezone})`
      : `once, ${schedule.run_at ? fullTime(schedule.run_at) : ""}`;
  return (
    <li>
      <div class="row spread">
        <a class="clip" href={`/endpoints/${encodeURIComponent(schedule.id)}`}>
          {schedule.name}
        </a>
        {schedule.enabled ? (
          <span class="quiet">
            next <RelativeTime at={schedule.next_run_at} none="not scheduled yet" tense="next" />
          </span>
        ) : (
          <span class="badge">finished</span>
        )}
      </div>
      <p class="schedule-prompt">{schedule.prompt}</p>
      <div class="row spread">
        <span class="quiet">
          {when}, by {schedule.agent_id}, for {schedule.user_id}
        </span>
        {hasScope("write") && (
          <span class="row">
            <button class="button plain" type="button" aria-label={`Copy ${schedule.name}`} onClick={onCopy}>
              Copy
            </button>
            <button class="button plain" type="button" aria-label={`Delete ${schedule.name}`} onClick={onDelete}>
              Delete
            </button>
          </span>
        )}
      </div>
    </li>
  );
}
