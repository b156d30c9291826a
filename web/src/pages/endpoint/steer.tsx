/** Steering an endpoint: thought about first, with what the governor would do, then done. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { asProblem, callApi, hasScope, type Problem } from "../../lib/api";
import { serverNow } from "../../lib/clock";
import { clockTime, span } from "../../lib/format";
import { DurationField, durationMs, type DurationFieldProps } from "../../ui/duration_field";
import { Field } from "../../ui/form";
import { Card, ProblemNotice, Source, ServerText, RelativeTime } from "../../ui/parts";
import { toast } from "../../ui/toast";
import type { Endpoint, Preview } from "./types";

type Way = "propose_interval" | "propose_next_time" | "pause_until" | "resume" | "run_now" | "clear_hints";
type Words = Record<string, unknown>;

const WAYS: { way: Way; name: string; done: string }[] = [
  { way: "propose_interval", name: "Interval", done: "The interval is proposed." },
  { way: "propose_next_time", name: "Next time", done: "The next time is proposed." },
  { way: "pause_until", name: "Pause", done: "It is paused." },
  { way: "resume", name: "Resume", done: "It is resumed." },
  { way: "run_now", name: "Run now", done: "It runs as soon as its guard allows." },
  { way: "clear_hints", name: "Clear hints", done: "Its hints are cleared." },
];
const MINUTE = 60_000;
const WAIT_MS = 250;

interface Props {
  endpoint: Endpoint;
  /** Told what would be, for the timeline; undefined when nothing is thought about. */
  onPreview: (preview: Preview | undefined) => void;
  onDone: () => void;
}

export function Steer({ endpoint, onPreview, onDone }: Props): JSX.Element {
  const chosen = useSignal<Way | undefined>(undefined);
  const paused = endpoint.paused_until !== null && Date.parse(endpoint.paused_until) > serverNow();
  const hinted = endpoint.interval_hint !== null || endpoint.one_shot_hint !== null;
  const fits: Partial<Record<Way, boolean>> = { pause_until: !paused, resume: paused, clear_hints: hinted, propose_interval: endpoint.baseline.kind !== "once" };
  const ways = WAYS.filter(({ way }) => fits[way] ?? true);
  function close(): void {
    chosen.value = undefined;
    onPreview(undefined);
  }
  if (!hasScope("steer")) return <Card title="Steer"><p class="muted">Your key may look, but not steer.</p></Card>;
  return (
    <Card title="Steer" aside="seen before it is done">
      <div class="ways" role="group" aria-label="How to steer">
        {ways.map(({ way, name }) => (
          <button key={way} class="button" type="button" aria-pressed={chosen.value === way} onClick={() => (chosen.value === way ? close() : (chosen.value = way))}>
            {name}
          </button>
        ))}
      </div>
      {chosen.value && (
        <Thought key={chosen.value} way={chosen.value} endpoint={endpoint} onPreview={onPreview} onClose={close} onDone={onDone} />
      )}
    </Card>
  );
}

/** The tool and what it takes, as the server knows them. */
function asked(way: Way, values: Words): { tool: string; arguments: Words } {
  if (way === "resume") return { tool: "pause_until", arguments: { untilIso: null, ...reason(values) } };
  if (way === "run_now" || way === "clear_hints") return { tool: way, arguments: {} };
  if (way === "propose_interval") {
    return { tool: way, arguments: { intervalMs: durationMs(values, "interval"), ttlMinutes: (durationMs(values, "ttl") ?? MINUTE) / MINUTE, ...reason(values) } };
  }
  if (way === "propose_next_time") return { tool: way, arguments: { nextRunInMs: durationMs(values, "in"), ...reason(values) } };
  const until = new Date(serverNow() + (durationMs(values, "for") ?? 0)).toISOString();
  return { tool: way, arguments: { untilIso: until, ...reason(values) } };
}

function reason(values: Words): Words {
  const said = String(values["reason"] ?? "").trim();
  return said ? { reason: said } : {};
}

interface ThoughtProps extends Props {
  way: Way;
  onClose: () => void;
}

