/** How an endpoint is deleted, and what goes with it; its form has a page of its own. */

import type { Json } from "../forms/fields";
import { countOf, type Resource } from "../forms/resource";

async function goesWith(endpoint: Json): Promise<string[]> {
  const rules = await countOf("/v1/rules", { endpoint_id: endpoint["id"] as string }, "rule");
  return [
    rules ? `${rules} about it alone will do nothing any more.` : "No rule is about it alone.",
    "A run in flight completes, and the run history is kept until its retention ends.",
  ];
}

export const ENDPOINT: Resource = {
  slug: "endpoints",
  title: "Endpoints",
  one: "endpoint",
  about: "An endpoint is a target that runs on a schedule.",
  list: "/v1/endpoints",
  scope: "write",
  create: "POST /v1/jobs/{job_id}/endpoints",
  update: "PATCH /v1/endpoints/{id}",
  remove: "DELETE /v1/endpoints/{id}",
  sections: [],
  details: (endpoint) => String(endpoint["job_id"]),
  goesWith,
};
