/** A span as people write it: a number and its unit. */

import type { JSX } from "preact";
import { useId } from "preact/hooks";
import type { Problem } from "../lib/api";

const UNITS: Record<string, number> = { seconds: 1_000, minutes: 60_000, hours: 3_600_000 };

export interface AmountField {
  label: string;
  name: string;
  /** What the server calls it in its problems. */
  said: string;
  count: number;
  unit: string;
}

export function Amount({ label, name, said, count, unit, problem }: AmountField & { problem?: Problem | undefined }): JSX.Element {
  const id = useId();
  const fault = problem?.of(said);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="amount">
        <input id={id} name={name} type="number" min={0} step="any" inputMode="decimal" defaultValue={String(count)} aria-invalid={fault !== undefined} aria-describedby={`${id}-said`} />
        <select name={`${name}-unit`} aria-label={`${label}, unit`}>
          {Object.keys(UNITS).map((one) => (
            <option key={one} value={one} selected={one === unit}>
              {one}
            </option>
          ))}
        </select>
      </div>
      <div id={`${id}-said`} class="fault">
        {fault}
      </div>
    </div>
  );
}

/** What was written into such a field, in milliseconds; undefined if that is no number. */
export function amount(values: Record<string, unknown>, name: string): number | undefined {
  const count = Number(values[name]);
  const unit = UNITS[String(values[`${name}-unit`])] ?? 1_000;
  return values[name] === "" || values[name] === undefined || Number.isNaN(count) ? undefined : Math.round(count * unit);
}

/** Milliseconds as such a field shows them: in the largest unit that leaves no rest. */
export function inUnits(ms: number): { count: number; unit: string } {
  const unit = Object.keys(UNITS).findLast((one) => ms >= UNITS[one]! && ms % UNITS[one]! === 0) ?? "seconds";
  return { count: ms / UNITS[unit]!, unit };
}
