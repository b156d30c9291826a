/** Forms as data: what a field is, and how the values of fields become the body of a request and come from a record. */

import type { ComponentType } from "preact";
import { Problem, type FieldFault } from "../lib/api";
import { isGiven, kinds, type KindName, type Value } from "./kinds";
import { inFormWords } from "./messages";

export type Values = Record<string, Value>;
/** An object of JSON, as the API takes and gives it. */
export type Json = Record<string, unknown>;

export interface Option {
  value: string;
  label: string;
}

/** A list of the API, and what is asked of it. */
export interface List {
  path: string;
  query?: Json;
}

export interface Field {
  /** The path in the request, as the API names it in its problems: `policy.timeout_ms`. */
  name: string;
  label: string | (() => string);
  kind?: KindName;
  help?: string;
  options?: Option[];
  /** The list of which the options are, by the values so far; null: none. */
  from?: (values: Values) => List | null;
  /** Which part of a loaded item is the value; its id if left out. */
  optionValue?: "id" | "name";
  /** The option for no value. */
  none?: string;
  /** Only shown, and only sent, while this is true. */
  when?: (values: Values) => boolean;
  /** Of a new record, in JSON. */
  initial?: unknown;
  /** What an empty field sends: nothing, or null. */
  empty?: "null";
  /** Cannot be changed later. */
  fixed?: boolean;
  /** A unit other than milliseconds in which the API takes a duration, in milliseconds. */
  unit?: number;
  /** Secrets can be referred to. */
  secrets?: boolean;
  /** Suggested while typing. */
  suggest?: () => string[];
  /** Long texts are typed here: it gets a line of its own. */
  wide?: boolean;
  /** What can be created beside this field, to choose it then. */
  create?: string;
}

export interface Section {
  title?: string;
  fields: Field[];
  /** Folded until it is opened, as most never change these. */
  folded?: boolean;
  /** Shown below the fields, such as a preview. */
  extra?: ComponentType<{ values: Values }>;
}

export function allFields(sections: Section[]): Field[] {
  return sections.flatMap((section) => section.fields);
}

/** The fields that are shown and sent now. */
export function shownFields(fields: Field[], values: Values, editing: boolean): Field[] {
  return fields.filter((field) => !(editing && field.fixed) && (field.when?.(values) ?? true));
}

function at(record: Json | undefined, path: string): unknown {
  return path.split(".").reduce<unknown>((here, name) => (here as Json | undefined | null)?.[name], record);
}

/** The values of a form for a record, or for a new one. */
export function valuesOf(fields: Field[], record: Json | undefined): Values {
  return Object.fromEntries(
    fields.map((field) => {
      const found = at(record, field.name);
      // Null is no value; what the record does not have at all is as for a new one.
      const json = found === undefined ? field.initial : (found ?? undefined);
      return [field.name, kinds[field.kind ?? "text"].read(json, field)];
    }),
  );
}

/** The names of the fields that say of which kind the group around them is. */
const DISCRIMINATORS = ["kind", "tool"];

/** A group of the record before, to keep what no field shows; nothing of a group that has become another kind. */
function keptGroup(before: Json | undefined, group: string, values: Values): Json {
  const earlier = before?.[group] as Json | null | undefined;
  if (!earlier || typeof earlier !== "object") return {};
  const same = DISCRIMINATORS.every((name) => !(`${group}.${name}` in values) || values[`${group}.${name}`] === earlier[name]);
  return same ? { ...earlier } : {};
}

/** The body of a request; a Problem at the fields whose text is no value, such as broken JSON. */
export function bodyOf(fields: Field[], values: Values, before?: Json): Json {
  const body: Json = {};
  const faults: FieldFault[] = [];
  for (const field of fields) {
    const [first, second] = field.name.split(".") as [string, string?];
    if (second !== undefined) body[first] ??= keptGroup(before, first, values);
    const place: Json = second === undefined ? body : (body[first] as Json);
    const name = second ?? first;
    delete place[name];
    const value = values[field.name]!;
    if (!isGiven(value)) {
      if (field.empty) place[name] = null;
      continue;
    }
    try {
      place[name] = kinds[field.kind ?? "text"].write(value, field);
    } catch (error) {
      faults.push({ field: field.name, message: error instanceof Error ? error.message : String(error) });
    }
  }
  if (faults.length) throw new Problem(422, "invalid-request", faults[0]!.message, faults);
  return body;
}

/** The field beside which a fault is shown: the nearest around its path, else the first of its group. */
export function fieldOf(fault: FieldFault, fields: Field[]): Field | undefined {
  const around = fields.filter((field) => fault.field === field.name || fault.field.startsWith(`${field.name}.`));
  if (around.length) return around.reduce((one, other) => (other.name.length > one.name.length ? other : one));
  const inside = fields.filter((field) => field.name.startsWith(`${fault.field}.`));
  return inside.find((field) => !DISCRIMINATORS.some((name) => field.name.endsWith(`.${name}`))) ?? inside[0];
}

/** The first message for each field, and those that are about none. */
export function placedFaults(problem: Problem | undefined, fields: Field[]): { beside: Map<string, string>; general: string[] } {
  const beside = new Map<string, string>();
  const general: string[] = [];
  if (!problem) return { beside, general };
  for (const fault of problem.errors) {
    const field = fieldOf(fault, fields);
    // The field itself first: two groups may have fields of the same last name.
    const message = inFormWords(fault.message, field ? [field, ...fields] : fields);
    if (!field) general.push(message);
    else if (!beside.has(field.name)) beside.set(field.name, message);
  }
  if (problem.errors.length === 0) general.push(problem.message);
  return { beside, general };
}

const MISSING = "This is missing.";

/** Send `PUT /v1/users/{user_id}`: names in braces are filled from the body, which then lacks them, or from the record. */
export function requestOf(route: string, body: Json, record: Json = {}): { method: "POST" | "PUT" | "PATCH" | "DELETE"; path: string; body: Json } {
  const [method, pattern] = route.split(" ") as ["POST" | "PUT" | "PATCH" | "DELETE", string];
  const rest = { ...body };
  const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(rest[name] ?? record[name] ?? "");
    if (value === "") throw new Problem(422, "", MISSING, [{ field: name, message: MISSING }]);
    delete rest[name];
    return encodeURIComponent(value);
  });
  return { method, path, body: rest };
}
