/** What is planned for a user, or for everybody: listed, made and deleted. */

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

const SHOWN = 50;

export function Schedules({ user, agent, agents, zone }: Props): JSX.Element {
  const done = useSignal(false);
  const limit = useSignal(SHOWN);
  const making = useSignal(false);
  const leaving = useSignal<Schedule | null>(null);
  const data = useData<ListPage<Schedule>>("/v1/schedules", {
    query: { user_id: user, enabled_only: !done.value, limit: limit.value },
    every: 10_000,
  });
  const heard = user ? chatOf(user).entries.value.length : 0;
  useEffect(() => data.refresh(), [heard]);
  const told = data.value.value;
  return (
    <Card
      title="Schedules"
      class="schedules"
      aside={
        user &&
        hasScope("write") && (
          <button class="button" type="button" onClick={() => (making.value = true)}>
            New schedule
          </button>
        )
      }
    >
      <label class="check quiet">
        <input type="checkbox" checked={done.value} onChange={(event) => (done.value = event.currentTarget.checked)} />
        also those that are done
      </label>
      {data.problem.value && <ProblemNotice problem={data.problem.value} retry={data.refresh} />}
      {!told && !data.problem.value && <Loading what="schedules" />}
      {told && told.items.length === 0 && <p class="muted">{user ? `Nothing is planned for ${user}.` : "Nothing is planned."}</p>}
      <ul class="schedule-list">
        {told?.items.map((one) => (
          <Planned key={one.id} schedule={one} onDelete={() => (leaving.value = one)} />
        ))}
      </ul>
      {told?.next_cursor && limit.value < 500 && (
        <button class="button plain" type="button" onClick={() => (limit.value = 500)}>
          Show more
        </button>
      )}
      {user && (
        <NewScheduleDialog
          open={making.value}
          onClose={() => (making.value = false)}
          onMade={data.refresh}
          user={user}
          agent={agent}
          agents={agents}
          zone={zone}
        />
      )}
      <Leaving schedule={leaving.value} onClose={() => (leaving.value = null)} onGone={data.refresh} />
    </Card>
  );
}

function Planned({ schedule, onDelete }: { schedule: Schedule; onDelete: () => void }): JSX.Element {
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
            next <RelativeTime at={schedule.next_run_at} none="not yet known" tense="next" />
          </span>
        ) : (
          <span class="badge">done</span>
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

function Leaving({ schedule, onClose, onGone }: { schedule: Schedule | null; onClose: () => void; onGone: () => void }): JSX.Element {
  async function remove(one: Schedule): Promise<void> {
    try {
      await callApi("DELETE", `/v1/schedules/${encodeURIComponent(one.id)}`);
      toast(`${one.name} fires no more.`);
      onGone();
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
            “{schedule.name}” will fire no more. What it has said already stays.
          </p>
          <div class="row">
            <button class="button danger" type="button" onClick={() => void remove(schedule)}>
              Delete
            </button>
            <button class="button" type="button" onClick={onClose}>
              Keep it
            </button>
          </div>
        </div>
      )}
    </Dialog>
  );
}
