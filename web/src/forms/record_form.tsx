/** One renderer for all forms: sections of fields, the API's messages beside them, and a warning before changes are lost. */

import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { asProblem, Problem, session } from "../lib/api";
import { path } from "../lib/router";
import { useUnsavedChanges } from "../lib/unsaved";
import { Field as LabelledField } from "../ui/form";
import { ProblemNotice } from "../ui/parts";
import { allFields, bodyOf, placedFaults, shownFields, valuesOf, type Field, type Json, type Section, type Values } from "./fields";
import "./forms.css";
import { INPUTS } from "./inputs";
import type { KindName, Value } from "./kinds";
import { SecretPicker } from "./secret_picker";

/** What buttons beside "Save" may ask of the form. */
export interface FormAccess {
  values: Values;
  /** The body as it would be sent; throws a Problem, which `attempt` shows. */
  body: () => Json;
  /** Do something; a Problem that it throws is shown beside the fields. */
  attempt: (action: () => Promise<void>) => Promise<void>;
  set: (name: string, value: Values[string]) => void;
  busy: boolean;
}

interface Props {
  sections: Section[];
  /** What is edited or copied; undefined for something new. */
  record: Json | undefined;
  /** Whether it is saved to the record, so that fixed fields are not shown. */
  editing: boolean;
  submit: string;
  send: (body: Json) => Promise<void>;
  /** Beside the button: other actions. */
  actions?: (form: FormAccess) => ComponentChildren;
  /** Above the buttons, such as the result of a test. */
  result?: ComponentChildren;
  /** Asked for what is created beside a field. */
  onCreate?: (what: string, choose: (id: string) => void) => void;
  cancel?: (() => void) | undefined;
}

/** What was typed when the session ended, by address and form; restored after the next login. */
const drafts = new Map<string, Values>();

export function RecordForm(props: Props): JSX.Element {
  const { sections, record, editing, submit } = props;
  const fields = allFields(sections);
  const key = `${path.value} ${submit} ${fields[0]?.name ?? ""}`;
  const initial = useMemo(() => valuesOf(fields, record), []);
  const values = useSignal<Values>(useMemo(() => drafts.get(key) ?? initial, []));
  const problem = useSignal<Problem | undefined>(undefined);
  const busy = useSignal(false);
  const saved = useSignal(false);
  const element = useRef<HTMLFormElement>(null);
  const isUnsaved = (): boolean => !saved.peek() && JSON.stringify(values.peek()) !== JSON.stringify(initial);
  useUnsavedChanges(isUnsaved);
  useEffect(() => {
    drafts.delete(key);
    return () => {
      if (session.peek() === null && isUnsaved()) drafts.set(key, values.peek());
    };
  }, []);
  const shown = shownFields(fields, values.value, editing);
  const { beside, general } = placedFaults(problem.value, shown);

  function set(name: string, value: Values[string]): void {
    values.value = { ...values.peek(), [name]: value };
  }
  async function attempt(action: () => Promise<void>): Promise<void> {
    if (busy.peek()) return;
    busy.value = true;
    try {
      await action();
      problem.value = undefined;
    } catch (error) {
      problem.value = asProblem(error);
      // After the messages are there, the first field at fault is where typing goes on.
      requestAnimationFrame(() => element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
    } finally {
      busy.value = false;
    }
  }
  const body = (): Json => bodyOf(shownFields(fields, values.peek(), editing), values.peek(), record);
  function onSubmit(event: SubmitEvent): void {
    event.preventDefault();
    void attempt(async () => {
      const sent = body();
      saved.value = true;
      try {
        await props.send(sent);
      } catch (error) {
        saved.value = false;
        throw error;
      }
    });
  }
  return (
    <form class="stack record-form" noValidate ref={element} onSubmit={onSubmit} onKeyDown={submitFromText}>
      {sections.map((section, index) => (
        <SectionFields key={index} section={section} shown={shown} values={values} faults={beside} set={set} onCreate={props.onCreate} />
      ))}
      {general.map((message) => (
        <ProblemNotice key={message} problem={new Problem(problem.value!.status, "", message, [], problem.value!.requestId)} />
      ))}
      {beside.size > 0 && (
        <p class="fault" role="alert">
          {beside.size === 1 ? "A field needs a change" : `${beside.size} fields need a change`}: see the message beside it.
        </p>
      )}
      {props.result}
      <div class="row form-actions">
        <button class="button primary" type="submit" disabled={busy.value}>
          {submit}
        </button>
        {props.actions?.({ values: values.value, body, attempt, set, busy: busy.value })}
        {props.cancel && (
          <button class="button" type="button" onClick={props.cancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  );
}

/** Ctrl or Cmd with Enter submits, also from a text of several lines. */
function submitFromText(event: KeyboardEvent & { currentTarget: HTMLFormElement }): void {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
}

interface SectionProps {
  section: Section;
  shown: Field[];
  values: Signal<Values>;
  faults: Map<string, string>;
  set: (name: string, value: Values[string]) => void;
  onCreate: Props["onCreate"];
}

function SectionFields(props: SectionProps): JSX.Element | null {
  const { section, shown, values, faults } = props;
  const fields = section.fields.filter((field) => shown.includes(field));
  const Extra = section.extra;
  if (fields.length === 0) return null;
  const content = (
    <div class="section-fields">
      {fields.map((field) => (
        <OneField key={field.name} field={field} {...props} />
      ))}
      {Extra && <Extra values={values.value} />}
    </div>
  );
  if (section.title === undefined) return content;
  if (section.folded) {
    return (
      <details class="section" open={fields.some((field) => faults.has(field.name))}>
        <summary>{section.title}</summary>
        {content}
      </details>
    );
  }
  return (
    <fieldset class="section">
      <legend>{section.title}</legend>
      {content}
    </fieldset>
  );
}

/** Kinds that get a line of their own where fields stand beside each other. */
const WHOLE_LINE = new Set<KindName>(["pairs", "channels", "body", "multiline", "code", "json", "lines", "values", "weekly", "day-parts"]);

/** Whether a field has a text now that a reference can be put into. */
function takesText(value: Value): boolean {
  return Array.isArray(value) ? value.length > 0 : typeof value === "object" && "as" in value ? value.as !== "none" : true;
}

function OneField({ field, values, faults, set, onCreate }: SectionProps & { field: Field }): JSX.Element {
  const label = typeof field.label === "string" ? field.label : field.label();
  const Input = INPUTS[field.kind ?? "text"];
  const fault = faults.get(field.name);
  const box = useRef<HTMLDivElement>(null);
  const problem = fault === undefined ? undefined : new Problem(422, "", fault, [{ field: field.name, message: fault }]);
  return (
    <div ref={box} class={field.kind === "flag" ? "flag" : field.wide || WHOLE_LINE.has(field.kind ?? "text") ? "whole" : undefined}>
      <LabelledField label={label} name={field.name} problem={problem} {...(field.help ? { help: field.help } : {})}>
        {(wiring) => (
          <>
            <Input field={field} label={label} value={values.value[field.name]!} values={values.value} onValue={(value) => set(field.name, value)} wiring={wiring} />
            {field.secrets && takesText(values.value[field.name]!) && <SecretPicker box={box} label={label} {...(onCreate ? { onCreate } : {})} />}
            {field.create && onCreate && (
              <div>
                <button class="button plain" type="button" onClick={() => onCreate(field.create!, (id) => set(field.name, id))}>
                  New {field.create}
                </button>
              </div>
            )}
          </>
        )}
      </LabelledField>
    </div>
  );
}
