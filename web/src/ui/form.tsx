/** Fields that show the server's messages about them, and forms that send them. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import { asProblem, type Problem } from "../lib/api";
import { ProblemNotice } from "./parts";

interface FieldProps {
  label: string;
  /** The name the server uses in its problems. */
  name: string;
  problem?: Problem | undefined;
  help?: string;
  children: (wiring: { id: string; name: string; "aria-invalid": boolean; "aria-describedby": string }) => ComponentChildren;
}

/** A labelled field: `<Field label="Reason" name="reason" problem={p}>{(w) => <input {...w} />}</Field>`. */
export function Field({ label, name, problem, help, children }: FieldProps): JSX.Element {
  const id = useId();
  const fault = problem?.of(name);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, name, "aria-invalid": fault !== undefined, "aria-describedby": `${id}-message` })}
      <div id={`${id}-message`} class={fault ? "fault" : "help"}>
        {fault ?? help}
      </div>
    </div>
  );
}

interface FormProps {
  /** Send the values; a Problem that it throws is shown at its fields or above the button. */
  send: (values: FormData) => Promise<void>;
  fields: string[];
  children: (problem: Problem | undefined) => ComponentChildren;
  submit: string;
  busy?: string;
}

export function Form({ send, fields, children, submit, busy = "Sending…" }: FormProps): JSX.Element {
  const problem = useSignal<Problem | undefined>(undefined);
  const sending = useSignal(false);
  const shownProblem = problem.value;
  const generalProblem = shownProblem && !shownProblem.errors.some((fault) => fields.includes(fault.field)) ? shownProblem : undefined;
  async function onSubmit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (sending.value) return;
    sending.value = true;
    try {
      await send(new FormData(event.target as HTMLFormElement));
      problem.value = undefined;
    } catch (error) {
      problem.value = asProblem(error);
    } finally {
      sending.value = false;
    }
  }
  return (
    <form class="stack" noValidate onSubmit={(event) => void onSubmit(event)}>
      {children(shownProblem)}
      {generalProblem && <ProblemNotice problem={generalProblem} />}
      <div>
        <button class="button primary" type="submit" disabled={sending.value}>
          {sending.value ? busy : submit}
        </button>
      </div>
    </form>
  );
}
