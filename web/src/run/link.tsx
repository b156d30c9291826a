/** Links to runs, and what lists say about them. */

import type { JSX } from "preact";
import { fullTime } from "../lib/format";
import { query, setQuery } from "../lib/router";

/** The address of this page with a run open. */
export function runHref(id: string): string {
  const next = new URLSearchParams(query.value);
  next.set("run", id);
  return `${location.pathname}?${next.toString()}`;
}

/** A link that opens a run beside the list. */
export function RunLink({ id, at }: { id: string; at: string }): JSX.Element {
  return (
    <a
      class="number"
      href={runHref(id)}
      title={fullTime(at)}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        setQuery({ run: id });
      }}
    >
      <RunTime at={at} />
    </a>
  );
}

export function RunTime({ at }: { at: string }): JSX.Element {
  return <time dateTime={at}>{listTime(at)}</time>;
}

const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

/** A moment as lists show it: the time of today, else with the day. */
function listTime(at: string): string {
  const moment = new Date(at);
  const clock = CLOCK.format(moment);
  return DAY.format(moment) === DAY.format(new Date()) ? clock : `${DAY.format(moment)}, ${clock}`;
}

/** What kind of run it is, unless it is one of the schedule. */
export function Kind({ kind }: { kind: string | undefined }): JSX.Element | null {
  return kind && kind !== "scheduled" ? <span class="badge accent">{kind}</span> : null;
}
