/** How long a pause lasts: a duration, a date, or until it is resumed. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { Problem } from "../../lib/api";
import { serverNow } from "../../lib/clock";
import { localZone, UNTIL_RESUMED } from "../../lib/format";
import { DurationField, durationMs } from "../../ui/duration_field";
import { Field } from "../../ui/form";

/** The name the API uses for the end of a pause. */
export const PAUSE_FIELD = "untilIso";
const ENDS = { duration: "for a duration", date: "until a date", resumed: "until resumed" } as const;
type End = keyof typeof ENDS;

export function PauseFields({ problem }: { problem: Problem | undefined }): JSX.Element {
  const end = useSignal<End>("duration");
  return (
    <>
      <Field label="Pause" name="pause-end" problem={undefined}>
        {(wiring) => (
          <select {...wiring} value={end.value} onChange={(event) => (end.value = event.currentTarget.value as End)}>
            {Object.entries(ENDS).map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {end.value === "duration" && <DurationField label="Pause for" name="for" apiField={PAUSE_FIELD} count={30} unit="minutes" problem={problem} />}
      {end.value === "date" && (
        <Field label={`Pause until (${localZone()})`} name={PAUSE_FIELD} problem={problem}>
          {(wiring) => <input {...wiring} name="until" type="datetime-local" step={1} />}
        </Field>
      )}
    </>
  );
}

/** The end of the pause that the form describes, in UTC. */
export function pauseEnd(values: Record<string, unknown>): string {
  if (values["pause-end"] === "resumed") return UNTIL_RESUMED;
  if (values["pause-end"] !== "date") return new Date(serverNow() + (durationMs(values, "for") ?? 0)).toISOString();
  const until = new Date(String(values["until"] ?? ""));
  if (Number.isNaN(until.getTime())) throw missingDate();
  return until.toISOString();
}

function missingDate(): Problem {
  const message = "Choose a date and a time.";
  return new Problem(422, "", message, [{ field: PAUSE_FIELD, message }]);
}
