/** Steering an endpoint, with a preview of what the governor would do. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { asProblem, callApi, hasScope, type Problem } from "../../lib/api";
import { serverNow } from "../../lib/clock";
import { clockTime, isOpenEnded, localZone, span } from "../../lib/format";
import { DurationField, durationMs, type DurationFieldProps } from "../../ui/duration_field";
import { Field } from "../../ui/form";
import { Card, ProblemNotice, Source, ServerText, RelativeTime } from "../../ui/parts";
import { toast } from "../../ui/toast";
import { PAUSE_FIELD, PauseFields, pauseEnd } from "./pause_fields";
import type { Endpoint, Preview } from "./types";

type Action = "propose_interval" | "propose_next_time" | "pause_until" | "resume" | "run_now" | "clear_hints";
type Values = Record<string, unknown>;

const ACTIONS: { action: Action; name: string; doneText: string }[] = [
  { action: "propose_interval", name: "Interval", doneText: "Interval set." },
  { action: "propose_next_time", name: "Next run", doneText: "Next run set." },
  { action: "pause_until", name: "Pause", doneText: "Endpoint paused." },
  { action: "resume", name: "Resume", doneText: "Endpoint resumed." },
  { action: "run_now", name: "Run now", doneText: "Run requested. It starts as soon as its minimum interval allows." },
  { action: "clear_hints", name: "Clear hints", doneText: "Hints cleared." },
];
const MINUTE = 60_000;
const PREVIEW_DELAY_MS = 250;

interface Props {
  endpoint: Endpoint;
  /** Called with the preview, for the timeline; undefined when there is none. */
  onPreview: (preview: Preview | undefined) => void;
  onDone: () => void;
}

export function Steer({ endpoint, onPreview, onDone }: Props): JSX.Element {
  const chosen = useSignal<Action | undefined>(undefined);
  const paused = endpoint.paused_until !== null && Date.parse(endpoint.paused_until) > serverNow();
  const hinted = endpoint.interval_hint !== null || endpoint.one_shot_hint !== null;
  const available: Partial<Record<Action, boolean>> = { pause_until: !paused, resume: paused, clear_hints: hinted, propose_interval: endpoint.baseline.kind !== "once" };
  const actions = ACTIONS.filter(({ action }) => available[action] ?? true);
  function close(): void {
    chosen.value = undefined;
    onPreview(undefined);
  }
  if (!hasScope("steer")) return <Card title="Steer"><p class="muted">Read only: steering needs a key with the steer scope.</p></Card>;
  return (
    <Card title="Steer" aside="with a preview">
      <div class="steer-actions" role="group" aria-label="Steering actions">
        {actions.map(({ action, name }) => (
          <button key={action} class="button" type="button" aria-pressed={chosen.value === action} onClick={() => (chosen.value === action ? close() : (chosen.value = action))}>
            {name}
          </button>
        ))}
      </div>
      {chosen.value && (
        <SteerForm key={chosen.value} action={chosen.value} endpoint={endpoint} onPreview={onPreview} onClose={close} onDone={onDone} />
      )}
    </Card>
  );
}

/** The tool call, as the API takes it. */
function toolCall(action: Action, values: Values): { tool: string; arguments: Values } {
  if (action === "resume") return { tool: "pause_until", arguments: { untilIso: null, ...reason(values) } };
  if (action === "run_now" || action === "clear_hints") return { tool: action, arguments: {} };
  if (action === "propose_interval") {
    return { tool: action, arguments: { intervalMs: durationMs(values, "interval"), ttlMinutes: (durationMs(values, "ttl") ?? MINUTE) / MINUTE, ...reason(values) } };
  }
  if (action === "propose_next_time") return { tool: action, arguments: { nextRunInMs: durationMs(values, "in"), ...reason(values) } };
  return { tool: action, arguments: { untilIso: pauseEnd(values), ...reason(values) } };
}

function reason(values: Values): Values {
  const text = String(values["reason"] ?? "").trim();
  return text ? { reason: text } : {};
}

interface SteerFormProps extends Props {
  action: Action;
  onClose: () => void;
}

