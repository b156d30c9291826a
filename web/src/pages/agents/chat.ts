/** A user's side of the socket: what was said, what came, and up to where everything is here. */

import { signal } from "@preact/signals";
import { Problem, asProblem, callApi } from "../../lib/api";
import { serverNow } from "../../lib/clock";
import type { Frame } from "./types";

export type Presence = "offline" | "connecting" | "online" | "lost";

export type Entry = { key: string; at: number | string } & (
  | { kind: "mine"; agent: string; text: string; refused: string | null }
  | { kind: "words"; agent: string; text: string; schedule: string | null; seq: number }
  | { kind: "canvas"; agent: string; command: unknown; schedule: string | null; seq: number }
  | { kind: "notice"; text: string }
);

interface Waiting {
  key: string;
  agent: string;
  text: string;
}

const KEPT = 500;
const NOT_ADMITTED = 4401;
const SOONEST_MS = 500;
const LATEST_MS = 15_000;
const TOKEN_S = 3_600;

export class Chat {
  readonly presence = signal<Presence>("offline");
  readonly entries = signal<Entry[]>([]);
  /** The last number that was acknowledged. */
  readonly acked = signal(0);
  /** What was said and is not answered yet; it is said again at every welcome. */
  readonly waiting = signal<Waiting[]>([]);
  readonly problem = signal<Problem | undefined>(undefined);
  private token: string | undefined;
  private socket: WebSocket | undefined;
  private wanted = false;
  private tries = 0;
  private again = 0;

  constructor(readonly user: string) {}

  /** Connect, and come back by itself until it goes offline. */
  goOnline(): void {
    if (this.wanted) return;
    this.wanted = true;
    this.tries = 0;
    void this.connect();
  }

  goOffline(): void {
    this.wanted = false;
    clearTimeout(this.again);
    const { socket } = this;
    this.socket = undefined;
    socket?.close(1000);
    this.presence.value = "offline";
  }

  say(agent: string, text: string): void {
    if (this.presence.value !== "online" || !this.socket) return;
    const said = { key: newKey(), agent, text };
    this.add({ key: said.key, at: serverNow(), kind: "mine", agent, text, refused: null });
    this.waiting.value = [...this.waiting.value, said];
    this.utter(said);
  }

  /** Under the same key it is answered once, however often it is sent. */
  private utter({ key, agent, text }: Waiting): void {
    this.send({ type: "message", agent_id: agent, text, id: key, idempotency_key: key });
  }

  private async connect(): Promise<void> {
    this.presence.value = this.tries ? "lost" : "connecting";
    try {
      this.token ??= await this.newToken();
    } catch (error) {
      this.failed(error);
      return;
    }
    if (!this.wanted || this.socket) return;
    const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/v1/ws`);
    this.socket = socket;
    socket.onopen = () => this.hello();
    socket.onmessage = (event) => socket === this.socket && this.hear(JSON.parse(String(event.data)) as Frame);
    socket.onclose = (event) => socket === this.socket && this.lost(event.code);
  }

  /** A token that speaks for this user alone, made by whoever is logged in. */
  private async newToken(): Promise<string> {
    const path = `/v1/users/${encodeURIComponent(this.user)}/token`;
    return (await callApi<{ token: string }>("POST", path, { body: { ttl_seconds: TOKEN_S } })).token;
  }

  private failed(error: unknown): void {
    const problem = asProblem(error);
    this.problem.value = problem;
    if (problem.status === 0 || problem.status >= 500 || problem.status === 429) this.retry();
    else this.goOffline();
  }

  private hello(): void {
    const seen = this.acked.value;
    this.send({ type: "hello", token: this.token, acks: true, ...(seen ? { last_seq: seen } : {}) });
  }

  private lost(code: number): void {
    this.socket = undefined;
    if (code === NOT_ADMITTED) this.token = undefined;
    if (this.wanted) this.retry();
  }

  private retry(): void {
    this.presence.value = "lost";
    const wait = Math.min(LATEST_MS, SOONEST_MS * 2 ** this.tries) * (0.5 + Math.random() / 2);
    this.tries += 1;
    clearTimeout(this.again);
    this.again = window.setTimeout(() => this.wanted && void this.connect(), wait);
  }

  private hear(frame: Frame): void {
    switch (frame.type) {
      case "welcome":
        this.presence.value = "online";
        this.problem.value = undefined;
        this.tries = 0;
        for (const said of this.waiting.value) this.utter(said);
        return;
      case "answered":
        this.settled(frame.idempotency_key);
        return;
      case "notification":
        this.add({ key: `n${Date.now()}`, at: serverNow(), kind: "notice", text: frame.text });
        return;
      case "error":
        this.refused(frame.message_id, frame.problem.detail ?? frame.problem.title ?? "Something went wrong.");
        return;
      case "subtitle":
        this.take(frame, { kind: "words", text: frame.text });
        return;
      case "canvas_command":
        this.take(frame, { kind: "canvas", command: frame.command });
    }
  }

  /** Show what came, once, and say that it is here. */
  private take(
    frame: Extract<Frame, { seq: number }>,
    what: { kind: "words"; text: string } | { kind: "canvas"; command: unknown },
  ): void {
    const { id, seq, agent_id: agent, schedule_id: schedule, at } = frame;
    if (!this.entries.peek().some((entry) => entry.key === id)) this.add({ key: id, at, agent, schedule, seq, ...what });
    this.acked.value = Math.max(this.acked.value, seq);
    this.send({ type: "ack", seq });
  }

  private settled(key: string): void {
    this.waiting.value = this.waiting.value.filter((one) => one.key !== key);
  }

  private refused(key: string | undefined, words: string): void {
    if (key === undefined) {
      this.problem.value = new Problem(0, "", words);
      return;
    }
    this.settled(key);
    this.entries.value = this.entries.value.map((entry) =>
      entry.key === key && entry.kind === "mine" ? { ...entry, refused: words } : entry,
    );
  }

  private add(entry: Entry): void {
    this.entries.value = [...this.entries.value.slice(1 - KEPT), entry];
  }

  private send(frame: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(frame));
  }
}

/** Unlike `randomUUID`, this is there without https, too. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
}

const chats = new Map<string, Chat>();

/** The conversation of a user: what was said stays until the page is reloaded. */
export function chatOf(user: string): Chat {
  let chat = chats.get(user);
  if (!chat) chats.set(user, (chat = new Chat(user)));
  return chat;
}

/** Nobody is logged in any more: nothing that was said stays. */
export function forgetChats(): void {
  for (const chat of chats.values()) chat.goOffline();
  chats.clear();
}
