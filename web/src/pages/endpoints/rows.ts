/** All rows, loaded page by page and refreshed one by one. */

import { signal } from "@preact/signals";
import { asProblem, callApi, type ListPage, type Problem } from "../../lib/api";
import type { Baseline } from "../../lib/format";
import { onChange, type Change } from "../../lib/live";
import type { Result } from "../../ui/spark";

interface ServerRow {
  id: string;
  job_id: string;
  name: string;
  labels: Record<string, string>;
  baseline: Baseline;
  cadence_ms: number | null;
  next_run_at: string | null;
  next_source: string;
  last_run_at: string | null;
  running: boolean;
  active: boolean;
  paused_until: string | null;
  pause_reason: string | null;
  failure_count: number;
  suspect: string | null;
  interval_hint: { interval_ms: number; expires_at: string; reason: string | null; by: string } | null;
  one_shot_hint: { at: string; expires_at: string; reason: string | null; by: string } | null;
  results: Result[];
}

export interface Row extends ServerRow {
  /** The text that a search looks at. */
  searchText: string;
}

const PAGE = 100;
const MIN_GAP_MS = 1_000;
const RELOAD_MS = 30_000;
const RETRY_MS = 3_000;
/** After steering, visible rows are refreshed at once, and all rows within this time. */
const STEERED_RELOAD_MS = 8_000;

function withSearchText(row: ServerRow): Row {
  const labels = Object.entries(row.labels).map(([name, value]) => `${name}=${value}`);
  const parts = [row.name, row.id, row.job_id, row.next_source, ...labels];
  return { ...row, searchText: parts.join("\n").toLowerCase() };
}

/** Whether its last run did not succeed; what is switched off does not fail. */
export function isFailing(row: Row): boolean {
  return row.failure_count > 0 && row.active;
}

export class Rows {
  readonly all = signal<Row[]>([]);
  readonly loading = signal(true);
  readonly problem = signal<Problem | undefined>(undefined);
  /** The ids of the visible rows. */
  visibleIds: string[] = [];
  private readonly changed = new Set<string>();
  /** What rows became since the last load began; undefined for those that were deleted. */
  private readonly refreshed = new Map<string, Row | undefined>();
  private steeredTimer = 0;
  private reloadAll = false;
  private timer = 0;
  private generation = 0;
  private following = false;

  /** All endpoints, or those of one job. */
  constructor(private readonly query: { job_id?: string } = {}) {}

  /** Load, and stay fresh until the returned function is called. */
  follow(): () => void {
    this.following = true;
    void this.load();
    const unsubscribe = onChange((change) => this.onChanges(change));
    const polling = setInterval(() => !document.hidden && this.reload(), RELOAD_MS);
    return () => {
      this.generation += 1;
      this.following = false;
      unsubscribe();
      clearInterval(polling);
      clearTimeout(this.timer);
      clearTimeout(this.steeredTimer);
      this.timer = this.steeredTimer = 0;
    };
  }

  reload(): void {
    this.reloadAll = true;
    this.refreshSoon();
  }

  private onChanges(change: Change): void {
    if (change.reset) this.reloadAll = true;
    if (change.reset || change.steered) for (const id of this.visibleIds) this.changed.add(id);
    if (change.steered) {
      this.steeredTimer ||= window.setTimeout(() => {
        this.steeredTimer = 0;
        this.reload();
      }, STEERED_RELOAD_MS);
    }
    for (const id of change.endpoints) this.changed.add(id);
    this.refreshSoon();
  }

  private refreshSoon(): void {
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (this.reloadAll) void this.load();
      // A load may take long; what is looked at is refreshed beside it.
      void this.refresh();
    }, MIN_GAP_MS);
  }

  /** Load all rows, page by page; the old ones stay until they are replaced. */
  private async load(): Promise<void> {
    const generation = ++this.generation;
    this.reloadAll = false;
    this.refreshed.clear();
    this.loading.value = true;
    const found: Row[] = [];
    try {
      const failing = this.all.value.length === 0 ? await this.loadFailing(generation) : [];
      let cursor: string | null = null;
      do {
        const page: ListPage<ServerRow> = await callApi("GET", "/v1/rows", { query: { ...this.query, limit: PAGE, cursor } });
        if (generation !== this.generation) return;
        found.push(...page.items.map(withSearchText));
        const loaded = new Set(found.map((row) => row.id));
        const partial = [...found, ...failing.filter((row) => !loaded.has(row.id))];
        if (partial.length > this.all.value.length) this.all.value = this.withRefreshed(partial);
        cursor = page.next_cursor;
      } while (cursor);
      this.all.value = this.withRefreshed(found);
      this.problem.value = undefined;
    } catch (error) {
      this.fail(error);
    } finally {
      if (generation === this.generation) this.loading.value = false;
    }
  }

  /** Failing endpoints come first, so they are loaded first. */
  private async loadFailing(generation: number): Promise<Row[]> {
    const page: ListPage<ServerRow> = await callApi("GET", "/v1/rows", { query: { ...this.query, failing: true, limit: PAGE } });
    const failing = page.items.map(withSearchText);
    if (generation === this.generation && failing.length) this.all.value = failing;
    return failing;
  }

  /** Reload the rows that changed. */
  private async refresh(): Promise<void> {
    const ids = [...this.changed].slice(0, PAGE);
    for (const id of ids) this.changed.delete(id);
    if (ids.length === 0) return;
    const generation = this.generation;
    try {
      const page = await callApi<{ items: ServerRow[] }>("GET", "/v1/rows", { query: { endpoint_id: ids } });
      if (generation !== this.generation) return;
      for (const id of ids) this.refreshed.set(id, undefined);
      for (const row of page.items) if (this.isWanted(row)) this.refreshed.set(row.id, withSearchText(row));
      this.all.value = this.withRefreshed(this.all.value);
      this.problem.value = undefined;
    } catch (error) {
      this.fail(error);
    }
    if (this.changed.size) this.refreshSoon();
  }

  /** A page that was requested before a row was refreshed does not undo it. */
  private withRefreshed(rows: Row[]): Row[] {
    return rows.flatMap((row) => (this.refreshed.has(row.id) ? (this.refreshed.get(row.id) ?? []) : row));
  }

  private isWanted(row: ServerRow): boolean {
    return this.query.job_id === undefined || row.job_id === this.query.job_id;
  }

  private fail(error: unknown): void {
    this.problem.value = asProblem(error);
    // The server was away: try again soon.
    if (this.problem.value.status === 0) setTimeout(() => this.following && this.reload(), RETRY_MS);
  }
}
