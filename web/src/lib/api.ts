/** The one way to the server: same origin, session cookie, CSRF token, problems as errors. */

import { signal } from "@preact/signals";
import type { Clocks } from "./clock";

export interface Session extends Clocks {
  tenant_id: string;
  scopes: string[];
  csrf: string;
  expires_at: string;
}

/** null: nobody is logged in; undefined: not asked yet. */
export const session = signal<Session | null | undefined>(undefined);
/** Whether somebody was logged in, and is no longer without having gone out. */
export const lapsed = signal(false);

export interface FieldFault {
  field: string;
  message: string;
}

/** A refusal as RFC 9457 tells it. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly type: string,
    message: string,
    readonly errors: FieldFault[] = [],
    readonly requestId: string | null = null,
  ) {
    super(message);
  }

  /** What was said about one field, if anything. */
  of(field: string): string | undefined {
    return this.errors.find((fault) => fault.field === field)?.message;
  }
}

/** What went wrong, in the one form that pages show. */
export function asProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, "", error instanceof Error ? error.message : String(error));
}

/** A page of a list. */
export interface Listed<Item> {
  items: Item[];
  next_cursor: string | null;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Words = Record<string, unknown>;

interface Options {
  query?: Words;
  body?: Words;
  signal?: AbortSignal;
}

/** Ask an operation, e.g. `ask<RunsPage>("GET", "/v1/runs", { query: { limit: 20 } })`. */
export async function ask<Answer>(method: Method, path: string, options: Options = {}): Promise<Answer> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && session.value) headers["X-Csrf-Token"] = session.value.csrf;
  const init: RequestInit = { method, headers, credentials: "same-origin", redirect: "error" };
  if (options.body !== undefined) init.body = JSON.stringify(options.body);
  if (options.signal !== undefined) init.signal = options.signal;
  const response = await reached(fetch(path + asQuery(options.query), init));
  if (response.ok) return (response.status === 204 ? undefined : await response.json()) as Answer;
  const problem = await refusal(response);
  if (problem.status === 401 && session.value) {
    lapsed.value = true;
    session.value = null;
  }
  throw problem;
}

async function reached(asked: Promise<Response>): Promise<Response> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "unreachable", "The server cannot be reached. It is tried again by itself.");
  }
}

async function refusal(response: Response): Promise<Problem> {
  try {
    const told = (await response.json()) as {
      type?: string;
      detail?: string;
      title?: string;
      errors?: FieldFault[];
      request_id?: string;
    };
    const words = told.detail ?? told.title ?? response.statusText;
    return new Problem(response.status, told.type ?? "", words, told.errors, told.request_id ?? null);
  } catch {
    return new Problem(response.status, "", `The server answered ${response.status}.`);
  }
}

function asQuery(query: Words | undefined): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") pairs.append(name, String(one));
    }
  }
  const text = pairs.toString();
  return text ? `?${text}` : "";
}

/** May whoever is logged in do this? Scopes include those before them. */
export function may(scope: "read" | "steer" | "write" | "admin"): boolean {
  const order = ["read", "steer", "write", "admin"];
  return (session.value?.scopes ?? []).some((held) => order.indexOf(held) >= order.indexOf(scope));
}
