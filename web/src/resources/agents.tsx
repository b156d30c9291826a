/** Users, agents and their schedules. */

import type { JSX } from "preact";
import { countOf, type Resource } from "../forms/resource";
import type { Field, Json, Values } from "../forms/fields";
import { isGiven } from "../forms/kinds";
import { NextRuns } from "../forms/next_runs";
import { LOCAL_ZONE, timeZones } from "../forms/zones";
import { fullTime } from "../lib/format";
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
        { name: "model", label: "Model", help: "provider:model, or offline. Empty: the default model from the settings, otherwise offline." },
      ],
    },
  ],
  details: (agent) => `${String(agent["id"])}, ${String(agent["model"] ?? "default model")}`,
  goesWith: () => Promise.resolve(["Deleted with it: its schedules and conversations. Messages that are not delivered yet stay."]),
};

const recurring = (values: Values): boolean => values["schedule_type"] === "recurring";
const once = (values: Values): boolean => !recurring(values);
const WHEN: Field[] = [
  { name: "schedule_type", label: "Type", kind: "choice", initial: "one-shot", options: [{ value: "one-shot", label: "one-time" }, { value: "recurring", label: "recurring" }] },
  { name: "run_at", label: "Run at", kind: "wall", when: once, help: "In the time zone below." },
  { name: "cron_expression", label: "Cron expression", when: recurring, help: "Minute, hour, day, month, weekday, in the time zone below: 0 9 * * 1-5" },
  { name: "timezone", label: "Time zone", initial: LOCAL_ZONE, suggest: timeZones },
];

function SchedulePreview({ values }: { values: Values }): JSX.Element | null {
  if (!recurring(values)) return null;
  const complete = isGiven(values["cron_expression"]!) && isGiven(values["timezone"]!);
  const line = { kind: "cron", expression: values["cron_expression"], timezone: values["timezone"] };
  return <NextRuns schedule={complete ? { baseline: line } : null} fields={WHEN} />;
}

export const SCHEDULES: Resource = {
  slug: "schedules",
  title: "Schedules",
  one: "schedule",
  about: "A schedule sends a prompt to an agent at a set time, once or repeatedly, and its user gets the answer.",
  list: "/v1/schedules",
  query: { enabled_only: false },
  scope: "write",
  create: "POST /v1/schedules",
  update: "PATCH /v1/schedules/{id}",
  remove: "DELETE /v1/schedules/{id}",
  // A moment is stored in UTC, and so is its zone.
  read: (schedule) => ({ ...schedule, run_at: (schedule["run_at"] as string | null)?.slice(0, 19) }),
  // What is changed says by its time how often it fires.
  prepare: ({ schedule_type, ...body }, before) => (before ? body : { schedule_type, ...body }),
  notCopied: ["run_at"],
  sections: [
    {
      fields: [
        { name: "name", label: "Name" },
        { name: "prompt", label: "Prompt for the agent", kind: "multiline" },
        { name: "user_id", label: "User", kind: "reference", from: () => ({ path: "/v1/users" }), fixed: true },
        { name: "agent_id", label: "Agent", kind: "reference", from: () => ({ path: "/v1/agents" }) },
      ],
    },
    { fields: WHEN, extra: SchedulePreview },
    {
      fields: [
        { name: "probe", label: "Probe", kind: "json", empty: "null", help: "What is looked at first, so that the agent gets the prompt only if that has something new: {\"target\": {\"kind\": \"http\", \"url\": \"https://…\"}, \"changed\": [\"$.items\"]}" },
      ],
    },
  ],
  href: (schedule) => `/endpoints/${encodeURIComponent(String(schedule["id"]))}`,
  details: (one) => {
    const when = one["schedule_type"] === "recurring" ? `${String(one["cron_expression"])} (${String(one["timezone"])})` : `once, ${one["run_at"] ? fullTime(one["run_at"] as string) : ""}`;
    return `${when}, by ${String(one["agent_id"])}, for ${String(one["user_id"])}${one["enabled"] ? "" : ", finished"}`;
  },
  goesWith: () => Promise.resolve(["It will not run again. Messages already sent are kept."]),
  created: (answer) => (
    <>
      <p>“{String(answer["name"])}”: next runs</p>
      <ol class="fires">
        {(answer["next_fires"] as string[]).map((fire) => (
          <li key={fire}>{fire}</li>
        ))}
      </ol>
    </>
  ),
};
