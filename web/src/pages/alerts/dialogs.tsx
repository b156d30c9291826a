/** Acknowledging an alert, and silencing it for a while. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { callApi } from "../../lib/api";
import { localZone } from "../../lib/format";
import { missing, utc } from "../../run/time_range";
import { Dialog } from "../../ui/dialog";
import { Field, Form } from "../../ui/form";
import { ServerText } from "../../ui/parts";
import { toast } from "../../ui/toast";
import type { Condition } from "./types";

interface Props {
  condition: Condition;
  open: boolean;
  onClose: () => void;
  onDone: () => void;
}

const pathOf = (one: Condition): string => `/v1/alerts/conditions/${encodeURIComponent(one.id)}`;

function given(values: FormData, name: string): Record<string, string> {
  const text = String(values.get(name) ?? "").trim();
  return text ? { [name]: text } : {};
}

export function AcknowledgeDialog({ condition, open, onClose, onDone }: Props): JSX.Element {
  async function send(values: FormData): Promise<void> {
    await callApi("POST", `${pathOf(condition)}/acknowledge`, { body: given(values, "note") });
    toast("Acknowledged.");
    onClose();
    onDone();
  }
  return (
    <Dialog title="Acknowledge" open={open} onClose={onClose}>
      <Form fields={["note"]} submit="Acknowledge" send={send}>
        {(problem) => (
          <>
            <p><ServerText text={condition.text} /></p>
            <Field label="Note" name="note" problem={problem} help="Optional. Shown beside the alert.">
              {(wiring) => <input {...wiring} maxLength={500} autoComplete="off" />}
            </Field>
          </>
        )}
      </Form>
    </Dialog>
  );
}

const SPANS: [string, string][] = [
  ["30", "30 minutes"],
  ["60", "1 hour"],
  ["240", "4 hours"],
  ["1440", "1 day"],
  ["10080", "7 days"],
  ["until", "until a date"],
];

export function SilenceDialog({ condition, open, onClose, onDone }: Props): JSX.Element {
  const chosen = useSignal("60");
  async function send(values: FormData): Promise<void> {
    const span = chosen.value === "until" ? { until: utc(values.get("until")) ?? missing("until") } : { minutes: Number(chosen.value) };
    await callApi("POST", `${pathOf(condition)}/silence`, { body: { ...span, ...given(values, "reason") } });
    toast("Silenced.");
    onClose();
    onDone();
  }
  return (
    <Dialog title="Silence" open={open} onClose={onClose}>
      <Form fields={["minutes", "until", "reason"]} submit="Silence" send={send}>
        {(problem) => (
          <>
            <p><ServerText text={condition.text} /></p>
            <Field label="For" name="minutes" problem={problem} help="Until then, only its recovery is sent.">
              {(wiring) => (
                <select {...wiring} value={chosen.value} onChange={(event) => (chosen.value = event.currentTarget.value)}>
                  {SPANS.map(([value, label]) => (
                    <option key={value} value={value}>
                      {label}
                    </option>
                  ))}
                </select>
              )}
            </Field>
            {chosen.value === "until" && (
              <Field label={`Until (${localZone()})`} name="until" problem={problem}>
                {(wiring) => <input {...wiring} type="datetime-local" step={1} />}
              </Field>
            )}
            <Field label="Reason" name="reason" problem={problem}>
              {(wiring) => <input {...wiring} maxLength={500} autoComplete="off" />}
            </Field>
          </>
        )}
      </Form>
    </Dialog>
  );
}
