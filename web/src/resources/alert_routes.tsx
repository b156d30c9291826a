/** Alert routes: which conditions are sent to which channel. */

import { CHANNEL_TYPES } from "../forms/channel_rows";
import type { Resource } from "../forms/resource";
import type { Json } from "../forms/fields";
import { ActionOnRecord, sayTested } from "../forms/record_action";

function matched(match: Json): string {
  const labels = Object.entries(match["labels"] as Record<string, string>).map(([name, value]) => `${name}=${value}`);
  const lists = ["job_ids", "kinds", "severities"].flatMap((name) => match[name] as string[]);
  return [...labels, ...lists].join(", ") || "every condition";
}

export const ALERT_ROUTES: Resource = {
  slug: "alert-routes",
  title: "Alert routes",
  one: "alert route",
  about: "A route sends alerts that it matches to a channel, such as a webhook or a chat.",
  list: "/v1/alert-routes",
  scope: "write",
  create: "POST /v1/alert-routes",
  update: "PATCH /v1/alert-routes/{id}",
  remove: "DELETE /v1/alert-routes/{id}",
  sections: [
    {
      fields: [
        { name: "name", label: "Name" },
        { name: "enabled", label: "Enabled", kind: "flag", initial: true },
        { name: "channel.type", label: "Channel", kind: "choice", initial: "webhook", options: CHANNEL_TYPES },
        { name: "channel.url", label: "Address", secrets: true, help: "May hold ${secret:NAME}. It is never shown in full: *** stays as it is stored." },
        { name: "match.severities", label: "Severities", kind: "words", help: "info, warning, critical. Empty: all." },
        { name: "match.job_ids", label: "Jobs", kind: "words", help: "Ids of jobs. Empty: all." },
        { name: "match.kinds", label: "Kinds", kind: "words", help: "Kinds of conditions. Empty: all." },
        { name: "match.labels", label: "Labels", kind: "pairs" },
      ],
    },
  ],
  details: (route) => `${String((route["channel"] as Json)["type"])} ${String((route["channel"] as Json)["url"])}, ${matched(route["match"] as Json)}${route["enabled"] ? "" : ", disabled"}`,
  actions: (route) => <ActionOnRecord label="Test" name={String(route["name"])} path={`/v1/alert-routes/${encodeURIComponent(String(route["id"]))}/test`} say={sayTested} />,
  goesWith: () => Promise.resolve(["Messages that wait for it are not sent any more."]),
};
