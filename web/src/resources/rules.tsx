/** Rules: conditions on runs, and the steering they trigger. */

import type { Resource } from "../forms/resource";
import type { Field, List, Values } from "../forms/fields";

const TOOLS = [
  { value: "propose_interval", label: "Set an interval for a limited time" },
  { value: "propose_next_time", label: "Run once" },
  { value: "pause_until", label: "Pause" },
  { value: "wake", label: "Resume and run soon (wake)" },
  { value: "clear", label: "Clear the interval hint" },
];
const MINUTE = 60_000;
const endpointsOf = (values: Values): List | null => (values["job_id"] ? { path: "/v1/endpoints", query: { job_id: values["job_id"] } } : null);

/** The fields of a step: what `then` and `relax` take. */
function step(title: string, part: string, initial: string): Field[] {
  const uses = (...tools: string[]) => (values: Values): boolean => tools.includes(values[`${part}.tool`] as string);
  return [
    { name: `${part}.tool`, label: title, kind: "choice", initial, options: TOOLS, ...(initial ? {} : { none: "No action" }) },
    { name: `${part}.intervalMs`, label: `${title}: every`, kind: "duration", initial: 30_000, when: uses("propose_interval") },
    { name: `${part}.ttlMinutes`, label: `${title}: for`, kind: "duration", unit: MINUTE, initial: 60, when: uses("propose_interval") },
    { name: `${part}.nextRunInMs`, label: `${title}: after`, kind: "duration", initial: 0, when: uses("propose_next_time", "wake") },
    { name: `${part}.pauseMs`, label: `${title}: for`, kind: "duration", initial: 30 * MINUTE, empty: "null", when: uses("pause_until"), help: "Empty: resume." },
    { name: `${part}.endpoint`, label: `${title}: endpoint`, kind: "reference", from: endpointsOf, optionValue: "name", none: "The endpoint of the run", when: (values) => values[`${part}.tool`] !== "" },
  ];
}

export const RULES: Resource = {
  slug: "rules",
  title: "Rules",
  one: "rule",
  about: "A rule calls a tool when its condition is true.",
  list: "/v1/rules",
  scope: "write",
  create: "POST /v1/rules",
  update: "PATCH /v1/rules/{id}",
  remove: "DELETE /v1/rules/{id}",
  submit: "Save",
  sections: [
    {
      fields: [
        { name: "name", label: "Name", help: "Shown as the reason of its hints." },
        { name: "job_id", label: "Job", kind: "reference", from: () => ({ path: "/v1/jobs" }), fixed: true },
        { name: "endpoint_id", label: "Endpoint", kind: "reference", from: endpointsOf, none: "Every endpoint of the job", empty: "null" },
        { name: "when", label: "When", kind: "code", help: "A CEL expression over response, run, recent, siblings, endpoint and now." },
      ],
    },
    { fields: step("Then", "then", "propose_interval") },
    { fields: step("When the condition ends", "relax", "") },
    {
      fields: [
        { name: "cooldown_ms", label: "Cooldown", kind: "duration", initial: 0 },
        { name: "once_per_incident", label: "Once per incident", kind: "flag", initial: false },
        { name: "escalate", label: "Escalations", kind: "json", help: "Steps for incidents that last: [{\"after_ms\": 600000, \"then\": {\"tool\": \"wake\"}}]" },
      ],
    },
  ],
  prepare: (body) => ({ escalate: [], ...body, relax: (body["relax"] as { tool?: string } | undefined)?.tool ? body["relax"] : null }),
  details: (rule) => String(rule["job_id"]),
  goesWith: () => Promise.resolve(["Hints that it wrote stay until they expire."]),
};
