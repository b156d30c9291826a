/** Users and agents. */

import { countOf, type Resource } from "../forms/resource";
import type { Json, Values } from "../forms/fields";
import { LOCAL_ZONE, timeZones } from "../forms/zones";
import { UserChannels } from "./user_channels";

async function schedulesOf(user: Json): Promise<string[]> {
  const count = await countOf("/v1/schedules", { user_id: user["id"] as string, enabled_only: false }, "schedule");
  return [`Deleted with the user: ${count ?? "no schedules"}, conversations, messages and tokens.`];
}

export const USERS: Resource = {
  slug: "users",
  title: "Users",
  one: "user",
  about: "A user talks with agents and gets the messages of schedules.",
  list: "/v1/users",
  scope: "write",
  create: "PUT /v1/users/{user_id}",
  update: "PUT /v1/users/{user_id}",
  remove: "DELETE /v1/users/{user_id}",
  read: (user) => ({ ...user, user_id: user["id"] as string }),
  notCopied: ["user_id"],
  nameOf: (user) => String(user["id"]),
  href: (user) => `/agents?user=${encodeURIComponent(String(user["id"]))}`,
  sections: [
    {
      fields: [
        { name: "user_id", label: "Id", fixed: true },
        { name: "timezone", label: "Time zone", initial: LOCAL_ZONE, suggest: timeZones, help: "Times such as “at 5pm” are in this time zone." },
      ],
    },
  ],
  details: (user) => String(user["timezone"] ?? "no time zone"),
  actions: (user) => <UserChannels user={user} />,
  goesWith: schedulesOf,
};

const answeredBy =
  (runtime: string) =>
  (values: Values): boolean =>
    values["runtime"] === runtime;

function whoAnswers(agent: Json): string {
  if (agent["runtime"] === "pull") return "processes that take turns";
  if (agent["runtime"] === "http") return String((agent["target"] as Json)["url"]);
  return String(agent["model"] ?? "default model");
}

export const AGENTS: Resource = {
  slug: "agents",
  title: "Agents",
  one: "agent",
  about: "An agent answers users, and the prompts of their schedules.",
  list: "/v1/agents",
  scope: "write",
  create: "PUT /v1/agents/{agent_id}",
  update: "PUT /v1/agents/{agent_id}",
  remove: "DELETE /v1/agents/{agent_id}",
  read: (agent) => ({ ...agent, agent_id: agent["id"] as string }),
  notCopied: ["agent_id"],
  sections: [
    {
      fields: [
        { name: "agent_id", label: "Id", fixed: true },
        { name: "name", label: "Name" },
        { name: "instructions", label: "Instructions", kind: "multiline", help: "Its purpose and tone." },
        {
          name: "runtime",
          label: "Who answers",
          kind: "choice",
          initial: "model",
          options: [
            { value: "model", label: "Cadenza, with a model or offline" },
            { value: "http", label: "A service of your own: it gets each turn" },
            { value: "pull", label: "Processes of your own: they take turns" },
          ],
        },
        { name: "model", label: "Model", when: answeredBy("model"), help: "provider:model, or offline. Empty: the default model from the settings, otherwise offline." },
        { name: "target.url", label: "URL", wide: true, when: answeredBy("http"), help: "Each turn is sent here. The address is shown to everyone who may read: secrets belong into headers." },
        { name: "target.headers", label: "Headers", kind: "pairs", when: answeredBy("http"), secrets: true },
        { name: "target.signing", label: "Signing keys", kind: "lines", when: answeredBy("http"), secrets: true, help: "References such as ${secret:NAME}, one on each line, the current one first." },
      ],
    },
  ],
  details: (agent) => `${String(agent["id"])}, ${whoAnswers(agent)}`,
  goesWith: () => Promise.resolve(["Deleted with it: its schedules and conversations. Messages that are not delivered yet stay."]),
};
