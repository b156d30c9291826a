/** What stands beside a year: how much it is open, its next openings and clock changes, and what would run. */

import type { JSX } from "preact";
import { compact, counted } from "../lib/format";
import { Fact } from "../run/details";
import "../run/run.css";
import { RelativeTime } from "../ui/parts";
import type { YearPreview } from "./preview";
import { changeInWords, dateInWords } from "./words";

export function PreviewFacts({ preview }: { preview: YearPreview }): JSX.Element {
  const { clockChanges, openings, days } = preview;
  return (
    <dl class="facts">
      <Fact name={`Open in ${preview.year}`}>
        {counted(days.size, "day")}, {counted(Math.round(preview.openHours), "hour")}
      </Fact>
      <Fact name={`Next openings (${preview.timezone})`}>
        {openings.length === 0 && <span class="muted">none in {preview.year}</span>}
        {openings.map((opening) => (
          <div key={opening}>
            {dateInWords(opening.slice(0, 10))}, {opening.slice(11)}
          </div>
        ))}
      </Fact>
      <Fact name="Clock changes">
        {clockChanges.length === 0 && <span class="muted">none in {preview.year}</span>}
        {clockChanges.map((one) => (
          <div key={one.date}>
            {dateInWords(one.date)}: {changeInWords(one)}
          </div>
        ))}
      </Fact>
    </dl>
  );
}

/** How often endpoints that name it would run in this year from now on. */
export function WouldRun({ preview }: { preview: YearPreview }): JSX.Element {
  if (preview.endpoints.length === 0) return <p class="muted">No endpoint names it.</p>;
  return (
    <table class="small-table">
      <caption>If each run starts on time, and no hint comes</caption>
      <thead>
        <tr>
          <th scope="col">Endpoint</th>
          <th scope="col">Runs in {preview.year}</th>
          <th scope="col">First one</th>
        </tr>
      </thead>
      <tbody>
        {preview.endpoints.map((one) => (
          <tr key={one.endpoint_id}>
            <th scope="row">
              <a href={`/endpoints/${encodeURIComponent(one.endpoint_id)}`}>{one.name}</a>
            </th>
            <td class="number">
              {one.more && one.runs === 0 ? <span class="quiet">not foreseen so far ahead</span> : `${compact(one.runs)}${one.more ? " or more" : ""}`}
            </td>
            <td>
              <RelativeTime at={one.next_runs[0]} none="none" tense="next" />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
