/** The input of a user's channels: a line for each, the preferred one first. */

import type { JSX } from "preact";
import type { InputProps } from "./inputs";
import type { ChannelRow } from "./kinds";

export const CHANNEL_TYPES = [
  { value: "webhook", label: "Webhook" },
  { value: "slack", label: "Slack" },
  { value: "apprise", label: "Apprise: mail, Telegram, PagerDuty, ntfy and others" },
];

export function ChannelRows({ label, value, onValue, wiring }: InputProps): JSX.Element {
  const rows = value as ChannelRow[];
  const set = (index: number, change: Partial<ChannelRow>): void => onValue(rows.map((row, at) => (at === index ? { ...row, ...change } : row)));
  function raise(index: number): void {
    const before = rows.slice(0, index - 1);
    onValue([...before, rows[index]!, rows[index - 1]!, ...rows.slice(index + 1)]);
  }
  const add = (): void => onValue([...rows, { id: `channel-${rows.length + 1}`, type: "apprise", url: "", enabled: true }]);
  return (
    <div class="channels" role="group" aria-label={label}>
      {rows.map((row, index) => (
        <div class="channel" key={index}>
          <input type="checkbox" aria-label={`Channel ${index + 1}, enabled`} checked={row.enabled} onChange={(event) => set(index, { enabled: event.currentTarget.checked })} />
          <input aria-label={`Channel ${index + 1}, id`} aria-invalid={wiring["aria-invalid"]} autocomplete="off" spellcheck={false} value={row.id} onInput={(event) => set(index, { id: event.currentTarget.value })} />
          <select aria-label={`Channel ${index + 1}, type`} value={row.type} onChange={(event) => set(index, { type: event.currentTarget.value })}>
            {CHANNEL_TYPES.map((one) => (
              <option key={one.value} value={one.value}>
                {one.label}
              </option>
            ))}
          </select>
          <input class="address" aria-label={`Channel ${index + 1}, address`} aria-invalid={wiring["aria-invalid"]} placeholder="ntfy://…" autocomplete="off" spellcheck={false} value={row.url} onInput={(event) => set(index, { url: event.currentTarget.value })} />
          <div class="row">
            {index > 0 && (
              <button class="button plain" type="button" aria-label={`Move up ${row.id}`} onClick={() => raise(index)}>
                Move up
              </button>
            )}
            <button class="button plain" type="button" aria-label={`Remove ${row.id}`} onClick={() => onValue(rows.filter((_, at) => at !== index))}>
              Remove
            </button>
          </div>
        </div>
      ))}
      <div>
        <button class="button" type="button" id={wiring.id} aria-label="Add a channel" aria-describedby={wiring["aria-describedby"]} onClick={add}>
          Add a channel
        </button>
      </div>
    </div>
  );
}
