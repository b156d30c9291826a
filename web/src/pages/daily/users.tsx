/** Users who are served daily: listed, found, added, changed, and removed. */

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

const PAGE_SIZE = 50;

export function Users(): JSX.Element {
  const cursors = useSignal<string[]>([]);
  const editing = useSignal<DailyUser | "new" | null>(null);
  const openUser = useSignal<string | null>(null);
  const cursor = cursors.value.at(-1);
  const data = useData<ListPage<DailyUser>>("/v1/daily/users", { query: { limit: PAGE_SIZE, cursor }, every: 10_000, when: () => false });
  const page = data.value.value;
  const next = page?.next_cursor;
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
      <Find onFound={(id) => (openUser.value = id)} />
      {data.problem.value && <ProblemNotice problem={data.problem.value} retry={data.refresh} />}
      {!page && !data.problem.value && <Loading what="users" />}
      {page && page.items.length === 0 && <p class="muted">No daily users yet.</p>}
      <ul class="user-list">
        {page?.items.map((one) => (
          <li key={one.user_id}>
            <button class="button plain clip" type="button" onClick={() => (openUser.value = one.user_id)}>
              {one.user_id}
            </button>
            <span class="number">{one.due_time} UTC</span>
            <span class="quiet">
              cutoff <RelativeTime at={one.next_cutoff} />
            </span>
            <LastStatus user={one} />
          </li>
        ))}
      </ul>
      <div class="row">
        {cursors.value.length > 0 && (
          <button class="button plain" type="button" onClick={() => (cursors.value = cursors.value.slice(0, -1))}>
            Earlier
          </button>
        )}
        {next && (
          <button class="button plain" type="button" onClick={() => (cursors.value = [...cursors.value, next])}>
            Later
          </button>
        )}
      </div>
      <EditUser user={editing.value} onClose={() => (editing.value = null)} onDone={data.refresh} />
      <UserDialog id={openUser.value} onClose={() => (openUser.value = null)} onEdit={(user) => (editing.value = user)} onDeleted={data.refresh} />
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

function LastStatus({ user }: { user: DailyUser }): JSX.Element {
  if (user.status === null) return <span class="quiet">no results yet</span>;
  const good = user.status === "success";
  return (
    <span class={`badge ${good ? "good" : "bad"}`} title={user.last_date ?? ""}>
      {good ? "succeeded" : "missed"}
    </span>
  );
}

function EditUser({ user, onClose, onDone }: { user: DailyUser | "new" | null; onClose: () => void; onDone: () => void }): JSX.Element {
  const existing = user !== null && user !== "new" ? user : undefined;
  async function send(values: FormData): Promise<void> {
    const id = existing?.user_id ?? String(values.get("user_id") ?? "").trim();
    const saved = await callApi<DailyUser>("PUT", `/v1/daily/users/${encodeURIComponent(id)}`, {
      body: { due_time: String(values.get("due_time") ?? "") },
    });
    const from = saved.changes.at(-1)?.from_date ?? saved.next_date;
    toast(`Saved: ${id} is due at ${saved.due_time} UTC from ${from}.`);
    onDone();
    onClose();
  }
  return (
    <Dialog title={existing ? `Due time of ${existing.user_id}` : "Add user"} open={user !== null} onClose={onClose}>
      <Form fields={["user_id", "due_time"]} send={send} submit="Save">
        {(problem) => (
          <>
            {!existing && (
              <Field label="User" name="user_id" problem={problem}>
                {(wiring) => <input {...wiring} autocomplete="off" />}
              </Field>
            )}
            <Field label="Due time (UTC)" name="due_time" problem={problem} help="The daily target is called from one hour before. A window that is already open keeps its time.">
              {(wiring) => <input {...wiring} type="time" defaultValue={existing?.due_time ?? ""} />}
            </Field>
          </>
        )}
      </Form>
    </Dialog>
  );
}

interface UserDialogProps {
  id: string | null;
  onClose: () => void;
  onEdit: (user: DailyUser) => void;
  onDeleted: () => void;
}

function UserDialog({ id, onClose, onEdit, onDeleted }: UserDialogProps): JSX.Element {
  return (
    <Dialog title={id ?? "User"} open={id !== null} onClose={onClose}>
      {id !== null && <UserDetails key={id} id={id} onClose={onClose} onEdit={onEdit} onDeleted={onDeleted} />}
    </Dialog>
  );
}

function UserDetails({ id, onClose, onEdit, onDeleted }: UserDialogProps & { id: string }): JSX.Element {
  const path = `/v1/daily/users/${encodeURIComponent(id)}`;
  const confirming = useSignal(false);
  const user = useData<DailyUser>(path, { when: () => false });
  const days = useData<ListPage<Verdict>>(`${path}/days`, { query: { limit: 30 }, when: () => false });
  const loaded = user.value.value;
  async function remove(): Promise<void> {
    try {
      await callApi("DELETE", path);
      toast(`Removed ${id}.`);
      onDeleted();
    } catch (error) {
      toast(asProblem(error).message, { bad: true });
    }
    onClose();
  }
  if (!loaded) return user.problem.value ? <ProblemNotice problem={user.problem.value} /> : <Loading what="the user" />;
  return (
    <div class="stack">
      <p>
        Due at <strong class="number">{loaded.due_time}</strong> UTC. Next window: {fullTime(loaded.next_opens_at)} to {fullTime(loaded.next_cutoff)}.
      </p>
      <ul class="past-days">
        {days.value.value?.items.map((day) => (
          <li key={day.service_date} class="row spread">
            <span class="number">{day.service_date}</span>
            <span class={`badge ${day.status === "success" ? "good" : "bad"}`}>{day.status === "success" ? "succeeded" : day.late ? "missed in an outage" : "missed"}</span>
          </li>
        ))}
      </ul>
      {days.value.value?.items.length === 0 && <p class="muted">No results yet.</p>}
      {hasScope("write") && (
        <div class="row">
          <button class="button" type="button" onClick={() => (onClose(), onEdit(loaded))}>
            Edit
          </button>
          {confirming.value ? (
            <button class="button danger" type="button" onClick={() => void remove()}>
              Confirm removal
            </button>
          ) : (
            <button class="button" type="button" onClick={() => (confirming.value = true)}>
              Remove user
            </button>
          )}
        </div>
      )}
    </div>
  );
}