function Thought({ way, endpoint, onPreview, onDone, onClose }: ThoughtProps): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const seen = useSignal<Preview | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  const sending = useSignal(false);
  const waiting = useRef(0);
  const looks = useRef(0);
  const values = (): Words => Object.fromEntries(new FormData(form.current ?? undefined));
  const path = `/v1/endpoints/${encodeURIComponent(endpoint.id)}`;

  async function look(): Promise<void> {
    const mine = ++looks.current;
    let preview: Preview | undefined;
    let refused: Problem | undefined;
    try {
      preview = await callApi<Preview>("POST", `${path}/preview`, { body: { ...asked(way, values()), runs: 30 } });
    } catch (error) {
      refused = asProblem(error);
    }
    // Answers may come in another order than questions, or when nobody thinks about it any more.
    if (mine !== looks.current) return;
    seen.value = preview;
    problem.value = refused;
    onPreview(preview);
  }
  function soon(): void {
    clearTimeout(waiting.current);
    waiting.current = window.setTimeout(() => void look(), WAIT_MS);
  }
  useEffect(() => {
    void look();
    return () => {
      clearTimeout(waiting.current);
      looks.current += 1;
    };
  }, [endpoint.next_run_at, endpoint.paused_until]);

  async function apply(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (sending.value) return;
    sending.value = true;
    try {
      await done(path, asked(way, values()));
      toast(WAYS.find((one) => one.way === way)?.done ?? "Done.");
      onClose();
      onDone();
    } catch (error) {
      problem.value = asProblem(error);
    } finally {
      sending.value = false;
    }
  }
  const fields = FIELDS[way] ?? [];
  const told = problem.value;
  const elsewhere = told && !fields.some((field) => told.of(field.apiField)) ? told : undefined;
  return (
    <form class="stack thought" ref={form} noValidate onInput={soon} onSubmit={(event) => void apply(event)}>
      {fields.map((field) => (
        <DurationField key={field.name} {...field} problem={told} />
      ))}
      {way !== "run_now" && way !== "clear_hints" && (
        <Field label="Reason" name="reason" problem={told} help="Kept beside it, for whoever asks why.">
          {(wiring) => <input {...wiring} maxLength={500} autoComplete="off" />}
        </Field>
      )}
      {elsewhere && <ProblemNotice problem={elsewhere} />}
      {seen.value && <Seen preview={seen.value} />}
      <div class="row">
        <button class="button primary" type="submit" disabled={sending.value || (told !== undefined && !seen.value)}>
          {sending.value ? "Sending…" : "Apply"}
        </button>
        <button class="button plain" type="button" onClick={onClose}>
          Leave it
        </button>
      </div>
    </form>
  );
}

async function done(path: string, { tool, arguments: given }: { tool: string; arguments: Words }): Promise<void> {
  if (tool === "run_now") await callApi("POST", `${path}/run-now`, { body: {} });
  else if (tool === "clear_hints") await callApi("DELETE", `${path}/hints`);
  else await callApi("POST", `${path}/tools/${tool}`, { body: given });
}

const FIELDS: Partial<Record<Way, DurationFieldProps[]>> = {
  propose_interval: [
    { label: "Run every", name: "interval", apiField: "intervalMs", count: 30, unit: "seconds" },
    { label: "For", name: "ttl", apiField: "ttlMinutes", count: 60, unit: "minutes" },
  ],
  propose_next_time: [{ label: "Run once, in", name: "in", apiField: "nextRunInMs", count: 10, unit: "seconds" }],
  pause_until: [{ label: "Pause for", name: "for", apiField: "untilIso", count: 30, unit: "minutes" }],
};

function Seen({ preview }: { preview: Preview }): JSX.Element {
  const { before, after } = preview;
  return (
    <div class="preview" role="status" aria-label="Preview">
      <h3>{preview.changed ? "What the governor would do" : "The next run would stay where it is"}</h3>
      <div class="preview-moves">
        <Move name="Now" course={before} />
        <span aria-hidden="true">→</span>
        <Move name="Then" course={after} />
      </div>
      <p class="muted"><ServerText text={after.plan.answer} /></p>
    </div>
  );
}

function Move({ name, course }: { name: string; course: Preview["before"] }): JSX.Element {
  const [first, second] = course.runs;
  const pace = first && second ? Date.parse(second.at) - Date.parse(first.at) : undefined;
  return (
    <div>
      <div class="quiet">{name}</div>
      <strong>{course.plan.next_run_at ? <RelativeTime at={course.plan.opens_at ?? course.plan.next_run_at} /> : "no next run"}</strong>
      <div>
        <Source source={course.plan.source} />
      </div>
      <div class="quiet">
        {pace !== undefined && `then every ${span(pace)}`}
        {course.runs.length > 0 && `: ${course.runs.slice(0, 4).map((run) => clockTime(run.at)).join(", ")}`}
      </div>
    </div>
  );
}
