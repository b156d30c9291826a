/** Users who are served daily: listed, found, added, moved to another time, and let go. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { asProblem, callApi, hasScope, type ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { fullTime } from "../../lib/format";
import { Dialog } from "../../ui/dialog";
import { Field, Form } from "../../ui/form";
import { Card, Loading, ProblemNotice, RelativeTime } from "../../ui/parts";
import { toast } from "../../ui/toast";
import type { DailyUser, Verdict } from "./types";

const PAGE = 50;

export function Users(): JSX.Element {
  const trail = useSignal<string[]>([]);
  const editing = useSignal<DailyUser | "new" | null>(null);
  const seen = useSignal<string | null>(null);
  const cursor = trail.value.at(-1);
  const data = useData<ListPage<DailyUser>>("/v1/daily/users", { query: { limit: PAGE, cursor }, every: 10_000, when: () => false });
  const told = data.value.value;
  const next = told?.next_cursor;
  return (
    <Card
      title="Users"
      class="daily-users"
      aside={
        hasScope("write") && (
          <button class="button" type="button" onClick={() => (editing.value = "new")}>
            Add user
          </button>
        )
      }
    >
      <Find onFound={(id) => (seen.value = id)} />
      {data.problem.value && <ProblemNotice problem={data.problem.value} retry={data.refresh} />}
      {!told && !data.problem.value && <Loading what="users" />}
      {told && told.items.length === 0 && <p class="muted">Nobody is served daily yet.</p>}
      <ul class="user-list">
        {told?.items.map((one) => (
          <li key={one.user_id}>
            <button class="button plain clip" type="button" onClick={() => (seen.value = one.user_id)}>
              {one.user_id}
            </button>
            <span class="number">{one.due_time}</span>
            <span class="quiet">
              cutoff <RelativeTime at={one.next_cutoff} />
            </span>
            <Last user={one} />
          </li>
        ))}
      </ul>
      <div class="row">
        {trail.value.length > 0 && (
          <button class="button plain" type="button" onClick={() => (trail.value = trail.value.slice(0, -1))}>
            Earlier
          </button>
        )}
        {next && (
          <button class="button plain" type="button" onClick={() => (trail.value = [...trail.value, next])}>
            Later
          </button>
        )}
      </div>
      <EditUser user={editing.value} onClose={() => (editing.value = null)} onDone={data.refresh} />
      <OneUser id={seen.value} onClose={() => (seen.value = null)} onEdit={(user) => (editing.value = user)} onGone={data.refresh} />
    </Card>
  );
}

function Find({ onFound }: { onFound: (id: string) => void }): JSX.Element {
  return (
    <form
      class="search find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const id = String(new FormData(event.currentTarget).get("user") ?? "").trim();
        if (id) onFound(id);
      }}
    >
      <input name="user" type="search" aria-label="Find a user by id" placeholder="Find a user by id" autocomplete="off" />
      <button class="button" type="submit">
        Find
      </button>
    </form>
  );
}

function Last({ user }: { user: DailyUser }): JSX.Element {
  if (user.status === null) return <span class="quiet">no day yet</span>;
  const good = user.status === "success";
  return (
    <span class={`badge ${good ? "good" : "bad"}`} title={user.last_date ?? ""}>
      {good ? "served" : "missed"}
    </span>
  );
}

function EditUser({ user, onClose, onDone }: { user: DailyUser | "new" | null; onClose: () => void; onDone: () => void }): JSX.Element {
  const known = user !== null && user !== "new" ? user : undefined;
  async function send(values: FormData): Promise<void> {
    const id = known?.user_id ?? String(values.get("user_id") ?? "").trim();
    const kept = await callApi<DailyUser>("PUT", `/v1/daily/users/${encodeURIComponent(id)}`, {
      body: { due_time: String(values.get("due_time") ?? "") },
    });
    const from = kept.changes.at(-1)?.from_date ?? kept.next_date;
    toast(`${id} is served until ${kept.due_time} UTC, from ${from} on.`);
    onDone();
    onClose();
  }
  return (
    <Dialog title={known ? `Due time of ${known.user_id}` : "Add user"} open={user !== null} onClose={onClose}>
      <Form fields={["user_id", "due_time"]} send={send} submit={known ? "Change it" : "Add"}>
        {(problem) => (
          <>
            {!known && (
              <Field label="User" name="user_id" problem={problem}>
                {(wiring) => <input {...wiring} autocomplete="off" />}
              </Field>
            )}
            <Field label="Due time" name="due_time" problem={problem} help="In UTC. The job is tried from an hour before; a window that has opened keeps its time.">
              {(wiring) => <input {...wiring} type="time" defaultValue={known?.due_time ?? ""} />}
            </Field>
          </>
        )}
      </Form>
    </Dialog>
  );
}

interface OneProps {
  id: string | null;
  onClose: () => void;
  onEdit: (user: DailyUser) => void;
  onGone: () => void;
}

function OneUser({ id, onClose, onEdit, onGone }: OneProps): JSX.Element {
  return (
    <Dialog title={id ?? "User"} open={id !== null} onClose={onClose}>
      {id !== null && <Told key={id} id={id} onClose={onClose} onEdit={onEdit} onGone={onGone} />}
    </Dialog>
  );
}

function Told({ id, onClose, onEdit, onGone }: OneProps & { id: string }): JSX.Element {
  const path = `/v1/daily/users/${encodeURIComponent(id)}`;
  const sure = useSignal(false);
  const user = useData<DailyUser>(path, { when: () => false });
  const days = useData<ListPage<Verdict>>(`${path}/days`, { query: { limit: 30 }, when: () => false });
  const told = user.value.value;
  async function remove(): Promise<void> {
    try {
      await callApi("DELETE", path);
      toast(`${id} is served daily no more.`);
      onGone();
    } catch (error) {
      toast(asProblem(error).message, { bad: true });
    }
    onClose();
  }
  if (!told) return user.problem.value ? <ProblemNotice problem={user.problem.value} /> : <Loading what="the user" />;
  return (
    <div class="stack">
      <p>
        Due at <strong class="number">{told.due_time}</strong> UTC. The next window is open from {fullTime(told.next_opens_at)} to {fullTime(told.next_cutoff)}.
      </p>
      <ul class="past-days">
        {days.value.value?.items.map((day) => (
          <li key={day.service_date} class="row spread">
            <span class="number">{day.service_date}</span>
            <span class={`badge ${day.status === "success" ? "good" : "bad"}`}>{day.status === "success" ? "served" : day.late ? "missed, late" : "missed"}</span>
          </li>
        ))}
      </ul>
      {days.value.value?.items.length === 0 && <p class="muted">No day has a verdict yet.</p>}
      {hasScope("write") && (
        <div class="row">
          <button class="button" type="button" onClick={() => (onClose(), onEdit(told))}>
            Change due time
          </button>
          {sure.value ? (
            <button class="button danger" type="button" onClick={() => void remove()}>
              Yes, serve no more
            </button>
          ) : (
            <button class="button" type="button" onClick={() => (sure.value = true)}>
              Serve no more
            </button>
          )}
        </div>
      )}
    </div>
  );
}
