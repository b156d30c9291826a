/** Making a schedule, and hearing when it will fire. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { callApi } from "../../lib/api";
import { Dialog } from "../../ui/dialog";
import { Field, Form } from "../../ui/form";
import { words } from "./people";
import type { Agent, NewSchedule } from "./types";

interface Props {
  open: boolean;
  onClose: () => void;
  onMade: () => void;
  user: string;
  agent: string | null;
  agents: Agent[];
  zone: string | null;
}

const FIELDS = ["name", "prompt", "agent_id", "timezone", "run_at", "cron_expression"];

export function NewScheduleDialog(props: Props): JSX.Element {
  const made = useSignal<NewSchedule | null>(null);
  function close(): void {
    made.value = null;
    props.onClose();
  }
  async function send(values: FormData): Promise<void> {
    const wanted = Object.fromEntries(FIELDS.map((name) => [name, words(values, name)]).filter(([, value]) => value));
    const body = { ...wanted, schedule_type: words(values, "schedule_type"), user_id: props.user };
    made.value = await callApi<NewSchedule>("POST", "/v1/schedules", { body });
    props.onMade();
  }
  return (
    <Dialog title={made.value ? "It is planned" : "New schedule"} open={props.open} onClose={close}>
      {made.value ? <Made schedule={made.value} onClose={close} /> : <Fields {...props} send={send} />}
    </Dialog>
  );
}

function Made({ schedule, onClose }: { schedule: NewSchedule; onClose: () => void }): JSX.Element {
  return (
    <div class="stack" role="status">
      <p>“{schedule.name}” fires next:</p>
      <ol class="fires">
        {schedule.next_fires.map((fire) => (
          <li key={fire}>{fire}</li>
        ))}
      </ol>
      <div>
        <button class="button primary" type="button" onClick={onClose}>
          Good
        </button>
      </div>
    </div>
  );
}

function Fields(props: Props & { send: (values: FormData) => Promise<void> }): JSX.Element {
  const kind = useSignal("one-shot");
  return (
    <Form fields={[...FIELDS, "schedule_type"]} send={props.send} submit="Plan it">
      {(problem) => (
        <>
          <Field label="Name" name="name" problem={problem}>
            {(wiring) => <input {...wiring} autocomplete="off" />}
          </Field>
          <Field label="What the agent is told" name="prompt" problem={problem}>
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
          <Field label="How often" name="schedule_type" problem={problem}>
            {(wiring) => (
              <select {...wiring} value={kind.value} onChange={(event) => (kind.value = event.currentTarget.value)}>
                <option value="one-shot">once</option>
                <option value="recurring">again and again</option>
              </select>
            )}
          </Field>
          {kind.value === "one-shot" ? (
            <Field label="When" name="run_at" problem={problem}>
              {(wiring) => <input {...wiring} type="datetime-local" step={1} />}
            </Field>
          ) : (
            <Field label="Cron line" name="cron_expression" problem={problem} help="Minute, hour, day, month, weekday: 0 9 * * 1-5">
              {(wiring) => <input {...wiring} autocomplete="off" class="mono" />}
            </Field>
          )}
          <Field label="Time zone" name="timezone" problem={problem} help={props.zone ? "" : "This user has none of their own."}>
            {(wiring) => <input {...wiring} autocomplete="off" defaultValue={props.zone ?? "UTC"} />}
          </Field>
        </>
      )}
    </Form>
  );
}
