/** Small parts that every page uses. */

import type { ComponentChildren, JSX } from "preact";
import type { Problem } from "../lib/api";
import { serverNow, tick, wallNow } from "../lib/clock";
import { distance, fullTime, shortTime } from "../lib/format";

export function Card(props: { title: string; aside?: ComponentChildren; children: ComponentChildren; class?: string }): JSX.Element {
  return (
    <section class={`card ${props.class ?? ""}`}>
      <header>
        <h2>{props.title}</h2>
        {props.aside !== undefined && <div class="quiet">{props.aside}</div>}
      </header>
      {props.children}
    </section>
  );
}

/** Shown where there is no data: why, and what to do about it. */
export function Empty(props: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}

/** A problem that is not about one field. */
export function ProblemNotice({ problem, retry }: { problem: Problem; retry?: () => void }): JSX.Element {
  return (
    <div class="notice bad" role="alert">
      <span>
        {problem.message}
        {problem.status >= 500 && problem.requestId && <span class="quiet"> Request {problem.requestId}</span>}
      </span>
      {retry && (
        <button class="button plain" type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export interface FigureProps {
  name: string;
  value: string;
  tone?: string;
}

/** Key figures with their names. */
export function Figures({ items }: { items: FigureProps[] }): JSX.Element {
  return (
    <dl class="figures">
      {items.map(({ name, value, tone = "" }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class={`number ${tone}`}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Loading({ what }: { what: string }): JSX.Element {
  return (
    <p class="muted" role="status">
      Loading {what}…
    </p>
  );
}

interface RelativeTimeProps {
  at: string | null | undefined;
  none?: string;
  /** `past`: never shown as in the future. `next`: shown as due from its moment on. */
  tense?: "past" | "next";
  /** By the wall clock, not the scheduler's. */
  wall?: boolean;
}

/** A moment as its distance from now, counting, with the full time as its title. */
export function RelativeTime({ at, none = "never", tense, wall = false }: RelativeTimeProps): JSX.Element {
  void tick.value;
  if (!at) return <span class="muted">{none}</span>;
  const now = wall ? wallNow() : serverNow();
  const untilMs = Date.parse(at) - now;
  return (
    <time class="number" dateTime={at} title={fullTime(at)}>
      {tense === "next" && untilMs <= 0 ? "due" : distance(at, tense === "past" && untilMs > 0 ? now + untilMs : now)}
    </time>
  );
}

const TIMESTAMP = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A text from the server, its timestamps in local time. */
export function ServerText({ text }: { text: string }): JSX.Element {
  const now = serverNow();
  return (
    <>
      {text.split(TIMESTAMP).map((part, index) =>
        index % 2 ? (
          <time key={index} dateTime={part} title={fullTime(part)}>
            {shortTime(part, now)}
          </time>
        ) : (
          part
        ),
      )}
    </>
  );
}

const SOURCE_KINDS: Record<string, string> = {
  "ai-interval": "hint",
  "ai-oneshot": "one-shot",
  "clamped-min": "clamped",
  "clamped-max": "clamped",
  paused: "paused",
  calendar: "calendar",
  closed: "calendar",
};

/** The class, and the custom property, that colours a source: `source-hint`, `--source-hint`. */
export function sourceKind(source: string): string {
  return `source-${SOURCE_KINDS[source] ?? (source.startsWith("baseline") ? "baseline" : "other")}`;
}

export const SOURCE_LABELS: Record<string, string> = {
  "baseline-interval": "baseline",
  "baseline-cron": "baseline",
  "baseline-once": "once",
  "ai-interval": "interval hint",
  "ai-oneshot": "one-shot hint",
  "clamped-min": "limited by minimum interval",
  "clamped-max": "limited by maximum interval",
  calendar: "calendar opens",
  closed: "calendar closed",
};

export function Source({ source, by }: { source: string; by?: string | undefined }): JSX.Element {
  const label = SOURCE_LABELS[source] ?? source;
  return (
    <span class="badge" title={source}>
      <span class={`swatch ${sourceKind(source)}`} />
      {by ? `${label} (${by})` : label}
    </span>
  );
}

export function Status({ status }: { status: string | null }): JSX.Element {
  const shown = status ?? "running";
  return (
    <span class="badge">
      <span class={`swatch status-${shown}`} />
      {shown}
    </span>
  );
}

export function Legend({ items }: { items: { class: string; label: string }[] }): JSX.Element {
  return (
    <ul class="legend">
      {items.map((item) => (
        <li key={item.label}>
          <span class={`swatch ${item.class}`} />
          {item.label}
        </li>
      ))}
    </ul>
  );
}
