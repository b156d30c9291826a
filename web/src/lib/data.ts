/** Data of a page: asked for, kept while it is asked for again, refreshed when something changes. */

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { asProblem, ask, type Problem } from "./api";
import { onChange, type Change } from "./live";

export interface Data<Answer> {
  value: ReadonlySignal<Answer | undefined>;
  problem: ReadonlySignal<Problem | undefined>;
  refresh: () => void;
}

interface How {
  query?: Record<string, unknown>;
  /** Which changes make it ask again; all of them, if it is left out. */
  when?: (change: Change) => boolean;
  /** At least so often, in milliseconds. */
  every?: number;
  /** Not more often than this, in milliseconds. */
  atMost?: number;
}

/** Ask `GET path`, again whenever path or query change; a null path asks nothing. */
export function useData<Answer>(path: string | null, how: How = {}): Data<Answer> {
  const key = JSON.stringify([path, how.query ?? {}]);
  const last = useRef<Fetcher<Answer> | undefined>(undefined);
  // Another query of the same thing shows what was there until its answer has come.
  const fetcher = useMemo(
    () => new Fetcher<Answer>(path, how, last.current?.path === path ? last.current.value.peek() : undefined),
    [key],
  );
  last.current = fetcher;
  useEffect(() => fetcher.start(), [fetcher]);
  return fetcher;
}

class Fetcher<Answer> implements Data<Answer> {
  readonly value: Signal<Answer | undefined>;
  readonly problem: Signal<Problem | undefined> = signal(undefined);
  private asking: AbortController | undefined;
  private waiting = 0;
  private lastAsked = -Infinity;
  /** Something has changed since it was asked, and no answer has come yet. */
  private late = false;

  constructor(
    readonly path: string | null,
    private readonly how: How,
    shown: Answer | undefined,
  ) {
    this.value = signal(shown);
  }

  start(): () => void {
    if (this.path === null) return () => undefined;
    this.refresh();
    const forget = onChange((change) => {
      if (change.reset || (this.how.when ?? (() => true))(change)) this.soon();
    });
    const timer = setInterval(() => !document.hidden && this.soon(), this.how.every ?? 15_000);
    return () => {
      forget();
      clearInterval(timer);
      clearTimeout(this.waiting);
      this.waiting = 0;
      this.asking?.abort();
      this.asking = undefined;
    };
  }

  readonly refresh = (): void => void this.ask();

  private soon(): void {
    if (this.waiting) return;
    const wait = Math.max(0, this.lastAsked + (this.how.atMost ?? 1_000) - performance.now());
    this.waiting = window.setTimeout(() => {
      this.waiting = 0;
      // An answer that takes long is waited for: asked anew at every change, it would never come.
      if (this.asking) this.late = true;
      else this.refresh();
    }, wait);
  }

  private async ask(): Promise<void> {
    if (this.path === null) return;
    this.asking?.abort();
    const asking = (this.asking = new AbortController());
    this.late = false;
    this.lastAsked = performance.now();
    try {
      const options = { signal: asking.signal, query: this.how.query ?? {} };
      this.value.value = await ask<Answer>("GET", this.path, options);
      this.problem.value = undefined;
    } catch (error) {
      if (asking.signal.aborted) return;
      this.problem.value = asProblem(error);
    }
    if (this.asking !== asking) return;
    this.asking = undefined;
    if (this.late) this.soon();
  }
}
