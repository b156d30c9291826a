/** Why the next run is when it is, and what it was chosen from. */

import type { JSX } from "preact";
import { fullTime } from "../../lib/format";
import { Card, Source, ServerText, RelativeTime } from "../../ui/parts";
import type { Plan } from "./types";

export function Why({ plan }: { plan: Plan }): JSX.Element {
  return (
    <Card title="Why this time?" aside={plan.next_run_at ? <>next run <RelativeTime at={plan.next_run_at} tense="next" /></> : "no next run"}>
      <div class="stack tight">
        {plan.gate && <p class="notice">Blocked: <ServerText text={plan.gate} />.</p>}
        <p class="answer"><ServerText text={plan.answer} /></p>
        <Candidates plan={plan} />
      </div>
    </Card>
  );
}

function Candidates({ plan }: { plan: Plan }): JSX.Element | null {
  const { candidates } = plan.governor;
  if (candidates.length === 0) return null;
  return (
    <table class="small-table candidates">
      <caption>Candidates</caption>
      <tbody>
        {candidates.map((one) => (
          <tr key={`${one.source} ${one.at}`}>
            <th scope="row">
              <Source source={one.source} />
            </th>
            <td title={fullTime(one.at)}>
              <RelativeTime at={one.at} />
            </td>
            <td>{one.source === plan.source && one.at === plan.next_run_at ? <span class="badge accent">selected</span> : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
