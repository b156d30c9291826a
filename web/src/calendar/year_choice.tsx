/** The year that is shown, with buttons for the one before and after it. */

import type { JSX } from "preact";

export function YearChoice({ year, onYear }: { year: number; onYear: (year: number) => void }): JSX.Element {
  return (
    <div class="row year-choice" role="group" aria-label="Year">
      <button class="button" type="button" aria-label={`Show ${year - 1}`} onClick={() => onYear(year - 1)}>
        ←
      </button>
      <strong class="number">{year}</strong>
      <button class="button" type="button" aria-label={`Show ${year + 1}`} onClick={() => onYear(year + 1)}>
        →
      </button>
    </div>
  );
}
