/** The form that creates a schedule, and shows when it will fire. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { callApi } from "../../lib/api";
import { Dialog } from "../../ui/dialog";
import { Field, Form } from "../../ui/form";
import { formText } from "./users_agents";
import type { Agent, NewSchedule } from "./types";

interface Props {
  open: boolean;
  onClose: () => void;
  onCreated: () => void;
  user: string;
  agent: string | null;
  agents: Agent[];
  zone: string | null;
}

const FIELDS = ["name", "prompt", "agent_id", "timezone", "run_at", "cron_expression"];

export function NewScheduleDialog(props: Props): JSX.Element {
  const created = useSignal<NewSchedule | null>(null);
  function close(): void {
    created.value = null;
    props.onClose();
  }
  async function send(form: FormData): Promise<void> {
    const values = Object.fromEntries(FIELDS.map((name) => [name, formText(form, name)]).filter(([, value]) => value));
    const body = { ...values, schedule_type: formText(form, "schedule_type"), user_id: props.user };
    created.value = await callApi<NewSchedule>("POST", "/v1/schedules", { body });
    props.onCreated();
  }
  return (
    <Dialog title={created.value ? "Schedule created" : "New schedule"} open={props.open} onClose={close}>
      {created.value ? <CreatedSchedule schedule={created.value} onClose={close} /> : <Fields {...props} send={send} />}
    </Dialog>
  );
}

function CreatedSchedule({ schedule, onClose }: { schedule: NewSchedule; onClose: () => void }): JSX.Element {
  return (
    <div class="stack" role="status">
      <p>“{schedule.name}”: next runs</p>
      <ol class="fires">
        {schedule.next_fires.map((fire) => (
          <li key={fire}>{fire}</li>
        ))}
      </ol>
      <div>
        <button class="button primary" type="button" onClick={onClose}>
          Done
        </button>
      </div>
    </div>
  );
}

function Fields(props: Props & { send: (values: FormData) => Promise<void> }): JSX.Element {
  const kind = useSignal("one-shot");
  return (
    <Form fields={[...FIELDS, "schedule_type"]} send={props.send} submit="Create schedule">
      {(problem) => (
        <>
          <Field label="Name" name="name" problem={problem}>
            {(wiring) => <input {...wiring} autocomplete="off" />}
          </Field>
          <Field label="Prompt for the agent" name="prompt" problem={problem}>
            {(wiring) => <textarea {...wiring} />}
          </Field>
          <Field label="Agent" name="agent_id" problem={problem}>
            {(wiring) => (
              <select {...wiring}>
                {props.agents.map((one) => (
                  <option key={one.id} value={one.id} selected={one.id === props.agent}>
                    {one.name}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Type" name="schedule_type" problem={problem}>
            {(wiring) => (
              <select {...wiring} value={kind.value} onChange={(event) => (kind.value = event.currentTarget.value)}>
                <option value="one-shot">one-time</option>
                <option value="recurring">recurring</option>
              </select>
            )}
          </Field>
          {kind.value === "one-shot" ? (
            <Field label="Run at" name="run_at" problem={problem} help="In the time zone below.">
              {(wiring) => <input {...wiring} type="datetime-local" step={1} />}
            </Field>
          ) : (
            <Field label="Cron expression" name="cron_expression" problem={problem} help="Minute, hour, day, month, weekday, in the time zone below: 0 9 * * 1-5">
              {(wiring) => <input {...wiring} autocomplete="off" class="mono" />}
            </Field>
          )}
          <Field label="Time zone" name="timezone" problem={problem} help={props.zone ? "" : "This user has no time zone set."}>
            {(wiring) => <input {...wiring} autocomplete="off" defaultValue={props.zone ?? "UTC"} />}
          </Field>
        </>
      )}
    </Form>
  );
}
