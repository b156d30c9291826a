/** Jobs: named groups of endpoints. */

import { countOf, type Resource } from "../forms/resource";
import type { Json } from "../forms/fields";
import { calendarFields, rulesOf } from "./calendar_rules";

async function goesWith(job: Json): Promise<string[]> {
  const query = { job_id: job["id"] as string };
  const counts = await Promise.all([countOf("/v1/endpoints", query, "endpoint"), countOf("/v1/rules", query, "rule")]);
  const found = counts.filter((one) => one !== null);
  const deleted = found.length ? `Deleted with it: ${found.join(" and ")}.` : "It has no endpoints and no rules.";
  return [deleted, "Runs in flight complete, and the run history is kept."];
}

export const JOBS: Resource = {
  slug: "jobs",
  title: "Jobs",
  one: "job",
  about: "A job is a named group of endpoints that are paused and resumed together.",
  list: "/v1/jobs",
  scope: "write",
  create: "POST /v1/jobs",
  update: "PATCH /v1/jobs/{id}",
  remove: "DELETE /v1/jobs/{id}",
  sections: [
    {
      fields: [
        { name: "name", label: "Name" },
        { name: "id", label: "Id", fixed: true, help: "Chosen by you, for addresses and files. Empty: chosen for you." },
        { name: "description", label: "Description", kind: "multiline", empty: "null" },
        { name: "active", label: "Active", kind: "flag", initial: true, help: "None of its endpoints runs while it is not active." },
        ...calendarFields("Its endpoints run"),
        { name: "metadata", label: "Metadata", kind: "json", empty: "null", help: "A JSON object of your own, such as a team or a runbook." },
      ],
    },
  ],
  prepare: (body, before) => ({ ...body, ...(before || body["metadata"] ? {} : { metadata: {} }), calendar: rulesOf(body) }),
  details: (job) => [job["description"], !job["active"] && "paused", job["applied"] && "from a configuration file"].filter(Boolean).join(", "),
  href: (job) => `/jobs/${encodeURIComponent(String(job["id"]))}`,
  goesWith,
};
