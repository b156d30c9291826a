/** A year of a calendar: twelve months whose days are open, open for a part of the day, or closed. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { Legend } from "../ui/parts";
import type { YearPreview } from "./preview";
import "./year.css";
import { dayInWords } from "./words";

const DAY_MS = 86_400_000;
const WEEK = 7;
/** A Monday, to name the days of the week. */
const A_MONDAY = Date.UTC(2024, 0, 1);
const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -WEEK, ArrowDown: WEEK };

const named = (options: Intl.DateTimeFormatOptions): ((at: number) => string) => {
  const format = new Intl.DateTimeFormat(undefined, { ...options, timeZone: "UTC" });
  return (at) => format.format(at);
};
const monthName = named({ month: "long" });
const weekday = named({ weekday: "short" });
const longWeekday = named({ weekday: "long" });

const isoDate = (at: number): string => new Date(at).toISOString().slice(0, 10);

export function Year({ preview }: { preview: YearPreview }): JSX.Element {
  const chosen = useSignal<string | null>(null);
  const { year } = preview;
  const shown = chosen.value?.startsWith(`${year}-`) ? chosen.value : null;
  function move(event: KeyboardEvent): void {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = shown === null ? `${year}-01-01` : isoDate(Date.parse(shown) + step * DAY_MS);
    if (next.startsWith(`${year}-`)) chosen.value = next;
  }
  function choose(event: MouseEvent): void {
    const date = (event.target as Element).closest<HTMLElement>("[data-date]")?.dataset["date"];
    if (date) chosen.value = date;
  }
  return (
    <div class="year-preview">
      <div class="year" role="group" aria-label={`${year}, by day; arrow keys move from day to day`} tabIndex={0} onKeyDown={move} onClick={choose}>
        {Array.from({ length: 12 }, (_, month) => (
          <Month key={month} preview={preview} month={month} chosen={shown} />
        ))}
      </div>
      <p class="day-words" role="status">
        {shown ? dayInWords(shown, preview) : <span class="quiet">Choose a day to see its hours.</span>}
      </p>
      <Legend
        items={[
          { class: "day-whole", label: "open all day" },
          { class: "day-part-open", label: "open for a part of the day" },
          { class: "day-closed", label: "closed" },
          { class: "day-clock-change", label: "clocks change" },
        ]}
      />
    </div>
  );
}

function Month({ preview, month, chosen }: { preview: YearPreview; month: number; chosen: string | null }): JSX.Element {
  const first = Date.UTC(preview.year, month, 1);
  const before = (new Date(first).getUTCDay() + WEEK - 1) % WEEK;
  const length = new Date(Date.UTC(preview.year, month + 1, 0)).getUTCDate();
  const weeks = Math.ceil((before + length) / WEEK);
  return (
    <table class="month">
      <caption>{monthName(first)}</caption>
      <thead>
        <tr>
          {Array.from({ length: WEEK }, (_, index) => (
            <th key={index} scope="col" abbr={longWeekday(A_MONDAY + index * DAY_MS)}>
              {weekday(A_MONDAY + index * DAY_MS).slice(0, 2)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {Array.from({ length: weeks }, (_, week) => (
          <tr key={week}>
            {Array.from({ length: WEEK }, (_, index) => {
              const day = week * WEEK + index - before;
              return day < 0 || day >= length ? <td key={index} /> : <Day key={index} date={isoDate(first + day * DAY_MS)} preview={preview} chosen={chosen} />;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Day({ date, preview, chosen }: { date: string; preview: YearPreview; chosen: string | null }): JSX.Element {
  const day = preview.days.get(date);
  const changes = preview.clockChanges.some((one) => one.date === date);
  const classes = ["day", !day ? "day-closed" : day.whole ? "day-whole" : "day-part-open", changes && "clock-change", date === chosen && "chosen", date === preview.today && "today"];
  return (
    <td class={classes.filter(Boolean).join(" ")} data-date={date} title={dayInWords(date, preview)}>
      {Number(date.slice(8))}
      <span class="visually-hidden">{!day ? " closed" : day.whole ? " open" : ` open ${day.hours.join(", ")}`}</span>
    </td>
  );
}
