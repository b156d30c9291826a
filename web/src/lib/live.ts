/** Changes at the server, as server-sent events. */

import { effect, signal } from "@preact/signals";
import { session } from "./api";
import { syncClocks, type Clocks } from "./clock";
import { loadSession } from "./session";

/** `reset`: anything may have changed, reload everything. */
export interface Change {
  reset: boolean;
  endpoints: Set<string>;
  runs: number;
  /** Something was steered, created or changed; the event does not name it. */
  steered: boolean;
}

export type Connection = "connecting" | "live" | "lost";
export const connection = signal<Connection>("connecting");

type Listener = (change: Change) => void;
const listeners = new Set<Listener>();

/** Listen to changes until the returned function is called. */
export function onChange(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const EVERYTHING: Change = { reset: true, endpoints: new Set(), runs: 0, steered: true };
let missedChanges = false;

/** A hidden page gets no changes; it reloads everything when it is visible again. */
function notify(change: Change): void {
  missedChanges = document.hidden;
  if (!missedChanges) for (const listener of listeners) listener(change);
}

/** Reload what this page shows after a change of its own, without waiting for the server's event. */
export function announceOwnChange(): void {
  notify({ reset: false, endpoints: new Set(), runs: 0, steered: true });
}

document.addEventListener("visibilitychange", () => !document.hidden && missedChanges && notify(EVERYTHING));

const SILENCE_MS = 20_000;
const RETRY_MS = 2_000;

let source: EventSource | undefined;
let silenceTimer = 0;
let retryTimer = 0;

function connect(): void {
  disconnect();
  source = new EventSource("/v1/events");
  source.onopen = markAlive;
  source.addEventListener("reset", () => {
    markAlive();
    notify(EVERYTHING);
  });
  source.addEventListener("now", (event) => {
    markAlive();
    syncClocks(JSON.parse(event.data) as Clocks);
  });
  source.addEventListener("change", (event) => {
    markAlive();
    const message = JSON.parse(event.data) as { endpoints: string[]; runs: number; steered: boolean } & Clocks;
    syncClocks(message);
    notify({ reset: false, endpoints: new Set(message.endpoints), runs: message.runs, steered: message.steered });
  });
  // The browser reconnects after a broken connection, but not after an error response.
  source.onerror = () => {
    connection.value = "lost";
    if (source?.readyState === EventSource.CLOSED) retry();
  };
}

function markAlive(): void {
  connection.value = "live";
  clearTimeout(silenceTimer);
  // A connection may be dead without an error; the server sends something every few seconds.
  silenceTimer = window.setTimeout(() => {
    connection.value = "lost";
    connect();
  }, SILENCE_MS);
}

function retry(): void {
  clearTimeout(retryTimer);
  retryTimer = window.setTimeout(() => void reconnect(), RETRY_MS);
}

/** After an error response: the session may be over, or the server only busy. */
async function reconnect(): Promise<void> {
  try {
    await loadSession();
    if (session.value) connect();
  } catch {
    retry();
  }
}

function disconnect(): void {
  clearTimeout(silenceTimer);
  clearTimeout(retryTimer);
  source?.close();
  source = undefined;
}

/** Stay connected as long as there is a session. */
export function connectWhileLoggedIn(): void {
  let tenant: string | undefined;
  effect(() => {
    const now = session.value?.tenant_id;
    if (now === tenant) return;
    tenant = now;
    connection.value = "connecting";
    if (now) connect();
    else disconnect();
  });
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", (event) => event.persisted && session.value && connect());
}
