/** The inputs of days and hours: weekly hours, weekdays, an uploaded file, cadences and day parts. */

import type { ComponentType, JSX } from "preact";
import { useId } from "preact/hooks";
import type { ListPage } from "../lib/api";
import { useData } from "../lib/data";
import { UNITS } from "../ui/duration_field";
import "./calendar_inputs.css";
import { DAYS, NEW_CADENCE, WORKING_DAYS, type Cadence, type DayPartRow, type HoursRow } from "./calendar_kinds";
import type { InputProps } from "./inputs";
import { timeZones } from "./zones";

const NAMES: Record<string, string> = { mon: "Mon", tue: "Tue", wed: "Wed", thu: "Thu", fri: "Fri", sat: "Sat", sun: "Sun" };

/** A checkbox for each day of the week. */
function Days({ label, chosen, onDays, wiring }: { label: string; chosen: string[]; onDays: (days: string[]) => void; wiring?: InputProps["wiring"] }): JSX.Element {
  const toggle = (day: string, on: boolean): void => onDays(DAYS.filter((one) => (one === day ? on : chosen.includes(one))));
  return (
    <div class="days-choice" role="group" aria-label={label} {...(wiring ? { id: wiring.id, "aria-describedby": wiring["aria-describedby"] } : {})}>
      {DAYS.map((day) => (
        <label key={day}>
          <input type="checkbox" checked={chosen.includes(day)} onChange={(event) => toggle(day, event.currentTarget.checked)} />
          {NAMES[day]}
        </label>
      ))}
    </div>
  );
}

function Weekdays({ label, value, onValue, wiring }: InputProps): JSX.Element {
  return <Days label={label} chosen={value as string[]} onDays={onValue} wiring={wiring} />;
}

function WeeklyHours({ label, value, onValue, wiring }: InputProps): JSX.Element {
  const rows = value as HoursRow[];
  const set = (index: number, change: Partial<HoursRow>): void => onValue(rows.map((row, at) => (at === index ? { ...row, ...change } : row)));
  const add = (): void => onValue([...rows, rows.length ? { ...WORKING_DAYS, days: [] } : WORKING_DAYS]);
  return (
    <div class="weekly-hours" role="group" aria-label={label}>
      {rows.map((row, index) => (
        <div class="hours" key={index}>
          <Days label={`Days of hours ${index + 1}`} chosen={row.days} onDays={(days) => set(index, { days })} />
          <span class="row">
            <HoursTime label={`Hours ${index + 1}, from`} value={row.opens} invalid={wiring["aria-invalid"]} onTime={(opens) => set(index, { opens })} />
            <span>to</span>
            <HoursTime label={`Hours ${index + 1}, to`} value={row.closes} invalid={wiring["aria-invalid"]} onTime={(closes) => set(index, { closes })} />
            <button class="button plain" type="button" aria-label={`Remove hours ${index + 1} from ${label.toLowerCase()}`} onClick={() => onValue(rows.filter((_, at) => at !== index))}>
              Remove
            </button>
          </span>
        </div>
      ))}
      <div>
        <button class="button" type="button" id={wiring.id} aria-label={`Add to ${label.toLowerCase()}`} aria-describedby={wiring["aria-describedby"]} onClick={add}>
          Add to {label.toLowerCase()}
        </button>
      </div>
    </div>
  );
}

/** A text, as the field for times of browsers has no 24:00. */
function HoursTime({ label, value, invalid, onTime }: { label: string; value: string; invalid: boolean; onTime: (time: string) => void }): JSX.Element {
  return <input class="time number" aria-label={label} aria-invalid={invalid} autocomplete="off" maxLength={5} placeholder="08:00" value={value} onInput={(event) => onTime(event.currentTarget.value)} />;
}

/** A text that is typed, or read from a file. */
function FileText({ label, value, onValue, wiring }: InputProps): JSX.Element {
  const id = useId();
  return (
    <div class="file-text">
      <textarea {...wiring} class="mono short" rows={3} spellcheck={false} value={value as string} onInput={(event) => onValue(event.currentTarget.value)} />
      <input id={id} type="file" accept=".ics,text/calendar" aria-label={`${label}, from a file`} onChange={(event) => void event.currentTarget.files?.[0]?.text().then(onValue)} />
    </div>
  );
}

