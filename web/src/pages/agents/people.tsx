/** Making users and agents. */

import type { JSX } from "preact";
import { callApi } from "../../lib/api";
import { Dialog } from "../../ui/dialog";
import { Field, Form } from "../../ui/form";
import { toast } from "../../ui/toast";

interface Props {
  open: boolean;
  onClose: () => void;
  onMade: (id: string) => void;
}

export function words(values: FormData, name: string): string {
  return String(values.get(name) ?? "").trim();
}

const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function NewUser({ open, onClose, onMade }: Props): JSX.Element {
  async function send(values: FormData): Promise<void> {
    const id = words(values, "user_id");
    const timezone = words(values, "timezone");
    await callApi("PUT", `/v1/users/${encodeURIComponent(id)}`, { body: timezone ? { timezone } : {} });
    toast(`${id} is there.`);
    onMade(id);
    onClose();
  }
  return (
    <Dialog title="New user" open={open} onClose={onClose}>
      <Form fields={["user_id", "timezone"]} send={send} submit="Make user">
        {(problem) => (
          <>
            <Field label="Id" name="user_id" problem={problem}>
              {(wiring) => <input {...wiring} required autocomplete="off" />}
            </Field>
            <Field label="Time zone" name="timezone" problem={problem} help="Moments like “at 5pm” are meant in it.">
              {(wiring) => <input {...wiring} defaultValue={HERE} autocomplete="off" />}
            </Field>
          </>
        )}
      </Form>
    </Dialog>
  );
}

export function NewAgent({ open, onClose, onMade }: Props): JSX.Element {
  async function send(values: FormData): Promise<void> {
    const id = words(values, "agent_id");
    const model = words(values, "model");
    const told = { name: words(values, "name"), instructions: words(values, "instructions") };
    await callApi("PUT", `/v1/agents/${encodeURIComponent(id)}`, { body: { ...told, ...(model ? { model } : {}) } });
    toast(`${told.name} is there.`);
    onMade(id);
    onClose();
  }
  return (
    <Dialog title="New agent" open={open} onClose={onClose}>
      <Form fields={["agent_id", "name", "instructions", "model"]} send={send} submit="Make agent">
        {(problem) => (
          <>
            <Field label="Id" name="agent_id" problem={problem}>
              {(wiring) => <input {...wiring} required autocomplete="off" />}
            </Field>
            <Field label="Name" name="name" problem={problem}>
              {(wiring) => <input {...wiring} required autocomplete="off" />}
            </Field>
            <Field label="Instructions" name="instructions" problem={problem} help="What it is for, and how it speaks.">
              {(wiring) => <textarea {...wiring} />}
            </Field>
            <Field label="Model" name="model" problem={problem} help="provider:model, or offline. Without one: that of the settings, or else offline.">
              {(wiring) => <input {...wiring} autocomplete="off" />}
            </Field>
          </>
        )}
      </Form>
    </Dialog>
  );
}
