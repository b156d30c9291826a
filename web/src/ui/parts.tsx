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

/** What is shown where nothing is: why, and what to do about it. */
export function Empty(props: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}

/** A problem that concerns the whole of something; problems of fields stand at their fields. */
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

/** Numbers that are read first. */
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

interface WhenProps {
  at: string | null | undefined;
  none?: string;
  /** `past`: it has been, also if an answer was long on its way. `next`: it is due from its moment on. */
  tense?: "past" | "next";
  /** By the clock on the wall, not by the scheduler's. */
  wall?: boolean;
}

/** A moment as its distance from now, counting, with the full moment behind it. */
export function When({ at, none = "never", tense, wall = false }: WhenProps): JSX.Element {
  void tick.value;
  if (!at) return <span class="muted">{none}</span>;
  const now = wall ? wallNow() : serverNow();
  const away = Date.parse(at) - now;
  return (
    <time class="number" dateTime={at} title={fullTime(at)}>
      {tense === "next" && away <= 0 ? "due" : distance(at, tense === "past" && away > 0 ? now + away : now)}
    </time>
  );
}

const A_MOMENT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** Words of the server, its moments as this place writes them. */
export function Told({ words }: { words: string }): JSX.Element {
  const now = serverNow();
  return (
    <>
      {words.split(A_MOMENT).map((part, place) =>
        place % 2 ? (
          <time key={place} dateTime={part} title={fullTime(part)}>
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
};

/** The class, and the custom property, that colours a source: `source-hint`, `--source-hint`. */
export function sourceKind(source: string): string {
  return `source-${SOURCE_KINDS[source] ?? (source.startsWith("baseline") ? "baseline" : "other")}`;
}

const SOURCE_WORDS: Record<string, string> = {
  "baseline-interval": "baseline",
  "baseline-cron": "baseline",
  "baseline-once": "once",
  "ai-interval": "interval hint",
  "ai-oneshot": "one-shot hint",
  "clamped-min": "guard, least",
  "clamped-max": "guard, most",
};

export function Source({ source }: { source: string }): JSX.Element {
  return (
    <span class="badge" title={source}>
      <span class={`swatch ${sourceKind(source)}`} />
      {SOURCE_WORDS[source] ?? source}
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