function SteerForm({ action, endpoint, onPreview, onDone, onClose }: SteerFormProps): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const preview = useSignal<Preview | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  const sending = useSignal(false);
  const timer = useRef(0);
  const previewRequests = useRef(0);
  const values = (): Values => Object.fromEntries(new FormData(form.current ?? undefined));
  const path = `/v1/endpoints/${encodeURIComponent(endpoint.id)}`;

  async function loadPreview(): Promise<void> {
    if (!form.current) return; // It was closed, and has no values any more.
    const request = ++previewRequests.current;
    let loaded: Preview | undefined;
    let refused: Problem | undefined;
    try {
      loaded = await callApi<Preview>("POST", `${path}/preview`, { body: { ...toolCall(action, values()), runs: 30 } });
    } catch (error) {
      refused = asProblem(error);
    }
    // Answers may arrive out of order, or after the form was closed.
    if (request !== previewRequests.current) return;
    preview.value = loaded;
    problem.value = refused;
    onPreview(loaded);
  }
  function loadPreviewSoon(): void {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => void loadPreview(), PREVIEW_DELAY_MS);
  }
  useEffect(() => {
    void loadPreview();
    return () => {
      clearTimeout(timer.current);
      previewRequests.current += 1;
    };
  }, [endpoint.next_run_at, endpoint.paused_until]);

  async function onSubmit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (sending.value) return;
    sending.value = true;
    try {
      await sendCommand(path, toolCall(action, values()));
      toast(ACTIONS.find((one) => one.action === action)?.doneText ?? "Done.");
      onClose();
      onDone();
    } catch (error) {
      problem.value = asProblem(error);
    } finally {
      sending.value = false;
    }
  }
  const fields = FIELDS[action] ?? [];
  const shownProblem = problem.value;
  const apiFields = action === "pause_until" ? [PAUSE_FIELD] : fields.map((field) => field.apiField);
  const generalProblem = shownProblem && !apiFields.some((field) => shownProblem.of(field)) ? shownProblem : undefined;
  return (
    <form class="stack steer-form" ref={form} noValidate onInput={loadPreviewSoon} onSubmit={(event) => void onSubmit(event)}>
      {action === "pause_until" && <PauseFields problem={shownProblem} />}
      {fields.map((field) => (
        <DurationField key={field.name} {...field} problem={shownProblem} />
      ))}
      {action !== "run_now" && action !== "clear_hints" && (
        <Field label="Reason" name="reason" problem={shownProblem} help="Saved with the change and shown in “Why this time?”.">
          {(wiring) => <input {...wiring} maxLength={500} autoComplete="off" />}
        </Field>
      )}
      {generalProblem && <ProblemNotice problem={generalProblem} />}
      {preview.value && <PreviewPanel preview={preview.value} />}
      <div class="row">
        <button class="button primary" type="submit" disabled={sending.value || (shownProblem !== undefined && !preview.value)}>
          {sending.value ? "Sending…" : "Apply"}
        </button>
        <button class="button plain" type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </form>
  );
}

async function sendCommand(path: string, { tool, arguments: given }: { tool: string; arguments: Values }): Promise<void> {
  if (tool === "run_now") await callApi("POST", `${path}/run-now`, { body: {} });
  else if (tool === "clear_hints") await callApi("DELETE", `${path}/hints`);
  else await callApi("POST", `${path}/tools/${tool}`, { body: given });
}

const FIELDS: Partial<Record<Action, DurationFieldProps[]>> = {
  propose_interval: [
    { label: "Run every", name: "interval", apiField: "intervalMs", count: 30, unit: "seconds" },
    { label: "Valid for", name: "ttl", apiField: "ttlMinutes", count: 60, unit: "minutes" },
  ],
  propose_next_time: [{ label: "Run once, in", name: "in", apiField: "nextRunInMs", count: 10, unit: "seconds" }],
};

function PreviewPanel({ preview }: { preview: Preview }): JSX.Element {
  const { before, after } = preview;
  return (
    <div class="preview" role="status" aria-label="Preview">
      <h3>
        {preview.changed ? "Preview" : "Preview: the next run does not change"} <span class="quiet">times in {localZone()}</span>
      </h3>
      <div class="preview-moves">
        <PlanSummary name="Current" forecast={before} />
        <span aria-hidden="true">→</span>
        <PlanSummary name="After" forecast={after} />
      </div>
      <p class="muted"><ServerText text={after.plan.answer} /></p>
    </div>
  );
}

function nextRun({ plan }: Preview["before"]): ComponentChildren {
  const at = plan.opens_at ?? plan.next_run_at;
  if (!plan.next_run_at || !at) return "no next run";
  return isOpenEnded(at) ? "paused until resumed" : <RelativeTime at={at} />;
}

function PlanSummary({ name, forecast }: { name: string; forecast: Preview["before"] }): JSX.Element {
  const [first, second] = forecast.runs;
  const interval = first && second ? Date.parse(second.at) - Date.parse(first.at) : undefined;
  return (
    <div>
      <div class="quiet">{name}</div>
      <strong>{nextRun(forecast)}</strong>
      <div>
        <Source source={forecast.plan.source} />
      </div>
      <div class="quiet">
        {interval !== undefined && `then every ${span(interval)}`}
        {first && !isOpenEnded(first.at) && `: ${forecast.runs.slice(0, 4).map((run) => clockTime(run.at)).join(", ")}`}
      </div>
    </div>
  );
}
