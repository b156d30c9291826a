/** All rows, loaded page by page and kept fresh one by one. */

import { signal } from "@preact/signals";
import { asProblem, ask, type Listed, type Problem } from "../../lib/api";
import type { Baseline } from "../../lib/format";
import { onChange, type Change } from "../../lib/live";
import type { Result } from "../../ui/spark";

interface Told {
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
  interval_hint: { interval_ms: number; expires_at: string; reason: string | null } | null;
  one_shot_hint: { at: string; expires_at: string; reason: string | null } | null;
  results: Result[];
}

export interface Row extends Told {
  /** What a search looks at. */
  text: string;
}

const PAGE = 100;
const AT_MOST_MS = 1_000;
const ANEW_MS = 30_000;
/** Something was steered: those in sight are looked at soon, all of them within this time. */
const STEERED_MS = 8_000;

function searchable(told: Told): Row {
  const labels = Object.entries(told.labels).map(([name, value]) => `${name}=${value}`);
  const words = [told.name, told.id, told.job_id, told.next_source, ...labels];
  return { ...told, text: words.join("\n").toLowerCase() };
}

export class Rows {
  readonly all = signal<Row[]>([]);
  readonly loading = signal(true);
  readonly problem = signal<Problem | undefined>(undefined);
  /** The ids of those that are seen. */
  inSight: string[] = [];
  private readonly changed = new Set<string>();
  private steered = 0;
  private anew = false;
  private timer = 0;
  private generation = 0;

  /** Load, and stay fresh until the returned function is called. */
  follow(): () => void {
    void this.load();
    const forget = onChange((change) => this.hear(change));
    const again = setInterval(() => !document.hidden && this.reload(), ANEW_MS);
    return () => {
      this.generation += 1;
      forget();
      clearInterval(again);
      clearTimeout(this.timer);
      clearTimeout(this.steered);
      this.timer = this.steered = 0;
    };
  }

  reload(): void {
    this.anew = true;
    this.soon();
  }

  private hear(change: Change): void {
    if (change.reset) this.anew = true;
    if (change.steered) {
      for (const id of this.inSight) this.changed.add(id);
      this.steered ||= window.setTimeout(() => {
        this.steered = 0;
        this.reload();
      }, STEERED_MS);
    }
    for (const id of change.endpoints) this.changed.add(id);
    this.soon();
  }

  private soon(): void {
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      void (this.anew ? this.load() : this.refresh());
    }, AT_MOST_MS);
  }

  /** Everything, page by page; what is there stays until it is replaced. */
  private async load(): Promise<void> {
    const generation = ++this.generation;
    this.anew = false;
    this.changed.clear();
    this.loading.value = true;
    const found: Row[] = [];
    try {
      let cursor: string | null = null;
      do {
        const page: Listed<Told> = await ask("GET", "/v1/rows", { query: { limit: PAGE, cursor } });
        if (generation !== this.generation) return;
        found.push(...page.items.map(searchable));
        if (found.length > this.all.value.length) this.all.value = [...found];
        cursor = page.next_cursor;
      } while (cursor);
      this.all.value = found;
      this.problem.value = undefined;
    } catch (error) {
      this.fail(error);
    } finally {
      if (generation === this.generation) this.loading.value = false;
    }
  }

  /** Those that changed. */
  private async refresh(): Promise<void> {
    const ids = [...this.changed].slice(0, PAGE);
    for (const id of ids) this.changed.delete(id);
    if (ids.length === 0) return;
    const generation = this.generation;
    try {
      const page = await ask<{ items: Told[] }>("GET", "/v1/rows", { query: { endpoint_id: ids } });
      if (generation !== this.generation) return;
      const fresh = new Map(page.items.map((told) => [told.id, searchable(told)]));
      const asked = new Set(ids);
      this.all.value = this.all.value.filter((row) => !asked.has(row.id) || fresh.has(row.id)).map((row) => fresh.get(row.id) ?? row);
      this.problem.value = undefined;
    } catch (error) {
      this.fail(error);
    }
    if (this.changed.size) this.soon();
  }

  private fail(error: unknown): void {
    this.problem.value = asProblem(error);
  }
}
