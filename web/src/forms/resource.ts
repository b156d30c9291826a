/** What pages know about a kind of record: its fields, and the requests that create, change and delete one. */

import type { ComponentChildren } from "preact";
import { callApi, type ListPage } from "../lib/api";
import { counted } from "../lib/format";
import { announceOwnChange } from "../lib/live";
import { requestOf, type Json, type Section } from "./fields";

export interface Resource {
  /** In the address of its list. */
  slug: string;
  title: string;
  /** In buttons and messages: `New job`. */
  one: string;
  /** What it is for; shown where there is none yet. */
  about: string;
  list: string;
  query?: Json;
  scope: "write" | "admin";
  sections: Section[];
  /** `PUT /v1/users/{user_id}` */
  create: string;
  /** Left out for what cannot be changed, but can be copied. */
  update?: string;
  remove: string;
  /** A listed item as its form has it, with what stands in paths. */
  read?: (item: Json) => Json;
  /** The last change of a body before it is sent; `before` is what is changed. */
  prepare?: (body: Json, before: Json | undefined) => Json;
  /** What a copy does not take over, beside the fixed fields. */
  notCopied?: string[];
  details: (item: Json) => ComponentChildren;
  nameOf?: (item: Json) => string;
  href?: (item: Json) => string;
  /** Further buttons of a listed item, for those who may change it. */
  actions?: (item: Json) => ComponentChildren;
  /** What is deleted with it, or stops working, in sentences. */
  goesWith?: (item: Json) => Promise<string[]>;
  /** Shown in the dialog after it was created, such as a key. */
  created?: (answer: Json) => ComponentChildren;
  submit?: string;
}

export const nameOf = (resource: Resource, item: Json): string => resource.nameOf?.(item) ?? String(item["name"] ?? item["id"]);

/** What a form starts with: the record itself, or a copy of it without what must differ. */
export function startOf(resource: Resource, item: Json | undefined, copy: boolean): Json | undefined {
  if (!item) return undefined;
  const record = resource.read?.(item) ?? item;
  if (!copy) return record;
  const left = new Set(["id", ...(resource.notCopied ?? [])]);
  const copied = Object.fromEntries(Object.entries(record).filter(([name]) => !left.has(name)));
  return typeof copied["name"] === "string" ? { ...copied, name: `${copied["name"]} (copy)` } : copied;
}

/** Create a record, or change the one before. */
export async function saveRecord(resource: Resource, body: Json, before: Json | undefined): Promise<Json | undefined> {
  const record = before && (resource.read?.(before) ?? before);
  const route = before && resource.update ? resource.update : resource.create;
  const request = requestOf(route, resource.prepare?.(body, record) ?? body, record);
  // A PUT would replace what has that name already.
  if (!before && request.method === "PUT") request.body["only_new"] = true;
  const answer = await callApi<Json | undefined>(request.method, request.path, { body: request.body });
  announceOwnChange();
  return answer;
}

export async function removeRecord(resource: Resource, item: Json): Promise<void> {
  const { method, path } = requestOf(resource.remove, {}, resource.read?.(item) ?? item);
  await callApi(method, path);
  announceOwnChange();
}

const COUNTED = 500;

/** How many there are of a list, in words: `12 endpoints`, `500 endpoints or more`. */
export async function countOf(list: string, query: Json, one: string): Promise<string | null> {
  const page = await callApi<ListPage<Json>>("GET", list, { query: { ...query, limit: COUNTED } });
  if (page.items.length === 0) return null;
  return `${counted(page.items.length, one)}${page.next_cursor ? " or more" : ""}`;
}
