/** The chat of a user with an agent. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { hasScope } from "../../lib/api";
import { clockTime, fullTime } from "../../lib/format";
import { useShortcut } from "../../lib/keys";
import { Card, ProblemNotice } from "../../ui/parts";
import { chatOf, type Chat, type Entry, type ConnectionState } from "./chat";

const CONNECTION_BADGES: Record<ConnectionState, { label: string; tone: string }> = {
  offline: { label: "offline", tone: "" },
  connecting: { label: "connecting", tone: "accent" },
  online: { label: "online", tone: "good" },
  lost: { label: "reconnecting", tone: "warn" },
};
const MAX_LENGTH = 8_000;
const SUGGESTIONS = ["remind me in 1 minute to stretch", "every weekday at 9:00 tell me what is planned", "list my reminders", "help"];

export function Conversation({ user, agent, name }: { user: string; agent: string; name: string }): JSX.Element {
  const chat = chatOf(user);
  useEffect(() => {
    if (hasScope("write")) chat.goOnline();
    return () => chat.goOffline();
  }, [chat]);
  const badge = CONNECTION_BADGES[chat.connection.value];
  const offline = chat.connection.value === "offline";
  return (
    <Card
      title={`Chat with ${name}`}
      class="chat"
      aside={
        <div class="row">
          <span class={`badge ${badge.tone}`} role="status" aria-label="Connection of the chat">
            {badge.label}
          </span>
          <button class="button" type="button" disabled={!hasScope("write")} onClick={() => (offline ? chat.goOnline() : chat.goOffline())}>
            {offline ? "Go online" : "Go offline"}
          </button>
        </div>
      }
    >
      {!hasScope("write") && <p class="notice">Sending messages needs a key with the write scope.</p>}
      {chat.problem.value && <ProblemNotice problem={chat.problem.value} />}
      <MessageLog chat={chat} name={name} agent={agent} />
      <Composer chat={chat} agent={agent} name={name} />
      <p class="quiet number">
        {chat.acked.value ? `Acknowledged up to message ${chat.acked.value}.` : "No messages received yet."}
        {offline && " Messages from schedules are delivered when you are online again."}
      </p>
    </Card>
  );
}

function MessageLog({ chat, name, agent }: { chat: Chat; name: string; agent: string }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const entries = chat.entries.value;
  const online = chat.connection.value === "online";
  const answering = online && chat.pending.value.some((one) => one.agent === agent);
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [entries.length, answering]);
  return (
    <div class="chat-log" role="log" aria-label="Messages" tabIndex={0} ref={box}>
      {entries.length === 0 && <p class="muted chat-hint">Write a message, or choose one of these:</p>}
      {entries.length === 0 &&
        SUGGESTIONS.map((text) => (
          <button key={text} class="chip" type="button" disabled={!online} onClick={() => chat.say(agent, text)}>
            {text}
          </button>
        ))}
      {entries.map((entry) => (
        <Message key={entry.key} entry={entry} />
      ))}
      {answering && <p class="muted chat-answering">{name} is answering…</p>}
    </div>
  );
}

function Message({ entry }: { entry: Entry }): JSX.Element {
  if (entry.kind === "notice") return <p class="chat-notice">{entry.text}</p>;
  const mine = entry.kind === "mine";
  return (
    <div class={`message ${mine ? "mine" : "theirs"}`}>
      <div class="bubble">
        {entry.kind === "canvas" ? (
          <>
            <span class="quiet">Canvas command</span>
            <pre tabIndex={0}>{JSON.stringify(entry.command, null, 2)}</pre>
          </>
        ) : (
          entry.text
        )}
      </div>
      <div class="quiet message-details">
        {mine ? "you" : entry.agent}
        {!mine && entry.schedule && (
          <>
            {" "}
            <a class="badge accent" href={`/endpoints/${encodeURIComponent(entry.schedule)}`} title={entry.schedule}>
              scheduled
            </a>
          </>
        )}
        {", "}
        <time dateTime={new Date(entry.at).toISOString()} title={fullTime(entry.at)}>
          {clockTime(entry.at)}
        </time>
        {!mine && <span class="number">, message {entry.seq}</span>}
      </div>
      {mine && entry.refused && (
        <p class="notice bad" role="alert">
          {entry.refused}
        </p>
      )}
    </div>
  );
}

function Composer({ chat, agent, name }: { chat: Chat; agent: string; name: string }): JSX.Element {
  const text = useSignal("");
  const input = useRef<HTMLTextAreaElement>(null);
  const online = chat.connection.value === "online";
  useShortcut("/", "Write a message", () => input.current?.focus());
  function send(): void {
    const message = text.value.trim();
    if (!message || !online) return;
    chat.say(agent, message);
    text.value = "";
  }
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        ref={input}
        rows={1}
        maxLength={MAX_LENGTH}
        aria-label={`Message to ${name}`}
        placeholder={online ? `Message to ${name}` : "You are offline"}
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <button class="button primary" type="submit" disabled={!online || !text.value.trim()}>
        Send
      </button>
    </form>
  );
}
