/** A dialog for work on many runs: what would be done is shown by a dry run before it is done. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { asProblem, callApi, type Problem } from "../lib/api";
import { counted, fullTime } from "../lib/format";
import { Dialog } from "../ui/dialog";
import { ProblemNotice } from "../ui/parts";
import { toast } from "../ui/toast";
import "./run.css";

export interface DryRunResult {
  matched: number;
  queued: number;
  complete: boolean;
  items: { run_id?: string; endpoint_id?: string; slot: string }[];
}

interface Props {
  title: string;
  /** What is counted, such as `run` or `slot`. */
  noun: string;
  /** The verb of the button, such as `Redrive`. */
  verb: string;
  path: string;
  open: boolean;
  onClose: () => void;
  /** The body of the request, from the fields; it may throw a Problem. */
  body: (values: FormData) => Record<string, unknown>;
  children: (problem: Problem | undefined) => ComponentChildren;
}

/** The fields that show what is wrong with them; other problems stand above the buttons. */
const FIELDS = ["since", "until", "limit", "reason"];

export function DryRunDialog({ title, open, onClose, ...rest }: Props): JSX.Element {
  return (
    <Dialog title={title} open={open} onClose={onClose}>
      <DryRunForm {...rest} onClose={onClose} />
    </Dialog>
  );
}

function DryRunForm({ noun, verb, path, onClose, body, children }: Omit<Props, "title" | "open">): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const result = useSignal<DryRunResult | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  const sending = useSignal(false);
  const asked = useRef("");
  useEffect(() => form.current?.querySelector<HTMLElement>("input, select")?.focus(), []);

  async function ask(dryRun: boolean): Promise<void> {
    if (!form.current || sending.value) return;
    sending.value = true;
    try {
      const wanted = dryRun ? body(new FormData(form.current)) : (JSON.parse(asked.current) as Record<string, unknown>);
      asked.current = JSON.stringify(wanted);
      const answer = await callApi<DryRunResult>("POST", path, { body: { ...wanted, dry_run: dryRun } });
      problem.value = undefined;
      if (dryRun) result.value = answer;
      else {
        toast(`${counted(answer.queued, noun)} queued.`);
        onClose();
      }
    } catch (error) {
      problem.value = asProblem(error);
      result.value = undefined;
    } finally {
      sending.value = false;
    }
  }
  const found = result.value;
  return (
    <form
      class="stack"
      ref={form}
      noValidate
      onInput={() => (result.value = undefined)}
      onSubmit={(event) => {
        event.preventDefault();
        void ask(true);
      }}
    >
      {children(problem.value)}
      {problem.value && !problem.value.errors.some((fault) => FIELDS.includes(fault.field)) && <ProblemNotice problem={problem.value} />}
      {found && <Found result={found} noun={noun} />}
      <div class="row">
        <button class={`button ${found ? "" : "primary"}`} type="submit" disabled={sending.value}>
          Dry run
        </button>
        {found && found.matched > 0 && (
          <button class="button primary" type="button" disabled={sending.value} onClick={() => void ask(false)}>
            {verb} {counted(found.queued || found.items.length, noun)}
          </button>
        )}
      </div>
    </form>
  );
}

const SHOWN = 20;

function Found({ result, noun }: { result: DryRunResult; noun: string }): JSX.Element {
  const more = result.items.length - SHOWN;
  return (
    <div class="preview" role="status" aria-label="Dry run">
      <h3>{result.matched === 0 ? `Dry run: no ${noun}s match` : `Dry run: ${counted(result.matched, noun)} ${result.matched === 1 ? "matches" : "match"}`}</h3>
      <p class="quiet">No changes made{result.complete ? "" : ". The limit was reached: repeat it for the rest"}.</p>
      <ul class="slots">
        {result.items.slice(0, SHOWN).map((item, index) => (
          <li key={index}>
            {item.endpoint_id && `${item.endpoint_id}, `}
            <time dateTime={item.slot}>{fullTime(item.slot)}</time>
          </li>
        ))}
        {more > 0 && <li>and {more} more</li>}
      </ul>
    </div>
  );
}
