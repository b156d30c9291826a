/** A user's side of the WebSocket: messages sent, messages received, and the last acknowledged number. */

import { signal } from "@preact/signals";
import { Problem, asProblem, callApi } from "../../lib/api";
import { serverNow } from "../../lib/clock";
import type { Frame } from "./types";

export type ConnectionState = "offline" | "connecting" | "online" | "lost";

export type Entry = { key: string; at: number | string } & (
  | { kind: "mine"; agent: string; text: string; refused: string | null }
  | { kind: "words"; agent: string; text: string; schedule: string | null; seq: number }
  | { kind: "canvas"; agent: string; command: unknown; schedule: string | null; seq: number }
  | { kind: "notice"; text: string }
);

interface PendingMessage {
  key: string;
  agent: string;
  text: string;
}

const MAX_ENTRIES = 500;
const CLOSED_UNAUTHORIZED = 4401;
const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
const TOKEN_S = 3_600;

export class Chat {
  readonly connection = signal<ConnectionState>("offline");
  readonly entries = signal<Entry[]>([]);
  /** The last number that was acknowledged. */
  readonly acked = signal(0);
  /** Messages without an answer yet; they are sent anew at every welcome. */
  readonly pending = signal<PendingMessage[]>([]);
  readonly problem = signal<Problem | undefined>(undefined);
  private token: string | undefined;
  private socket: WebSocket | undefined;
  private shouldConnect = false;
  private tries = 0;
  private retryTimer = 0;

  constructor(readonly user: string) {}

  /** Connect, and reconnect until it goes offline. */
  goOnline(): void {
    if (this.shouldConnect) return;
    this.shouldConnect = true;
    this.tries = 0;
    void this.connect();
  }

  goOffline(): void {
    this.shouldConnect = false;
    clearTimeout(this.retryTimer);
    const { socket } = this;
    this.socket = undefined;
    socket?.close(1000);
    this.connection.value = "offline";
  }

  say(agent: string, text: string): void {
    if (this.connection.value !== "online" || !this.socket) return;
    const message = { key: newKey(), agent, text };
    this.add({ key: message.key, at: serverNow(), kind: "mine", agent, text, refused: null });
    this.pending.value = [...this.pending.value, message];
    this.sendMessage(message);
  }

  /** Messages with the same key are answered once, no matter how often they are sent. */
  private sendMessage({ key, agent, text }: PendingMessage): void {
    this.send({ type: "message", agent_id: agent, text, id: key, idempotency_key: key });
  }

  private async connect(): Promise<void> {
    this.connection.value = this.tries ? "lost" : "connecting";
    try {
      this.token ??= await this.newToken();
    } catch (error) {
      this.onTokenError(error);
      return;
    }
    if (!this.shouldConnect || this.socket) return;
    const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/v1/ws`);
    this.socket = socket;
    socket.onopen = () => this.hello();
    socket.onmessage = (event) => socket === this.socket && this.onFrame(JSON.parse(String(event.data)) as Frame);
    socket.onclose = (event) => socket === this.socket && this.onClose(event.code);
  }

  /** A token for this user alone, created with the session's rights. */
  private async newToken(): Promise<string> {
    const path = `/v1/users/${encodeURIComponent(this.user)}/token`;
    return (await callApi<{ token: string }>("POST", path, { body: { ttl_seconds: TOKEN_S } })).token;
  }

  private onTokenError(error: unknown): void {
    const problem = asProblem(error);
    this.problem.value = problem;
    if (problem.status === 0 || problem.status >= 500 || problem.status === 429) this.retry();
    else this.goOffline();
  }

  private hello(): void {
    const lastSeq = this.acked.value;
    this.send({ type: "hello", token: this.token, acks: true, ...(lastSeq ? { last_seq: lastSeq } : {}) });
  }

  private onClose(code: number): void {
    this.socket = undefined;
    if (code === CLOSED_UNAUTHORIZED) this.token = undefined;
    if (this.shouldConnect) this.retry();
  }

  private retry(): void {
    this.connection.value = "lost";
    const wait = Math.min(MAX_RETRY_MS, MIN_RETRY_MS * 2 ** this.tries) * (0.5 + Math.random() / 2);
    this.tries += 1;
    clearTimeout(this.retryTimer);
    this.retryTimer = window.setTimeout(() => this.shouldConnect && void this.connect(), wait);
  }

  private onFrame(frame: Frame): void {
    switch (frame.type) {
      case "welcome":
        this.connection.value = "online";
        this.problem.value = undefined;
        this.tries = 0;
        for (const message of this.pending.value) this.sendMessage(message);
        return;
      case "answered":
        this.removePending(frame.idempotency_key);
        return;
      case "notification":
        this.add({ key: `n${Date.now()}`, at: serverNow(), kind: "notice", text: frame.text });
        return;
      case "error":
        this.markRefused(frame.message_id, frame.problem.detail ?? frame.problem.title ?? "Unknown error.");
        return;
      case "subtitle":
        this.showMessage(frame, { kind: "words", text: frame.text });
        return;
      case "canvas_command":
        this.showMessage(frame, { kind: "canvas", command: frame.command });
    }
  }

  /** Show a message once, and acknowledge it. */
  private showMessage(
    frame: Extract<Frame, { seq: number }>,
    content: { kind: "words"; text: string } | { kind: "canvas"; command: unknown },
  ): void {
    const { id, seq, agent_id: agent, schedule_id: schedule, at } = frame;
    if (!this.entries.peek().some((entry) => entry.key === id)) this.add({ key: id, at, agent, schedule, seq, ...content });
    this.acked.value = Math.max(this.acked.value, seq);
    this.send({ type: "ack", seq });
  }

  private removePending(key: string): void {
    this.pending.value = this.pending.value.filter((one) => one.key !== key);
  }

  private markRefused(key: string | undefined, detail: string): void {
    if (key === undefined) {
      this.problem.value = new Problem(0, "", detail);
      return;
    }
    this.removePending(key);
    this.entries.value = this.entries.value.map((entry) =>
      entry.key === key && entry.kind === "mine" ? { ...entry, refused: detail } : entry,
    );
  }

  private add(entry: Entry): void {
    this.entries.value = [...this.entries.value.slice(1 - MAX_ENTRIES), entry];
  }

  private send(frame: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(frame));
  }
}

/** Unlike `randomUUID`, this works without HTTPS, too. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
}

const chats = new Map<string, Chat>();

/** The chat of a user; it lives until the page is reloaded. */
export function chatOf(user: string): Chat {
  let chat = chats.get(user);
  if (!chat) chats.set(user, (chat = new Chat(user)));
  return chat;
}

/** Forget all chats, after a log-out. */
export function clearChats(): void {
  for (const chat of chats.values()) chat.goOffline();
  chats.clear();
}
