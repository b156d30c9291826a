/** What changes at the server, as it happens. */

import { effect, signal } from "@preact/signals";
import { session } from "./api";
import { toldClocks, type Clocks } from "./clock";
import { recall } from "./session";

/** `reset`: anything may have changed, look again at everything. */
export interface Change {
  reset: boolean;
  endpoints: Set<string>;
  runs: number;
  /** Something was steered, created or changed; it is not said what. */
  steered: boolean;
}

export type Connection = "connecting" | "live" | "lost";
export const connection = signal<Connection>("connecting");

type Listener = (change: Change) => void;
const listeners = new Set<Listener>();

/** Hear of changes until the returned function is called. */
export function onChange(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const EVERYTHING: Change = { reset: true, endpoints: new Set(), runs: 0, steered: true };
let missed = false;

/** Nobody looks at a page that is hidden; it looks at everything when it is seen again. */
function tell(change: Change): void {
  missed = document.hidden;
  if (!missed) for (const listener of listeners) listener(change);
}

document.addEventListener("visibilitychange", () => !document.hidden && missed && tell(EVERYTHING));

const SILENCE_MS = 20_000;
const AGAIN_MS = 2_000;

let source: EventSource | undefined;
let silence = 0;
let again = 0;

function connect(): void {
  hangUp();
  source = new EventSource("/v1/events");
  source.onopen = heard;
  source.addEventListener("reset", () => {
    heard();
    tell(EVERYTHING);
  });
  source.addEventListener("now", (event) => {
    heard();
    toldClocks(JSON.parse(event.data) as Clocks);
  });
  source.addEventListener("change", (event) => {
    heard();
    const told = JSON.parse(event.data) as { endpoints: string[]; runs: number; steered: boolean } & Clocks;
    toldClocks(told);
    tell({ reset: false, endpoints: new Set(told.endpoints), runs: told.runs, steered: told.steered });
  });
  // The browser comes back by itself after a broken connection, but not after a refusal.
  source.onerror = () => {
    connection.value = "lost";
    if (source?.readyState === EventSource.CLOSED) retry();
  };
}

function heard(): void {
  connection.value = "live";
  clearTimeout(silence);
  // A connection may be dead without saying so; the server says something every few seconds.
  silence = window.setTimeout(() => {
    connection.value = "lost";
    connect();
  }, SILENCE_MS);
}

function retry(): void {
  clearTimeout(again);
  again = window.setTimeout(() => void comeBack(), AGAIN_MS);
}

/** After a refusal: the session may be over, or the server only busy. */
async function comeBack(): Promise<void> {
  try {
    await recall();
    if (session.value) connect();
  } catch {
    retry();
  }
}

function hangUp(): void {
  clearTimeout(silence);
  clearTimeout(again);
  source?.close();
  source = undefined;
}

/** Stay connected as long as somebody is logged in. */
export function stayLive(): void {
  let tenant: string | undefined;
  effect(() => {
    const now = session.value?.tenant_id;
    if (now === tenant) return;
    tenant = now;
    connection.value = "connecting";
    if (now) connect();
    else hangUp();
  });
  addEventListener("pagehide", hangUp);
  addEventListener("pageshow", (event) => event.persisted && session.value && connect());
}
