/** The newest alerts. */

import type { JSX } from "preact";
import { useData } from "../../lib/data";
import { Card, ServerText, RelativeTime } from "../../ui/parts";

interface Alert {
  key: string;
  kind: string;
  state: "begun" | "over";
  text: string;
  raised_at: string;
}

const LIMIT = 8;

export function Alerts(): JSX.Element | null {
  const data = useData<{ items: Alert[] }>("/v1/alerts", { query: { limit: LIMIT }, every: 10_000, when: () => false });
  const answer = data.value.value;
  if (!answer) return null;
  return (
    <Card title="Alerts" aside={<a href="/alerts">All alerts</a>}>
      {answer.items.length === 0 && <p class="muted">No alerts: SLOs OK, no endpoint failing repeatedly, no quota near its limit.</p>}
      <ul class="levels">
        {answer.items.map((one) => (
          <li key={one.key}>
            <span class={`badge ${one.state === "over" ? "good" : "bad"}`}>{one.state === "over" ? "resolved" : `firing: ${one.kind}`}</span> <ServerText text={one.text} />{" "}
            <span class="quiet">
              <RelativeTime at={one.raised_at} tense="past" wall />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
