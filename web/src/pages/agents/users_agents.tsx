/** Forms that create users and agents. */

import type { JSX } from "preact";
import { callApi } from "../../lib/api";
import { Dialog } from "../../ui/dialog";
import { Field, Form } from "../../ui/form";
import { toast } from "../../ui/toast";

interface Props {
  open: boolean;
  onClose: () => void;
  onCreated: (id: string) => void;
}

export function formText(values: FormData, name: string): string {
  return String(values.get(name) ?? "").trim();
}

const LOCAL_TIMEZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function NewUser({ open, onClose, onCreated }: Props): JSX.Element {
  async function send(values: FormData): Promise<void> {
    const id = formText(values, "user_id");
    const timezone = formText(values, "timezone");
    await callApi("PUT", `/v1/users/${encodeURIComponent(id)}`, { body: timezone ? { timezone } : {} });
    toast(`Created user ${id}.`);
    onCreated(id);
    onClose();
  }
  return (
    <Dialog title="New user" open={open} onClose={onClose}>
      <Form fields={["user_id", "timezone"]} send={send} submit="Create user">
        {(problem) => (
          <>
            <Field label="Id" name="user_id" problem={problem}>
              {(wiring) => <input {...wiring} required autocomplete="off" />}
            </Field>
            <Field label="Time zone" name="timezone" problem={problem} help="Times such as “at 5pm” are in this time zone.">
              {(wiring) => <input {...wiring} defaultValue={LOCAL_TIMEZONE} autocomplete="off" />}
            </Field>
          </>
        )}
      </Form>
    </Dialog>
  );
}

export function NewAgent({ open, onClose, onCreated }: Props): JSX.Element {
  async function send(values: FormData): Promise<void> {
    const id = formText(values, "agent_id");
    const model = formText(values, "model");
    const agent = { name: formText(values, "name"), instructions: formText(values, "instructions") };
    await callApi("PUT", `/v1/agents/${encodeURIComponent(id)}`, { body: { ...agent, ...(model ? { model } : {}) } });
    toast(`Created agent ${agent.name}.`);
    onCreated(id);
    onClose();
  }
  return (
    <Dialog title="New agent" open={open} onClose={onClose}>
      <Form fields={["agent_id", "name", "instructions", "model"]} send={send} submit="Create agent">
        {(problem) => (
          <>
            <Field label="Id" name="agent_id" problem={problem}>
              {(wiring) => <input {...wiring} required autocomplete="off" />}
            </Field>
            <Field label="Name" name="name" problem={problem}>
              {(wiring) => <input {...wiring} required autocomplete="off" />}
            </Field>
            <Field label="Instructions" name="instructions" problem={problem} help="Its purpose and tone.">
              {(wiring) => <textarea {...wiring} />}
            </Field>
            <Field label="Model" name="model" problem={problem} help="provider:model, or offline. Empty: the default model from the settings, otherwise offline.">
              {(wiring) => <input {...wiring} autocomplete="off" />}
            </Field>
          </>
        )}
      </Form>
    </Dialog>
  );
}
