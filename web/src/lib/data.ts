/** Data of a page: loaded, shown while it is reloaded, refreshed when something changes. */

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { asProblem, callApi, type Problem } from "./api";
import { onChange, type Change } from "./live";

/** While the server is away, a request is repeated this often. */
const RETRY_MS = 3_000;

export interface Data<Answer> {
  value: ReadonlySignal<Answer | undefined>;
  problem: ReadonlySignal<Problem | undefined>;
  refresh: () => void;
}

interface FetchOptions {
  query?: Record<string, unknown>;
  /** Which changes cause a reload; all of them if left out. */
  when?: (change: Change) => boolean;
  /** Reload at least this often, in milliseconds. */
  every?: number;
  /** Least time between two requests, in milliseconds. */
  minGapMs?: number;
}

/** Load `GET path`, again whenever path or query change; a null path loads nothing. */
export function useData<Answer>(path: string | null, options: FetchOptions = {}): Data<Answer> {
  const key = JSON.stringify([path, options.query ?? {}]);
  const last = useRef<Fetcher<Answer> | undefined>(undefined);
  // A new query of the same path shows the previous answer until its own has arrived.
  const fetcher = useMemo(
    () => new Fetcher<Answer>(path, options, last.current?.path === path ? last.current.value.peek() : undefined),
    [key],
  );
  last.current = fetcher;
  useEffect(() => fetcher.start(), [fetcher]);
  return fetcher;
}

class Fetcher<Answer> implements Data<Answer> {
  readonly value: Signal<Answer | undefined>;
  readonly problem: Signal<Problem | undefined> = signal(undefined);
  private inFlight: AbortController | undefined;
  private timer = 0;
  private lastRequestAt = -Infinity;
  /** Something changed while a request was in flight. */
  private stale = false;

  constructor(
    readonly path: string | null,
    private readonly options: FetchOptions,
    initial: Answer | undefined,
  ) {
    this.value = signal(initial);
  }

  start(): () => void {
    if (this.path === null) return () => undefined;
    this.refresh();
    const unsubscribe = onChange((change) => {
      if (change.reset || (this.options.when ?? (() => true))(change)) this.refreshSoon();
    });
    const polling = setInterval(() => !document.hidden && this.refreshSoon(), this.options.every ?? 15_000);
    return () => {
      unsubscribe();
      clearInterval(polling);
      clearTimeout(this.timer);
      this.timer = 0;
      this.inFlight?.abort();
      this.inFlight = undefined;
    };
  }

  readonly refresh = (): void => void this.load();

  private refreshSoon(least = 0): void {
    if (this.timer) return;
    const wait = Math.max(least, this.lastRequestAt + (this.options.minGapMs ?? 1_000) - performance.now());
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      // Let a slow request finish: restarted at every change, it would never end.
      if (this.inFlight) this.stale = true;
      else this.refresh();
    }, wait);
  }

  private async load(): Promise<void> {
    if (this.path === null) return;
    this.inFlight?.abort();
    const request = (this.inFlight = new AbortController());
    this.stale = false;
    this.lastRequestAt = performance.now();
    try {
      const call = { signal: request.signal, query: this.options.query ?? {} };
      this.value.value = await callApi<Answer>("GET", this.path, call);
      this.problem.value = undefined;
    } catch (error) {
      if (request.signal.aborted) return;
      this.problem.value = asProblem(error);
      if (this.problem.value.status === 0) this.refreshSoon(RETRY_MS);
    }
    if (this.inFlight !== request) return;
    this.inFlight = undefined;
    if (this.stale) this.refreshSoon();
  }
}
