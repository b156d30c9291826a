/** Requests to the server: same origin, session cookie, CSRF token, problems as errors. */

import { signal } from "@preact/signals";
import type { Clocks } from "./clock";

export interface Session extends Clocks {
  tenant_id: string;
  scopes: string[];
  csrf: string;
  expires_at: string;
}

/** null: not logged in; undefined: not loaded yet. */
export const session = signal<Session | null | undefined>(undefined);
/** True when the session ended without a log-out. */
export const sessionExpired = signal(false);

export interface FieldFault {
  field: string;
  message: string;
}

/** An error response, as RFC 9457 defines it. */
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

  /** The message about one field, also where a preview has it among its arguments; if there is one. */
  of(field: string): string | undefined {
    return this.errors.find((fault) => fault.field.replace(/^arguments\./, "") === field)?.message;
  }
}

/** Any error as a `Problem`, which is what pages show. */
export function asProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, "", error instanceof Error ? error.message : String(error));
}

/** One page of a list. */
export interface ListPage<Item> {
  items: Item[];
  next_cursor: string | null;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Values = Record<string, unknown>;

interface Options {
  query?: Values;
  body?: Values;
  signal?: AbortSignal;
}

/** Call an operation of the API, e.g. `callApi<RunsPage>("GET", "/v1/runs", { query: { limit: 20 } })`. */
export async function callApi<Answer>(method: Method, path: string, options: Options = {}): Promise<Answer> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && session.value) headers["X-Csrf-Token"] = session.value.csrf;
  const init: RequestInit = { method, headers, credentials: "same-origin", redirect: "error" };
  if (options.body !== undefined) init.body = JSON.stringify(options.body);
  if (options.signal !== undefined) init.signal = options.signal;
  const response = await fetched(fetch(path + queryString(options.query), init));
  if (response.ok) return (response.status === 204 ? undefined : await response.json()) as Answer;
  const problem = await problemFrom(response);
  if (problem.status === 401 && session.value) {
    sessionExpired.value = true;
    session.value = null;
  }
  throw problem;
}

async function fetched(request: Promise<Response>): Promise<Response> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "unreachable", `Cannot connect to ${location.origin}. The request will be retried.`);
  }
}

async function problemFrom(response: Response): Promise<Problem> {
  try {
    const body = (await response.json()) as {
      type?: string;
      detail?: string;
      title?: string;
      errors?: FieldFault[];
      request_id?: string;
    };
    const message = body.detail ?? body.title ?? response.statusText;
    return new Problem(response.status, body.type ?? "", message, body.errors, body.request_id ?? null);
  } catch {
    return new Problem(response.status, "", `The server returned status ${response.status}.`);
  }
}

function queryString(query: Values | undefined): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") pairs.append(name, String(one));
    }
  }
  const text = pairs.toString();
  return text ? `?${text}` : "";
}

/** Whether the session has this scope; a scope includes those before it. */
export function hasScope(scope: "read" | "steer" | "write" | "admin"): boolean {
  const order = ["read", "steer", "write", "admin"];
  return (session.value?.scopes ?? []).some((own) => order.indexOf(own) >= order.indexOf(scope));
}
