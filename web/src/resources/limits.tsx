/** Limits of runs: how many are in flight, and begin in a minute, by host, job or key. */

import type { Resource } from "../forms/resource";
import { counted } from "../lib/format";

const KINDS = [
  { value: "host", label: "Host of the URL" },
  { value: "job", label: "Job" },
  { value: "key", label: "Key that endpoints name as their limit key" },
];

export const RUN_LIMITS: Resource = {
  slug: "limits",
  title: "Limits of runs",
  one: "limit",
  about: "A limit bounds how many runs of a host, a job or a key are in flight, and how many begin in a minute, on all workers together.",
  list: "/v1/limits",
  scope: "admin",
  create: "PUT /v1/limits/{kind}/{name}",
  update: "PUT /v1/limits/{kind}/{name}",
  remove: "DELETE /v1/limits/{kind}/{name}",
  notCopied: ["name"],
  sections: [
    {
      fields: [
        { name: "kind", label: "Limit by", kind: "choice", initial: "host", options: KINDS, fixed: true },
        { name: "name", label: "Name", fixed: true, help: "The host without a port, the id of the job, or the key." },
        { name: "max_in_flight", label: "Runs in flight", kind: "number", empty: "null", help: "Empty: not limited." },
        { name: "max_per_minute", label: "Runs a minute", kind: "number", empty: "null", help: "Empty: not limited." },
      ],
    },
  ],
  nameOf: (limit) => `${String(limit["kind"])} ${String(limit["name"])}`,
  details: (limit) => {
    const most = (name: string): string => (limit[name] === null ? "no limit" : String(limit[name]));
    // Starts are counted only where they are limited.
    const started = limit["max_per_minute"] === null ? "starts not limited" : `${String(limit["started_in_minute"])} in the last minute (${most("max_per_minute")})`;
    const held = limit["holds_back"] ? `, holds back ${counted(limit["waiting"] as number, "endpoint")}` : "";
    return `${String(limit["in_flight"])} in flight (${most("max_in_flight")}), ${started}${held}`;
  },
  goesWith: () => Promise.resolve(["What waited for it goes on."]),
};
