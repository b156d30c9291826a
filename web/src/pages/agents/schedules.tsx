/** The schedules of a user, or of all users: listed, created and deleted. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { asProblem, callApi, hasScope, type ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { fullTime } from "../../lib/format";
import { Dialog } from "../../ui/dialog";
import { Card, Loading, ProblemNotice, RelativeTime } from "../../ui/parts";
import { toast } from "../../ui/toast";
import { chatOf } from "./chat";
import { NewScheduleDialog } from "./new_schedule";
import type { Agent, Schedule } from "./types";

interface Props {
  user: string | null;
  agent: string | null;
  agents: Agent[];
  zone: string | null;
}

const PAGE_SIZE = 50;

export function Schedules({ user, agent, agents, zone }: Props): JSX.Element {
  const withFinished = useSignal(false);
  const limit = useSignal(PAGE_SIZE);
  const creating = useSignal(false);
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
          <button class="button" type="button" onClick={() => (creating.value = true)}>
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
          <ScheduleItem key={one.id} schedule={one} onDelete={() => (deleting.value = one)} />
        ))}
      </ul>
      {page?.next_cursor && limit.value < 500 && (
        <button class="button plain" type="button" onClick={() => (limit.value = 500)}>
          Show more
        </button>
      )}
      {user && (
        <NewScheduleDialog
          open={creating.value}
          onClose={() => (creating.value = false)}
          onCreated={data.refresh}
          user={user}
          agent={agent}
          agents={agents}
          zone={zone}
        />
      )}
      <DeleteDialog schedule={deleting.value} onClose={() => (deleting.value = null)} onDeleted={data.refresh} />
    </Card>
  );
}

function ScheduleItem({ schedule, onDelete }: { schedule: Schedule; onDelete: () => void }): JSX.Element {
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
          <button class="button plain" type="button" aria-label={`Delete ${schedule.name}`} onClick={onDelete}>
            Delete
          </button>
        )}
      </div>
    </li>
  );
}

function DeleteDialog({ schedule, onClose, onDeleted }: { schedule: Schedule | null; onClose: () => void; onDeleted: () => void }): JSX.Element {
  async function remove(one: Schedule): Promise<void> {
    try {
      await callApi("DELETE", `/v1/schedules/${encodeURIComponent(one.id)}`);
      toast(`Deleted ${one.name}.`);
      onDeleted();
    } catch (error) {
      toast(asProblem(error).message, { bad: true });
    }
    onClose();
  }
  return (
    <Dialog title="Delete schedule" open={schedule !== null} onClose={onClose}>
      {schedule && (
        <div class="stack">
          <p>
            “{schedule.name}” will not run again. Messages already sent are kept.
          </p>
          <div class="row">
            <button class="button danger" type="button" onClick={() => void remove(schedule)}>
              Delete
            </button>
            <button class="button" type="button" onClick={onClose}>
              Cancel
            </button>
          </div>
        </div>
      )}
    </Dialog>
  );
}
