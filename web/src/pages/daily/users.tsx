/** Users who are served daily: listed, found, added, changed, and removed. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { DeleteDialog, RecordDialog, type Editing } from "../../forms/record_dialog";
import { hasScope, type ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { fullTime } from "../../lib/format";
import { DAILY_USERS, dueInWords } from "../../resources/daily";
import { Dialog } from "../../ui/dialog";
import { Card, Loading, ProblemNotice, RelativeTime } from "../../ui/parts";
import { toast } from "../../ui/toast";
import type { DailyUser, Verdict } from "./types";

const PAGE_SIZE = 50;

export function Users({ programme }: { programme: string }): JSX.Element {
  const cursors = useSignal<string[]>([]);
  const editing = useSignal<Editing | null>(null);
  const deleting = useSignal<DailyUser | null>(null);
  const openUser = useSignal<string | null>(null);
  const cursor = cursors.value.at(-1);
  const data = useData<ListPage<DailyUser>>("/v1/daily/users", { query: { programme, limit: PAGE_SIZE, cursor }, every: 10_000, when: () => false });
  const page = data.value.value;
  const next = page?.next_cursor;
  return (
    <Card
      title="Users"
      class="daily-users"
      aside={
        hasScope("write") && (
          <button class="button" type="button" onClick={() => (editing.value = {})}>
            New daily user
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
            <span class="number due clip" title={dueInWords(one)}>
              {one.due_time} <span class="quiet">{one.timezone}</span>
            </span>
            <span class="quiet">{one.next_served ? <>cutoff <RelativeTime at={one.next_served.cutoff} /></> : "not served"}</span>
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
      <RecordDialog resource={DAILY_USERS} initial={{ programme }} editing={editing.value} onClose={() => (editing.value = null)} onSaved={(answer) => (data.refresh(), answer && sayFrom(answer as unknown as DailyUser))} />
      <DeleteDialog resource={DAILY_USERS} item={deleting.value && { ...deleting.value }} onClose={() => (deleting.value = null)} onDeleted={data.refresh} />
      <UserDialog id={openUser.value} programme={programme} onClose={() => (openUser.value = null)} onEdit={(user) => (editing.value = { item: { ...user } })} onDelete={(user) => (deleting.value = user)} />
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

function sayFrom(saved: DailyUser): void {
  toast(`${saved.user_id} is due at ${dueInWords(saved)} from ${saved.changes.at(-1)?.from_date ?? saved.next_date}.`);
}

interface UserDialogProps {
  id: string | null;
  programme: string;
  onClose: () => void;
  onEdit: (user: DailyUser) => void;
  onDelete: (user: DailyUser) => void;
}

function UserDialog({ id, programme, onClose, onEdit, onDelete }: UserDialogProps): JSX.Element {
  return (
    <Dialog title={id ?? "User"} open={id !== null} onClose={onClose}>
      {id !== null && <UserDetails key={id} id={id} programme={programme} onClose={onClose} onEdit={onEdit} onDelete={onDelete} />}
    </Dialog>
  );
}

function UserDetails({ id, programme, onClose, onEdit, onDelete }: UserDialogProps & { id: string }): JSX.Element {
  const path = `/v1/daily/users/${encodeURIComponent(id)}`;
  const user = useData<DailyUser>(path, { query: { programme }, when: () => false });
  const days = useData<ListPage<Verdict>>(`${path}/days`, { query: { programme, limit: 30 }, when: () => false });
  const loaded = user.value.value;
  if (!loaded) return user.problem.value ? <ProblemNotice problem={user.problem.value} /> : <Loading what="the user" />;
  return (
    <div class="stack">
      <p>
        Due at <strong class="number">{loaded.due_time}</strong> {loaded.timezone}.{" "}
        {loaded.next_served ? `Next window: ${fullTime(loaded.next_served.opens_at)} to ${fullTime(loaded.next_served.cutoff)}, for ${loaded.next_served.date}.` : "The programme serves none of the next 400 days."}
      </p>
      {loaded.changes.map((one) => (
        <p key={one.from_date} class="quiet">
          Due at {dueInWords(one)} from {one.from_date}.
        </p>
      ))}
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
          <button class="button danger" type="button" onClick={() => (onClose(), onDelete(loaded))}>
            Delete
          </button>
        </div>
      )}
    </div>
  );
}
