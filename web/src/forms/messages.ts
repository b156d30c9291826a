/** The API's messages in the words of a form: labels instead of names of fields, spans instead of milliseconds. */

import { span } from "../lib/format";
import type { Field } from "./fields";

const labelOf = (field: Field): string => (typeof field.label === "string" ? field.label : field.label());
const lastPart = (name: string): string => name.slice(name.lastIndexOf(".") + 1);
const escaped = (name: string): string => name.replace(/\./g, "\\.");
const number = (text: string): number => Number(text.replaceAll(",", ""));

/** A name is replaced where a message begins, and anywhere if it is no word of a sentence; `.0` behind it counts entries. */
function withLabel(message: string, name: string, label: string): string {
  const place = /[._A-Z]/.test(name) ? "(?<![\\w.$])" : "^";
  return message.replace(new RegExp(`${place}${escaped(name)}(?:\\.\\d+)?(?= |\\.?$|,)`, "g"), label);
}

export function inFormWords(message: string, fields: Field[]): string {
  const named = fields.flatMap((field) => [field.name, lastPart(field.name)].map((name) => ({ name, label: labelOf(field) })));
  const longestFirst = named.sort((one, other) => other.name.length - one.name.length);
  const labelled = longestFirst.reduce((text, { name, label }) => withLabel(text, name, label), message);
  return labelled.replace(/a whole number of milliseconds from ([\d,]+) to ([\d,]+)(?: \(([^)]*)\))?/, (_, least: string, most: string, inWords?: string) => `from ${span(number(least))} to ${inWords ?? span(number(most))}`);
}
