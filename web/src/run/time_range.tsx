/** Fields for a time range in the past: the last hours, or between two moments. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { Problem } from "../lib/api";
import { serverNow } from "../lib/clock";
import { localZone } from "../lib/format";
import { Field } from "../ui/form";

const HOUR = 3_600_000;
export const RANGES: { name: string; ms: number }[] = [
  { name: "15 m", ms: HOUR / 4 },
  { name: "1 h", ms: HOUR },
  { name: "6 h", ms: 6 * HOUR },
  { name: "24 h", ms: 24 * HOUR },
  { name: "7 d", ms: 168 * HOUR },
  { name: "30 d", ms: 720 * HOUR },
];

export function TimeRangeFields({ problem }: { problem: Problem | undefined }): JSX.Element {
  const chosen = useSignal("24 h");
  return (
    <>
      <Field label="Time range" name="range" problem={undefined}>
        {(wiring) => (
          <select {...wiring} value={chosen.value} onChange={(event) => (chosen.value = event.currentTarget.value)}>
            {RANGES.map((one) => (
              <option key={one.name} value={one.name}>
                last {one.name}
              </option>
            ))}
            <option value="between">between two dates</option>
          </select>
        )}
      </Field>
      {chosen.value === "between" && (
        <div class="amount">
          <Field label={`From (${localZone()})`} name="since" problem={problem}>
            {(wiring) => <input {...wiring} type="datetime-local" step={1} />}
          </Field>
          <Field label={`Until (${localZone()})`} name="until" problem={problem}>
            {(wiring) => <input {...wiring} type="datetime-local" step={1} />}
          </Field>
        </div>
      )}
    </>
  );
}

/** The range of such fields, in UTC. */
export function readTimeRange(values: FormData): { since: string; until?: string } {
  const range = RANGES.find((one) => one.name === values.get("range"));
  if (range) return { since: new Date(serverNow() - range.ms).toISOString(), until: new Date(serverNow()).toISOString() };
  const until = utc(values.get("until"));
  return { since: utc(values.get("since")) ?? missing("since"), ...(until ? { until } : {}) };
}

/** What a field for a local date and time holds, in UTC; undefined if it is empty. */
export function utc(local: FormDataEntryValue | null): string | undefined {
  const moment = new Date(String(local ?? ""));
  return Number.isNaN(moment.getTime()) ? undefined : moment.toISOString();
}

/** The problem of a field for a date that is empty. */
export function missing(field: string): never {
  const message = "Choose a date and a time.";
  throw new Problem(422, "", message, [{ field, message }]);
}
