/** Agents: somebody talks with one, and sees what it has planned for them. */

import { effect, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useId } from "preact/hooks";
import { hasScope, session, type ListPage } from "../../lib/api";
import { useData, type Data } from "../../lib/data";
import { query, setQuery } from "../../lib/router";
import { Empty, Loading, ProblemNotice } from "../../ui/parts";
import "./agents.css";
import { forgetChats } from "./chat";
import { Conversation } from "./conversation";
import { NewAgent, NewUser } from "./people";
import { Schedules } from "./schedules";
import type { Agent, User } from "./types";

const OFTEN = { every: 30_000, when: () => false, query: { limit: 100 } };
effect(() => {
  if (session.value === null) forgetChats();
});

export default function AgentsPage(): JSX.Element {
  const users = useData<ListPage<User>>("/v1/users", OFTEN);
  const agents = useData<ListPage<Agent>>("/v1/agents", OFTEN);
  const people = users.value.value?.items;
  const known = agents.value.value?.items;
  const problem = users.problem.value ?? agents.problem.value;
  if (!people || !known) {
    return problem ? <ProblemNotice problem={problem} retry={() => (users.refresh(), agents.refresh())} /> : <Loading what="agents" />;
  }
  const user = query.value.get("user") ?? people[0]?.id ?? null;
  const agent = query.value.get("agent") ?? known[0]?.id ?? null;
  return (
    <div class="stack agents">
      <Who users={users} agents={agents} user={user} agent={agent} />
      <div class="agents-two">
        {user && agent ? (
          <Conversation key={user} user={user} agent={agent} name={known.find((one) => one.id === agent)?.name ?? agent} />
        ) : (
          <Beginning people={people.length} agents={known.length} />
        )}
        <Schedules user={user} agent={agent} agents={known} zone={people.find((one) => one.id === user)?.timezone ?? null} />
      </div>
    </div>
  );
}

interface WhoProps {
  users: Data<ListPage<User>>;
  agents: Data<ListPage<Agent>>;
  user: string | null;
  agent: string | null;
}

/** Who talks with whom. Lists may be long: the first hundred are offered, and any other can be written. */
function Who({ users, agents, user, agent }: WhoProps): JSX.Element {
  const making = useSignal<"user" | "agent" | null>(null);
  const people = users.value.value?.items ?? [];
  const known = agents.value.value?.items ?? [];
  return (
    <div class="row who">
      <Choice label="User" value={user} options={people.map((one) => ({ id: one.id, words: one.timezone ?? "" }))} onChoose={(id) => setQuery({ user: id })} />
      <Choice label="Agent" value={agent} options={known.map((one) => ({ id: one.id, words: `${one.name}, ${one.model ?? "offline or as set"}` }))} onChoose={(id) => setQuery({ agent: id })} />
      {hasScope("write") && (
        <div class="row who-new">
          <button class="button" type="button" onClick={() => (making.value = "user")}>
            New user
          </button>
          <button class="button" type="button" onClick={() => (making.value = "agent")}>
            New agent
          </button>
        </div>
      )}
      <NewUser
        open={making.value === "user"}
        onClose={() => (making.value = null)}
        onMade={(id) => (users.refresh(), setQuery({ user: id }))}
      />
      <NewAgent
        open={making.value === "agent"}
        onClose={() => (making.value = null)}
        onMade={(id) => (agents.refresh(), setQuery({ agent: id }))}
      />
    </div>
  );
}

interface ChoiceProps {
  label: string;
  value: string | null;
  options: { id: string; words: string }[];
  onChoose: (id: string) => void;
}

function Choice({ label, value, options, onChoose }: ChoiceProps): JSX.Element {
  const id = useId();
  return (
    <div class="field choice">
      <label for={id}>{label}</label>
      <input
        id={id}
        list={`${id}-known`}
        value={value ?? ""}
        placeholder={options.length ? "" : "none yet"}
        autocomplete="off"
        spellcheck={false}
        onChange={(event) => event.currentTarget.value && onChoose(event.currentTarget.value)}
      />
      <datalist id={`${id}-known`}>
        {options.map((one) => (
          <option key={one.id} value={one.id}>
            {one.words}
          </option>
        ))}
      </datalist>
    </div>
  );
}

function Beginning({ people, agents }: { people: number; agents: number }): JSX.Element {
  const missing = [people === 0 && "a user", agents === 0 && "an agent"].filter(Boolean).join(" and ");
  return (
    <section class="card">
      <Empty title="Nobody to talk with yet">
        <p>Make {missing} to begin. An agent without a model works offline: it understands reminders in plain English.</p>
      </Empty>
    </section>
  );
}
