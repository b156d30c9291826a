/** The inputs of each kind of field. */

import type { ComponentType, InputHTMLAttributes, JSX, TextareaHTMLAttributes } from "preact";
import { useId } from "preact/hooks";
import type { ListPage } from "../lib/api";
import { useData } from "../lib/data";
import { UNITS } from "../ui/duration_field";
import { CALENDAR_INPUTS } from "./calendar_inputs";
import { ChannelRows } from "./channel_rows";
import type { Field, Option, Values } from "./fields";
import type { Amount, Body, KindName, Pair, Value } from "./kinds";

export interface InputProps {
  field: Field;
  label: string;
  value: Value;
  values: Values;
  onValue: (value: Value) => void;
  wiring: { id: string; name: string; "aria-invalid": boolean; "aria-describedby": string };
}

const MOST_OPTIONS = 500;

interface Attributes {
  type?: "password" | "time" | "datetime-local";
  step?: number;
  inputMode?: "decimal";
  autocomplete?: string;
}

function Line({ value, onValue, wiring, field, ...more }: InputProps & { attributes?: Attributes }): JSX.Element {
  const suggestions = field.suggest?.();
  const attributes = { ...wiring, autocomplete: "off", ...more.attributes, ...(suggestions ? { list: `${wiring.id}-list` } : {}) } as InputHTMLAttributes;
  return (
    <>
      <input {...attributes} spellcheck={false} value={value as string} onInput={(event) => onValue(event.currentTarget.value)} />
      {suggestions && <Suggestions id={`${wiring.id}-list`} options={suggestions.map((one) => ({ value: one, label: one }))} />}
    </>
  );
}

function Suggestions({ id, options }: { id: string; options: Option[] }): JSX.Element {
  return (
    <datalist id={id}>
      {options.map((one) => (
        <option key={one.value} value={one.value}>
          {one.label === one.value ? "" : one.label}
        </option>
      ))}
    </datalist>
  );
}

function lineOf(attributes: Attributes): ComponentType<InputProps> {
  return (props) => <Line {...props} attributes={attributes} />;
}

function areaOf(attributes: TextareaHTMLAttributes<HTMLTextAreaElement>): ComponentType<InputProps> {
  return ({ value, onValue, wiring }) => <textarea {...wiring} {...attributes} value={value as string} onInput={(event) => onValue(event.currentTarget.value)} />;
}

function Choice({ field, value, onValue, wiring, options = field.options ?? [] }: InputProps & { options?: Option[] }): JSX.Element {
  return (
    <select {...wiring} value={value as string} onChange={(event) => onValue(event.currentTarget.value)}>
      {field.none !== undefined && <option value="">{field.none}</option>}
      {options.map((one) => (
        <option key={one.value} value={one.value}>
          {one.label}
        </option>
      ))}
    </select>
  );
}

/** One of what is stored: chosen while the API can list all of it at once, else typed with suggestions. */
function Reference(props: InputProps): JSX.Element {
  const { field, value, values, onValue, wiring } = props;
  const list = field.from?.(values) ?? null;
  const data = useData<ListPage<{ id: string; name?: string }>>(list?.path ?? null, { query: { ...list?.query, limit: MOST_OPTIONS }, when: (change) => change.steered });
  const page = list === null ? { items: [], next_cursor: null } : data.value.value;
  const options = (page?.items ?? []).map((one) => {
    const name = one.name || one.id;
    return { value: field.optionValue === "name" ? name : one.id, label: name === one.id || field.optionValue === "name" ? name : `${name} (${one.id})` };
  });
  const missing = value !== "" && !options.some((one) => one.value === value);
  if (page?.next_cursor) {
    return (
      <>
        <input {...wiring} list={`${wiring.id}-list`} autocomplete="off" placeholder={field.none ?? "Type an id"} value={value as string} onInput={(event) => onValue(event.currentTarget.value)} />
        <Suggestions id={`${wiring.id}-list`} options={options} />
      </>
    );
  }
  // A select without an option for nothing would show its first one, which was never chosen.
  const first = field.none ?? (page ? (options.length ? "Choose one" : "There are none yet") : "Loading…");
  return <Choice {...props} field={{ ...field, none: first }} options={missing ? [{ value: value as string, label: value as string }, ...options] : options} />;
}

