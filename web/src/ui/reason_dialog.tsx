/** A question with a reason, before something is done. */

import type { ComponentChildren, JSX } from "preact";
import { Dialog } from "./dialog";
import { Field, Form } from "./form";

interface ReasonDialogProps {
  title: string;
  submit: string;
  open: boolean;
  onClose: () => void;
  send: (reason: string) => Promise<void>;
  label?: string;
  children?: ComponentChildren;
}

export function ReasonDialog({ title, submit, open, onClose, send, label = "Reason", children }: ReasonDialogProps): JSX.Element {
  return (
    <Dialog title={title} open={open} onClose={onClose}>
      <Form fields={["reason", "note"]} submit={submit} send={(values) => send(String(values.get("reason") ?? ""))}>
        {(problem) => (
          <>
            {children}
            <Field label={label} name="reason" problem={problem} help="Optional. Saved with the change and shown in the audit.">
              {(wiring) => <input {...wiring} maxLength={500} autoComplete="off" />}
            </Field>
          </>
        )}
      </Form>
    </Dialog>
  );
}

export function reasonOf(text: string): { reason?: string } {
  return text.trim() ? { reason: text.trim() } : {};
}
