/** Closed runs, newest first: loaded page by page, and refreshed when runs end. */

import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { asProblem, callApi, type ListPage, type Problem } from "../lib/api";
import { serverNow } from "../lib/clock";
import { onChange } from "../lib/live";
import type { ListedRun } from "./table";

export interface RunFilter {
  status?: string[];
  source?: string[];
  job_id?: string | undefined;
  endpoint_id?: string | undefined;
  /** Ended within this time; counted from now at each request. */
  withinMs?: number | undefined;
  since?: string | undefined;
  until?: string | undefined;
}

const PAGE = 50;
/** Rare runs are searched page by page: so many requests at a time. */
const MOST_REQUESTS = 10;
const MIN_GAP_MS = 2_000;
const POLL_MS = 15_000;
const RETRY_MS = 3_000;

export class RunList {
  readonly items = signal<ListedRun[] | undefined>(undefined);
  readonly problem = signal<Problem | undefined>(undefined);
  readonly loading = signal(false);
  /** Where older runs begin; null if there are none. */
  readonly cursor = signal<string | null>(null);
  private timer = 0;
  private lastAt = -Infinity;
  private aborter = new AbortController();
  private running = false;

  constructor(
    private readonly filter: RunFilter,
    private readonly most = PAGE,
  ) {}

  start(): () => void {
    this.aborter = new AbortController();
    void this.refresh();
    const unsubscribe = onChange((change) => {
      if (change.reset || change.steered || this.filter.endpoint_id === undefined || change.endpoints.has(this.filter.endpoint_id)) this.refreshIn(0);
    });
    const polling = setInterval(() => !document.hidden && this.refreshIn(0), POLL_MS);
    return () => {
      unsubscribe();
      clearInterval(polling);
      clearTimeout(this.timer);
      this.timer = 0;
      this.aborter.abort();
    };
  }

  readonly refresh = async (): Promise<void> => {
    await this.load(null, (found, cursor) => {
      const before = this.items.value ?? [];
      const ids = new Set(found.map((run) => run.id));
      // Older runs stay where they follow without a gap.
      const meets = before.some((run) => ids.has(run.id));
      const last = found.at(-1)?.id ?? "";
      const older = meets ? before.filter((run) => run.id < last) : [];
      this.items.value = [...found, ...older];
      if (older.length === 0) this.cursor.value = cursor;
    });
  };

  readonly loadOlder = async (): Promise<void> => {
    await this.load(this.cursor.value, (found, cursor) => {
      this.items.value = [...(this.items.value ?? []), ...found];
      this.cursor.value = cursor;
    });
  };

  private refreshIn(ms: number): void {
    if (this.timer) return;
    const wait = Math.max(ms, this.lastAt + MIN_GAP_MS - performance.now());
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (this.running) this.refreshIn(MIN_GAP_MS);
      else void this.refresh();
    }, wait);
  }

  private async load(from: string | null, done: (found: ListedRun[], cursor: string | null) => void): Promise<void> {
    if (this.running) return;
    this.running = this.loading.value = true;
    this.lastAt = performance.now();
    const { signal: stopped } = this.aborter;
    try {
      const found: ListedRun[] = [];
      let cursor = from;
      for (let request = 0; request < MOST_REQUESTS; request += 1) {
        const page: ListPage<ListedRun> = await callApi("GET", "/v1/runs", { query: { ...this.query(), limit: this.most - found.length, cursor }, signal: stopped });
        found.push(...page.items);
        cursor = page.next_cursor;
        if (found.length >= this.most || cursor === null) break;
      }
      done(found, cursor);
      this.problem.value = undefined;
    } catch (error) {
      if (stopped.aborted) return;
      this.problem.value = asProblem(error);
      if (this.problem.value.status === 0) this.refreshIn(RETRY_MS);
    } finally {
      this.running = this.loading.value = false;
    }
  }

  private query(): Record<string, unknown> {
    const { withinMs, ...rest } = this.filter;
    return withinMs === undefined ? rest : { ...rest, since: new Date(serverNow() - withinMs).toISOString() };
  }
}

/** The runs of a filter, followed while the component is shown. */
export function useRuns(filter: RunFilter, most?: number): RunList {
  const key = JSON.stringify(filter);
  const list = useMemo(() => new RunList(filter, most), [key, most]);
  useEffect(() => list.start(), [list]);
  return list;
}
