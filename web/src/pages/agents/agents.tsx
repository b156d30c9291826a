/** Agents: a chat with one, and the schedules of a user. */

import { effect, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useId } from "preact/hooks";
import { hasScope, session, type ListPage } from "../../lib/api";
import { useData, type Data } from "../../lib/data";
import { query, setQuery } from "../../lib/router";
import { RecordDialog } from "../../forms/record_dialog";
import { AGENTS, USERS } from "../../resources/agents";
import { Empty, Loading, ProblemNotice } from "../../ui/parts";
import "./agents.css";
import { clearChats } from "./chat";
import { Conversation } from "./conversation";
import { Schedules } from "./schedules";
import type { Agent, User } from "./types";

const POLLING = { every: 30_000, when: () => false, query: { limit: 100 } };
effect(() => {
  if (session.value === null) clearChats();
});

export default function AgentsPage(): JSX.Element {
  const users = useData<ListPage<User>>("/v1/users", POLLING);
  const agents = useData<ListPage<Agent>>("/v1/agents", POLLING);
  const userList = users.value.value?.items;
  const agentList = agents.value.value?.items;
  const problem = users.problem.value ?? agents.problem.value;
  if (!userList || !agentList) {
    return problem ? <ProblemNotice problem={problem} retry={() => (users.refresh(), agents.refresh())} /> : <Loading what="agents" />;
  }
  const user = query.value.get("user") ?? userList[0]?.id ?? null;
  const agent = query.value.get("agent") ?? agentList[0]?.id ?? null;
  return (
    <div class="stack agents">
      <ParticipantPicker users={users} agents={agents} user={user} agent={agent} />
      <div class="agents-two">
        {user && agent ? (
          <Conversation key={user} user={user} agent={agent} name={agentList.find((one) => one.id === agent)?.name ?? agent} />
        ) : (
          <NothingYet users={userList.length} agents={agentList.length} />
        )}
        <Schedules user={user} agent={agent} zone={userList.find((one) => one.id === user)?.timezone ?? null} />
      </div>
    </div>
  );
}

interface ParticipantPickerProps {
  users: Data<ListPage<User>>;
  agents: Data<ListPage<Agent>>;
  user: string | null;
  agent: string | null;
}

/** The user and the agent of the chat. The first hundred are offered, and any other id can be typed. */
function ParticipantPicker({ users, agents, user, agent }: ParticipantPickerProps): JSX.Element {
  const creating = useSignal<"user" | "agent" | null>(null);
  const userList = users.value.value?.items ?? [];
  const agentList = agents.value.value?.items ?? [];
  return (
    <div class="row who">
      <Picker label="User" value={user} options={userList.map((one) => ({ id: one.id, label: one.timezone ?? "" }))} onChoose={(id) => setQuery({ user: id })} />
      <Picker label="Agent" value={agent} options={agentList.map((one) => ({ id: one.id, label: `${one.name}, ${one.model ?? "default model"}` }))} onChoose={(id) => setQuery({ agent: id })} />
      {hasScope("write") && (
        <div class="row who-new">
          <button class="button" type="button" onClick={() => (creating.value = "user")}>
            New user
          </button>
          <button class="button" type="button" onClick={() => (creating.value = "agent")}>
            New agent
          </button>
        </div>
      )}
      <RecordDialog
        resource={USERS}
        editing={creating.value === "user" ? {} : null}
        onClose={() => (creating.value = null)}
        onSaved={(user) => (users.refresh(), setQuery({ user: String(user?.["id"]) }))}
      />
      <RecordDialog
        resource={AGENTS}
        editing={creating.value === "agent" ? {} : null}
        onClose={() => (creating.value = null)}
        onSaved={(agent) => (agents.refresh(), setQuery({ agent: String(agent?.["id"]) }))}
      />
    </div>
  );
}

interface PickerProps {
  label: string;
  value: string | null;
  options: { id: string; label: string }[];
  onChoose: (id: string) => void;
}

function Picker({ label, value, options, onChoose }: PickerProps): JSX.Element {
  const id = useId();
  return (
    <div class="field choice">
      <label for={id}>{label}</label>
      <input
        id={id}
        list={`${id}-options`}
        value={value ?? ""}
        placeholder={options.length ? "" : "none yet"}
        autocomplete="off"
        spellcheck={false}
        onChange={(event) => event.currentTarget.value && onChoose(event.currentTarget.value)}
      />
      <datalist id={`${id}-options`}>
        {options.map((one) => (
          <option key={one.id} value={one.id}>
            {one.label}
          </option>
        ))}
      </datalist>
    </div>
  );
}

function NothingYet({ users, agents }: { users: number; agents: number }): JSX.Element {
  const missing = [users === 0 && "a user", agents === 0 && "an agent"].filter(Boolean).join(" and ");
  return (
    <section class="card">
      <Empty title="No conversation yet">
        <p>Create {missing} to start. An agent without a model works offline: it understands reminders in plain English.</p>
      </Empty>
    </section>
  );
}
