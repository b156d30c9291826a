/** Redrive: run failed slots of an endpoint or a job again. */

import type { JSX } from "preact";
import { Problem } from "../lib/api";
import { Field } from "../ui/form";
import { DryRunDialog } from "./dry_run";
import { readTimeRange, TimeRangeFields } from "./time_range";

interface Props {
  about: { endpoint_id?: string | undefined; job_id?: string | undefined };
  open: boolean;
  onClose: () => void;
}

const STATUSES = ["failure", "timeout", "abandoned"];

export function Redrive({ about, open, onClose }: Props): JSX.Element {
  const subject = about.endpoint_id ? `endpoint ${about.endpoint_id}` : `job ${about.job_id ?? ""}`;
  function body(values: FormData): Record<string, unknown> {
    const reason = String(values.get("reason") ?? "").trim();
    const scope = about.endpoint_id ? { endpoint_id: about.endpoint_id } : { job_id: about.job_id };
    const status = values.getAll("status");
    if (status.length === 0) throw new Problem(422, "", "Choose at least one status.", []);
    return { ...scope, ...readTimeRange(values), status, limit: Number(values.get("limit")), ...(reason ? { reason } : {}) };
  }
  return (
    <DryRunDialog title="Redrive failed runs" noun="run" verb="Redrive" path="/v1/runs/redrive" open={open} onClose={onClose} body={body}>
      {(problem) => (
        <>
          <p>Due times of {subject} that failed run again, with the same idempotency keys.</p>
          <TimeRangeFields problem={problem} />
          <fieldset class="chips">
            <legend>Status</legend>
            {STATUSES.map((status) => (
              <label key={status} class="check">
                <input type="checkbox" name="status" value={status} defaultChecked /> {status}
              </label>
            ))}
          </fieldset>
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
