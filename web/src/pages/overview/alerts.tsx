/** What people were alerted to, newest first. */

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

const SHOWN = 8;

export function Alerts(): JSX.Element | null {
  const data = useData<{ items: Alert[] }>("/v1/alerts", { query: { limit: SHOWN }, every: 10_000, when: () => false });
  const told = data.value.value;
  if (!told) return null;
  return (
    <Card title="Alerts" aside={told.items.length ? "newest first" : undefined}>
      {told.items.length === 0 && <p class="muted">There is nothing to be alarmed about: no breach, no endpoint that keeps failing, no quota near its end.</p>}
      <ul class="levels">
        {told.items.map((one) => (
          <li key={one.key}>
            <span class={`badge ${one.state === "over" ? "good" : "bad"}`}>{one.state === "over" ? "over" : one.kind}</span> <ServerText text={one.text} />{" "}
            <span class="quiet">
              <RelativeTime at={one.raised_at} tense="past" wall />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