interface CadenceProps {
  label: string;
  value: Cadence;
  onCadence: (cadence: Cadence) => void;
  wiring?: InputProps["wiring"];
  invalid: boolean;
}

function CadenceFields({ label, value, onCadence, wiring, invalid }: CadenceProps): JSX.Element {
  const zones = useId();
  const { kind, every, expression, timezone } = value;
  const set = (change: Partial<Cadence>): void => onCadence({ ...value, ...change });
  return (
    <div class="cadence">
      <select {...wiring} aria-label={label} value={kind} onChange={(event) => set({ kind: event.currentTarget.value as Cadence["kind"] })}>
        <option value="every">every</option>
        <option value="cron">by a cron expression</option>
      </select>
      {kind === "every" ? (
        <div class="amount">
          <input aria-label={`${label}, interval`} aria-invalid={invalid} inputMode="decimal" autocomplete="off" value={every.count} onInput={(event) => set({ every: { ...every, count: event.currentTarget.value } })} />
          <select aria-label={`${label}, unit`} value={every.unit} onChange={(event) => set({ every: { ...every, unit: event.currentTarget.value } })}>
            {Object.keys(UNITS).map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </div>
      ) : (
        <>
          <input aria-label={`${label}, cron expression`} aria-invalid={invalid} placeholder="0 9 * * 1-5" autocomplete="off" spellcheck={false} value={expression} onInput={(event) => set({ expression: event.currentTarget.value })} />
          <input aria-label={`${label}, time zone`} aria-invalid={invalid} list={zones} autocomplete="off" spellcheck={false} value={timezone} onInput={(event) => set({ timezone: event.currentTarget.value })} />
          <datalist id={zones}>
            {timeZones().map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </>
      )}
    </div>
  );
}

function CadenceInput({ label, value, onValue, wiring }: InputProps): JSX.Element {
  return <CadenceFields label={label} value={value as Cadence} onCadence={onValue} wiring={wiring} invalid={wiring["aria-invalid"]} />;
}

const MOST_CALENDARS = 200;

function DayParts({ label, value, onValue, wiring }: InputProps): JSX.Element {
  const rows = value as DayPartRow[];
  const data = useData<ListPage<{ id: string; name: string }>>("/v1/calendars", { query: { limit: MOST_CALENDARS }, when: (change) => change.steered });
  const calendars = data.value.value?.items.map((one) => one.id) ?? [];
  const set = (index: number, change: Partial<DayPartRow>): void => onValue(rows.map((row, at) => (at === index ? { ...row, ...change } : row)));
  const invalid = wiring["aria-invalid"];
  return (
    <div class="day-parts" role="group" aria-label={label}>
      {rows.map((row, index) => (
        <div class="day-part" key={index}>
          <select aria-label={`Calendar of part ${index + 1}`} aria-invalid={invalid} value={row.calendar} onChange={(event) => set(index, { calendar: event.currentTarget.value })}>
            <option value="">{data.value.value && !calendars.length ? "There are no calendars yet" : "Choose a calendar"}</option>
            {[...new Set([...(row.calendar ? [row.calendar] : []), ...calendars])].map((id) => (
              <option key={id} value={id}>
                while {id} is open
              </option>
            ))}
          </select>
          <CadenceFields label={`Cadence of part ${index + 1}`} value={row.cadence} invalid={invalid} onCadence={(cadence) => set(index, { cadence })} />
          <button class="button plain" type="button" aria-label={`Remove part ${index + 1}`} disabled={rows.length === 1} onClick={() => onValue(rows.filter((_, at) => at !== index))}>
            Remove
          </button>
        </div>
      ))}
      <div>
        <button class="button" type="button" id={wiring.id} aria-label="Add a part" aria-describedby={wiring["aria-describedby"]} onClick={() => onValue([...rows, { calendar: "", cadence: NEW_CADENCE }])}>
          Add a part
        </button>
      </div>
    </div>
  );
}

export const CALENDAR_INPUTS: Record<"weekly" | "weekdays" | "file" | "cadence" | "day-parts", ComponentType<InputProps>> = {
  weekly: WeeklyHours,
  weekdays: Weekdays,
  file: FileText,
  cadence: CadenceInput,
  "day-parts": DayParts,
};
