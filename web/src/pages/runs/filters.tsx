/** The filters of the page of all runs; the address holds them. */

import type { JSX } from "preact";
import { useId, useRef } from "preact/hooks";
import type { ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { localZone } from "../../lib/format";
import { query, setQuery } from "../../lib/router";
import type { RunFilter } from "../../run/run_list";
import "../../run/run.css";
import { RANGES, utc } from "../../run/time_range";
import { SOURCE_LABELS } from "../../ui/parts";

const STATUSES = ["success", "failure", "timeout", "abandoned", "skipped", "cancelled"];
const SOURCES = ["baseline-interval", "baseline-cron", "baseline-once", "ai-interval", "ai-oneshot", "clamped-min", "clamped-max", "paused", "calendar", "closed", "first", "manual", "resume", "retry", "quota", "heartbeat", "rerun", "backfill"];
const TYPING_MS = 300;

/** Sources that share a label in lists are told apart where one is chosen: `baseline (cron)`. */
function sourceOption(source: string): string {
  const label = SOURCE_LABELS[source] ?? source;
  const shared = SOURCES.some((one) => one !== source && SOURCE_LABELS[one] === label);
  return shared ? `${label} (${source.replace(/^.*-/, "")})` : label;
}

/** The filter that an address holds. */
export function readFilter(from: URLSearchParams): RunFilter {
  const listed = (name: string, known: string[]): string[] => (from.get(name) ?? "").split(",").filter((one) => known.includes(one));
  const within = RANGES.find((one) => one.name === from.get("within"))?.ms;
  return {
    status: listed("status", STATUSES),
    source: listed("source", SOURCES),
    job_id: from.get("job") || undefined,
    endpoint_id: from.get("endpoint") || undefined,
    withinMs: within,
    since: within === undefined ? utc(from.get("since")) : undefined,
    until: within === undefined ? utc(from.get("until")) : undefined,
  };
}

export function Filters(): JSX.Element {
  const filter = readFilter(query.value);
  const chosen = new Set(filter.status);
  const between = query.value.get("within") === "between";
  function toggle(status: string): void {
    const next = STATUSES.filter((one) => (one === status ? !chosen.has(one) : chosen.has(one)));
    setQuery({ status: next.join(",") });
  }
  return (
    <div class="stack tight" role="search" aria-label="Filter runs">
      <fieldset class="chips">
        <legend>Status</legend>
        {STATUSES.map((status) => (
          <button key={status} class="button" type="button" aria-pressed={chosen.has(status)} onClick={() => toggle(status)}>
            <span class={`swatch status-${status}`} /> {status}
          </button>
        ))}
      </fieldset>
      <div class="filters">
        <JobFilter />
        <TextFilter label="Endpoint id" name="endpoint" />
        <Choice label="Why this time?" name="source" none="any source" options={SOURCES.map((one) => [one, sourceOption(one)])} />
        <Choice label="Ended" name="within" none="any time" options={[...RANGES.map(({ name }): [string, string] => [name, `last ${name}`]), ["between", "between…"]]} />
        {between && <DateFilter label={`From (${localZone()})`} name="since" />}
        {between && <DateFilter label={`Until (${localZone()})`} name="until" />}
      </div>
    </div>
  );
}

function JobFilter(): JSX.Element {
  const jobs = useData<ListPage<{ id: string }>>("/v1/jobs", { query: { limit: 200 }, when: (change) => change.steered, every: 60_000 });
  return <TextFilter label="Job id" name="job" suggestions={jobs.value.value?.items.map((one) => one.id) ?? []} />;
}

export function TextFilter({ label, name, suggestions = [] }: { label: string; name: string; suggestions?: string[] }): JSX.Element {
  const id = useId();
  const timer = useRef(0);
  function onInput(value: string): void {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setQuery({ [name]: value.trim() }), TYPING_MS);
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} type="search" list={suggestions.length ? `${id}-list` : undefined} value={query.value.get(name) ?? ""} autoComplete="off" onInput={(event) => onInput(event.currentTarget.value)} />
      {suggestions.length > 0 && (
        <datalist id={`${id}-list`}>
          {suggestions.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </div>
  );
}

export function Choice({ label, name, none, options }: { label: string; name: string; none: string; options: [string, string][] }): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={query.value.get(name) ?? ""} onChange={(event) => setQuery({ [name]: event.currentTarget.value })}>
        <option value="">{none}</option>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

export function DateFilter({ label, name }: { label: string; name: string }): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} type="datetime-local" value={localInput(query.value.get(name))} onChange={(event) => setQuery({ [name]: utc(event.currentTarget.value) ?? null })} />
    </div>
  );
}

/** A moment as a field for local date and time takes it; the address holds it in UTC. */
function localInput(at: string | null): string {
  const moment = Date.parse(at ?? "");
  if (Number.isNaN(moment)) return "";
  return new Date(moment - new Date(moment).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
