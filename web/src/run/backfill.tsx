/** Backfill: run the due times of a range that an endpoint did not run. */

import type { JSX } from "preact";
import { Field } from "../ui/form";
import { DryRunDialog } from "./dry_run";
import { readTimeRange, TimeRangeFields } from "./time_range";

interface Props {
  endpointId: string;
  open: boolean;
  onClose: () => void;
}

export function Backfill({ endpointId, open, onClose }: Props): JSX.Element {
  function body(values: FormData): Record<string, unknown> {
    const reason = String(values.get("reason") ?? "").trim();
    return { ...readTimeRange(values), limit: Number(values.get("limit")), ...(reason ? { reason } : {}) };
  }
  return (
    <DryRunDialog title="Backfill" noun="due time" verb="Backfill" path={`/v1/endpoints/${encodeURIComponent(endpointId)}/backfill`} open={open} onClose={onClose} body={body}>
      {(problem) => (
        <>
          <p>Due times of {endpointId} in a range that have no run are run now, one after the other, beside its schedule.</p>
          <TimeRangeFields problem={problem} />
          <Field label="At most" name="limit" problem={problem}>
            {(wiring) => <input {...wiring} type="number" min={1} max={500} defaultValue="100" />}
          </Field>
          <Field label="Reason" name="reason" problem={problem}>
            {(wiring) => <input {...wiring} maxLength={500} autoComplete="off" />}
          </Field>
        </>
      )}
    </DryRunDialog>
  );
}
