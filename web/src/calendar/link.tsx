/** A link to a calendar by its id. */

import type { JSX } from "preact";

export function CalendarLink({ id }: { id: string }): JSX.Element {
  return <a href={`/calendars/${encodeURIComponent(id)}`}>{id}</a>;
}
