/** What the preview operations answer about a year of a calendar, and how pages read it. */

export interface PreviewAnswer {
  year: number;
  timezone: string;
  months: { month: number; open_days: number; open_hours: number }[];
  /** Days on which it is open at all. */
  days: { date: string; hours: { opens: string; closes: string }[] }[];
  clock_changes: { at: string; before: string; after: string }[];
  endpoints: { endpoint_id: string; name: string; runs: number; more: boolean; next_runs: string[] }[];
}

export interface OpenDay {
  whole: boolean;
  /** `08:00 to 18:00`, by the clocks of the zone. */
  hours: string[];
}

/** What clocks show before and after they are changed: `02:00`, `03:00`. */
export interface ClockChange {
  date: string;
  before: string;
  after: string;
  forward: boolean;
}

export interface YearPreview extends Pick<PreviewAnswer, "year" | "timezone" | "endpoints"> {
  /** The date in its zone. */
  today: string;
  days: Map<string, OpenDay>;
  openHours: number;
  clockChanges: ClockChange[];
  /** The first moments from now on at which it opens, by its clocks: `2027-03-01 08:00`. */
  openings: string[];
}

const MIDNIGHT = "24:00";
const OPENINGS = 3;

export function readPreview(answer: PreviewAnswer, now: number): YearPreview {
  const { year, timezone, endpoints } = answer;
  const local = localNow(now, timezone);
  return {
    year,
    timezone,
    endpoints,
    today: local.slice(0, 10),
    days: new Map(answer.days.map(({ date, hours }) => [date, { whole: isWhole(hours), hours: hours.map(({ opens, closes }) => `${opens} to ${closes}`) }])),
    openHours: answer.months.reduce((sum, month) => sum + month.open_hours, 0),
    clockChanges: answer.clock_changes.map(readChange),
    openings: openingsOf(answer).filter((opening) => opening >= local).slice(0, OPENINGS),
  };
}

const isWhole = (hours: { opens: string; closes: string }[]): boolean => hours.length === 1 && hours[0]!.opens === "00:00" && hours[0]!.closes === MIDNIGHT;

/** The beginnings of its spans; one that goes over midnight opens once. */
function openingsOf({ days }: PreviewAnswer): string[] {
  let openUntil = "";
  return days.flatMap(({ date, hours }) =>
    hours.flatMap(({ opens, closes }) => {
      const goesOn = opens === "00:00" && openUntil === date;
      openUntil = closes === MIDNIGHT ? dayAfter(date) : "";
      return goesOn ? [] : [`${date} ${opens}`];
    }),
  );
}

function dayAfter(date: string): string {
  return new Date(Date.parse(date) + 86_400_000).toISOString().slice(0, 10);
}

/** What clocks of a zone show, as it is written in openings. */
function localNow(now: number, timeZone: string): string {
  const parts = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short", timeZone });
  return parts.format(now);
}

const minutesOf = (offset: string): number => Number(`${offset[0]}1`) * (Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6)));

function readChange({ at, before, after }: PreviewAnswer["clock_changes"][number]): ClockChange {
  const [[shown, offset], [next, nextOffset]] = [before.split(" "), after.split(" ")] as [[string, string], [string, string]];
  const date = new Date(Date.parse(at) + minutesOf(offset) * 60_000).toISOString().slice(0, 10);
  return { date, before: shown, after: next, forward: minutesOf(nextOffset) > minutesOf(offset) };
}
