/** Days, openings and clock changes of a calendar in words. */

import type { ClockChange, YearPreview } from "./preview";

const DATE = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

export const dateInWords = (date: string): string => DATE.format(Date.parse(date));

/** `Fri, 24 December 2027: open 08:00 to 14:00`. */
export function dayInWords(date: string, preview: YearPreview): string {
  const day = preview.days.get(date);
  const hours = !day ? "closed" : day.whole ? "open all day" : `open ${day.hours.join(", ")}`;
  const change = preview.clockChanges.find((one) => one.date === date);
  return `${dateInWords(date)}: ${hours}${change ? `; ${changeInWords(change)}` : ""}`;
}

export function changeInWords({ before, after, forward }: ClockChange): string {
  return `clocks go ${forward ? "forward" : "back"} from ${before} to ${after}`;
}