function Flag({ value, onValue, wiring }: InputProps): JSX.Element {
  return <input {...wiring} type="checkbox" checked={value as boolean} onChange={(event) => onValue(event.currentTarget.checked)} />;
}

function Duration({ label, value, onValue, wiring }: InputProps): JSX.Element {
  const amount = value as Amount;
  return (
    <div class="amount">
      <input {...wiring} inputMode="decimal" autocomplete="off" value={amount.count} onInput={(event) => onValue({ ...amount, count: event.currentTarget.value })} />
      <select aria-label={`${label}, unit`} value={amount.unit} onChange={(event) => onValue({ ...amount, unit: event.currentTarget.value })}>
        {Object.keys(UNITS).map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </div>
  );
}

function Pairs({ label, value, onValue, wiring }: InputProps): JSX.Element {
  const pairs = value as Pair[];
  const set = (index: number, part: 0 | 1, text: string): void =>
    onValue(pairs.map((pair, at) => (at !== index ? pair : part === 0 ? [text, pair[1]] : [pair[0], text])));
  return (
    <div class="pairs" role="group" aria-label={label}>
      {pairs.map(([name, text], index) => (
        <div class="pair" key={index}>
          <input aria-label={`${label}, name ${index + 1}`} aria-invalid={wiring["aria-invalid"]} placeholder="name" autocomplete="off" spellcheck={false} value={name} onInput={(event) => set(index, 0, event.currentTarget.value)} />
          <input aria-label={`${label}, value ${index + 1}`} aria-invalid={wiring["aria-invalid"]} placeholder="value" autocomplete="off" spellcheck={false} value={text} onInput={(event) => set(index, 1, event.currentTarget.value)} />
          <button class="button plain" type="button" aria-label={`Remove ${name || "this line"} from ${label.toLowerCase()}`} onClick={() => onValue(pairs.filter((_, at) => at !== index))}>
            Remove
          </button>
        </div>
      ))}
      <div>
        <button class="button" type="button" id={wiring.id} aria-label={`Add to ${label.toLowerCase()}`} aria-describedby={wiring["aria-describedby"]} onClick={() => onValue([...pairs, ["", ""]])}>
          Add to {label.toLowerCase()}
        </button>
      </div>
    </div>
  );
}

const SENT_AS: Option[] = [
  { value: "none", label: "No body" },
  { value: "json", label: "JSON" },
  { value: "text", label: "Text" },
];

function RequestBody({ label, value, onValue, wiring }: InputProps): JSX.Element {
  const body = value as Body;
  const text = useId();
  return (
    <div class="request-body">
      <select {...wiring} value={body.as} onChange={(event) => onValue({ ...body, as: event.currentTarget.value as Body["as"] })}>
        {SENT_AS.map((one) => (
          <option key={one.value} value={one.value}>
            {one.label}
          </option>
        ))}
      </select>
      {body.as !== "none" && (
        <textarea id={text} class="mono" rows={5} aria-label={`${label}, content`} aria-invalid={wiring["aria-invalid"]} aria-describedby={wiring["aria-describedby"]} spellcheck={false} value={body.text} onInput={(event) => onValue({ ...body, text: event.currentTarget.value })} />
      )}
    </div>
  );
}

const SEVERAL = areaOf({ class: "mono short", rows: 2, spellcheck: false });

export const INPUTS: Record<KindName, ComponentType<InputProps>> = {
  ...CALENDAR_INPUTS,
  text: lineOf({}),
  code: areaOf({ class: "mono", rows: 3, spellcheck: false }),
  multiline: areaOf({ rows: 4 }),
  password: lineOf({ type: "password", autocomplete: "new-password" }),
  time: lineOf({ type: "time" }),
  wall: lineOf({ type: "datetime-local", step: 1 }),
  moment: lineOf({ type: "datetime-local", step: 1 }),
  number: lineOf({ inputMode: "decimal" }),
  words: lineOf({}),
  choice: Choice,
  reference: Reference,
  flag: Flag,
  duration: Duration,
  holidays: lineOf({}),
  dates: SEVERAL,
  lines: SEVERAL,
  values: SEVERAL,
  json: areaOf({ class: "mono", rows: 4, spellcheck: false }),
  pairs: Pairs,
  body: RequestBody,
  channels: ChannelRows,
};
