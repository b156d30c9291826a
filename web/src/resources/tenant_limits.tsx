/** The limits of a tenant, which the operator sets. */

import type { Resource } from "../forms/resource";
import type { Field } from "../forms/fields";

const count = (name: string, label: string): Field => ({ name, label, kind: "number", empty: "null" });
const span = (name: string, label: string): Field => ({ name, label, kind: "duration", empty: "null" });

/** In the order in which they are shown. */
export const LIMITS: Field[] = [
  count("endpoints", "Endpoints"),
  count("runs_per_month", "Runs this month"),
  count("planner_tokens_per_month", "Planner tokens this month"),
  span("min_interval_ms", "Minimum interval"),
  count("schedules_per_user", "Schedules of a user"),
  span("schedule_min_interval_ms", "Minimum interval of a schedule"),
  count("schedule_fires_per_day", "Schedule runs of a user per day"),
  count("schedule_tokens_per_day", "Tokens of a user's schedules per day"),
];

/** Its form is opened by the page that shows usage beside the limits. */
export const TENANT_LIMITS: Resource = {
  slug: "tenant-limits",
  title: "Limits of the tenant",
  one: "limits of the tenant",
  about: "What a tenant may have and spend.",
  list: "/v1/usage",
  scope: "admin",
  create: "PUT /v1/tenants/{tenant_id}/limits",
  update: "PUT /v1/tenants/{tenant_id}/limits",
  remove: "",
  sections: [{ fields: LIMITS.map((field) => ({ ...field, help: "Empty: no limit." })) }],
  details: () => "",
};
