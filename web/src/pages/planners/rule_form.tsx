/** The form of a rule; the server's messages are shown at their fields. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { callApi, type ListPage, type Problem } from "../../lib/api";
import { useData } from "../../lib/data";
import { counted } from "../../lib/format";
import { DurationField, durationMs, splitDuration } from "../../ui/duration_field";
import { Field, Form } from "../../ui/form";
import { Loading, ProblemNotice } from "../../ui/parts";
import { toast } from "../../ui/toast";
import type { Rule, Step } from "./types";

const TOOLS: Record<Step["tool"], string> = {
  propose_interval: "Set an interval for a limited time",
  propose_next_time: "Run once",
  pause_until: "Pause",
  wake: "Resume and run soon (wake)",
  clear: "Clear the interval hint",
};
const MINUTE = 60_000;
type Values = Record<string, FormDataEntryValue>;

export function RuleForm({ rule, onDone }: { rule: Rule | null; onDone: () => void }): JSX.Element {
  const data = useData<ListPage<{ id: string; name: string }>>(rule ? null : "/v1/jobs", { query: { limit: 200 }, when: () => false });
  const jobs = data.value.value?.items;
  async function send(form: FormData): Promise<void> {
    const values: Values = Object.fromEntries(form);
    const body = {
      name: values["name"],
      when: values["when"],
      then: step(values, "then"),
      relax: step(values, "relax"),
      cooldown_ms: durationMs(values, "cooldown") ?? 0,
      once_per_incident: values["once"] === "on",
    };
    if (rule) await callApi("PATCH", `/v1/rules/${encodeURIComponent(rule.id)}`, { body });
    else await callApi("POST", "/v1/rules", { body: { ...body, job_id: values["job_id"], ...(values["endpoint_id"] ? { endpoint_id: values["endpoint_id"] } : {}) } });
    toast(rule ? "Rule saved." : "Rule created.");
    onDone();
  }
  const fields = ["name", "when", "job_id", "endpoint_id", "cooldown_ms", ...["then", "relax"].flatMap((one) => [one, `${one}.intervalMs`, `${one}.nextRunInMs`, `${one}.pauseMs`, `${one}.ttlMinutes`, `${one}.endpoint`])];
  if (!rule && !jobs) return data.problem.value ? <ProblemNotice problem={data.problem.value} retry={data.refresh} /> : <Loading what="jobs" />;
  if (jobs?.length === 0) return <p class="muted">No jobs yet. A rule belongs to a job: create a job first.</p>;
  return (
    <Form send={send} fields={fields} submit="Save">
      {(problem) => (
        <>
          <Field label="Name" name="name" problem={problem} help="Shown as the reason of its hints.">
            {(wiring) => <input {...wiring} defaultValue={rule?.name ?? ""} autoComplete="off" />}
          </Field>
          {!rule && (
            <Field label="Job" name="job_id" problem={problem}>
              {(wiring) => (
                <select {...wiring}>
                  {jobs?.map((job) => (
                    <option key={job.id} value={job.id}>
                      {job.name}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          )}
          {!rule && (
            <Field label="Endpoint" name="endpoint_id" problem={problem} help="Endpoint id. Empty: every endpoint of the job.">
              {(wiring) => <input {...wiring} autoComplete="off" />}
            </Field>
          )}
          <Field label="When" name="when" problem={problem} help="A CEL expression over response, run, recent, siblings, endpoint and now.">
            {(wiring) => <textarea {...wiring} class="mono" rows={3} spellcheck={false} defaultValue={rule?.when ?? ""} />}
          </Field>
          <StepFields title="Then" part="then" step={rule?.then ?? null} problem={problem} />
          <StepFields title="When the condition ends" part="relax" step={rule?.relax ?? null} problem={problem} optional />
          <DurationField label="Cooldown" name="cooldown" apiField="cooldown_ms" {...splitDuration(rule?.cooldown_ms ?? 0)} problem={problem} />
          <label class="check">
            <input type="checkbox" name="once" defaultChecked={rule?.once_per_incident ?? false} /> Once per incident
          </label>
          {rule && rule.escalate.length > 0 && <p class="quiet">{counted(rule.escalate.length, "escalation is kept", "escalations are kept")}. Edit escalations with the API, the CLI or cadenza.yaml.</p>}
        </>
      )}
    </Form>
  );
}

interface StepProps {
  title: string;
  part: "then" | "relax";
  step: Step | null;
  problem: Problem | undefined;
  optional?: boolean;
}

function StepFields({ title, part, step: given, problem, optional }: StepProps): JSX.Element {
  const tool = useSignal<string>(given?.tool ?? (optional ? "" : "propose_interval"));
  const fieldValue = (ms: number | null | undefined, fallback: number): { count: number; unit: string } => splitDuration(ms ?? fallback);
  return (
    <fieldset class="step">
      <Field label={title} name={part} problem={problem}>
        {(wiring) => (
          <select {...wiring} name={`${part}-tool`} value={tool.value} onChange={(event) => (tool.value = event.currentTarget.value)}>
            {optional && <option value="">No action</option>}
            {Object.entries(TOOLS).map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {tool.value === "propose_interval" && (
        <>
          <DurationField label={`${title}: every`} name={`${part}-interval`} apiField={`${part}.intervalMs`} {...fieldValue(given?.intervalMs, 30_000)} problem={problem} />
          <DurationField label={`${title}: for`} name={`${part}-ttl`} apiField={`${part}.ttlMinutes`} {...fieldValue((given?.ttlMinutes ?? 60) * MINUTE, 60 * MINUTE)} problem={problem} />
        </>
      )}
      {(tool.value === "propose_next_time" || tool.value === "wake") && (
        <DurationField label={`${title}: after`} name={`${part}-in`} apiField={`${part}.nextRunInMs`} {...fieldValue(given?.nextRunInMs, 0)} problem={problem} />
      )}
      {tool.value === "pause_until" && <DurationField label={`${title}: for, or 0 to resume`} name={`${part}-pause`} apiField={`${part}.pauseMs`} {...fieldValue(given?.pauseMs, 30 * MINUTE)} problem={problem} />}
      {tool.value !== "" && (
        <Field label={`${title}: endpoint`} name={`${part}.endpoint`} problem={problem} help="Name of an endpoint of the job. Empty: the endpoint of the run.">
          {(wiring) => <input {...wiring} name={`${part}-endpoint`} defaultValue={given?.endpoint ?? ""} autoComplete="off" />}
        </Field>
      )}
    </fieldset>
  );
}

/** A step as the server takes it; null if there is none. */
function step(values: Values, part: string): Record<string, unknown> | null {
  const tool = String(values[`${part}-tool`] ?? "");
  if (!tool) return null;
  const endpoint = String(values[`${part}-endpoint`] ?? "").trim();
  const own: Record<string, Record<string, unknown>> = {
    propose_interval: { intervalMs: durationMs(values, `${part}-interval`), ttlMinutes: (durationMs(values, `${part}-ttl`) ?? 0) / MINUTE },
    propose_next_time: { nextRunInMs: durationMs(values, `${part}-in`) },
    wake: { nextRunInMs: durationMs(values, `${part}-in`) },
    pause_until: { pauseMs: durationMs(values, `${part}-pause`) || null },
  };
  return { tool, ...own[tool], ...(endpoint ? { endpoint: endpoint } : {}) };
}
