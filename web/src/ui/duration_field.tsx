/** A field for a duration: a number and its unit. */

import type { JSX } from "preact";
import { useId } from "preact/hooks";
import type { Problem } from "../lib/api";

export const UNITS: Record<string, number> = { seconds: 1_000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 };

export interface DurationFieldProps {
  label: string;
  name: string;
  /** The name the API uses for it in problems. */
  apiField: string;
  count: number;
  unit: string;
}

export function DurationField({ label, name, apiField, count, unit, problem }: DurationFieldProps & { problem?: Problem | undefined }): JSX.Element {
  const id = useId();
  const fault = problem?.of(apiField);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="amount">
        <input id={id} name={name} type="number" min={0} step="any" inputMode="decimal" defaultValue={String(count)} aria-invalid={fault !== undefined} aria-describedby={`${id}-message`} />
        <select name={`${name}-unit`} aria-label={`${label}, unit`}>
          {Object.keys(UNITS).map((one) => (
            <option key={one} value={one} selected={one === unit}>
              {one}
            </option>
          ))}
        </select>
      </div>
      <div id={`${id}-message`} class="fault">
        {fault}
      </div>
    </div>
  );
}

/** The value of such a field in milliseconds; undefined if it is not a number. */
export function durationMs(values: Record<string, unknown>, name: string): number | undefined {
  const count = Number(values[name]);
  const unit = UNITS[String(values[`${name}-unit`])] ?? 1_000;
  return values[name] === "" || values[name] === undefined || Number.isNaN(count) ? undefined : Math.round(count * unit);
}

/** Milliseconds in the largest unit that divides them. */
export function splitDuration(ms: number): { count: number; unit: string } {
  const unit = Object.keys(UNITS).findLast((one) => ms >= UNITS[one]! && ms % UNITS[one]! === 0) ?? "seconds";
  return { count: ms / UNITS[unit]!, unit };
}
