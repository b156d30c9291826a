/** What keeps an endpoint to calendars, a start and an end, and whether it may run now. */

import type { JSX } from "preact";
import { CalendarLink } from "../../calendar/link";
import { Fact } from "../../run/details";
import type { CalendarRules } from "../../resources/calendar_rules";
import { fullTime } from "../../lib/format";

export function CalendarFacts({ rules }: { rules: CalendarRules | null }): JSX.Element | null {
  if (!rules) return null;
  const { only_during: only, never_during: never, starts_at: starts, ends_at: ends } = rules;
  return (
    <>
      {(only || never) && (
        <Fact name="Calendars">
          {only && <>only during <CalendarLink id={only} /></>}
          {only && never && ", "}
          {never && <>never during <CalendarLink id={never} /></>}
          <span class="quiet">{rules.when_closed === "run-at-end" ? "; while closed, it runs when it opens" : "; while closed, it is skipped"}</span>
        </Fact>
      )}
      {starts && <Fact name="Starts at">{fullTime(starts)}</Fact>}
      {ends && <Fact name="Ends at">{fullTime(ends)}</Fact>}
    </>
  );
}

/** What gates of calendars begin with; a start and an end keep it from running, too. */
const CLOSED = /calendar/;
const BOUNDS: Record<string, string> = { "it starts": "not started yet", "its schedule ended": "ended" };

/** A badge while calendars, a start or an end keep it from running. */
export function ClosedBadge({ gate }: { gate: string | null }): JSX.Element | null {
  if (gate === null) return null;
  const bound = Object.keys(BOUNDS).find((begin) => gate.startsWith(begin));
  if (bound === undefined && !CLOSED.test(gate)) return null;
  return (
    <span class="badge warn" title={gate}>
      {bound === undefined ? "closed" : BOUNDS[bound]}
    </span>
  );
}
