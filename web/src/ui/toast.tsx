/** Short words about what was just done, or could not be. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { Icon } from "./icons";

interface Toast {
  id: number;
  text: string;
  bad: boolean;
}

const toasts = signal<Toast[]>([]);
let last = 0;
const SHOWN_MS = 6_000;

export function toast(text: string, how: { bad?: boolean } = {}): void {
  const id = ++last;
  toasts.value = [...toasts.value.slice(-3), { id, text, bad: how.bad ?? false }];
  setTimeout(() => drop(id), how.bad ? SHOWN_MS * 2 : SHOWN_MS);
}

function drop(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((one) => (
        <div key={one.id} class={`toast ${one.bad ? "bad" : ""}`}>
          <span>{one.text}</span>
          <button type="button" aria-label="Dismiss" onClick={() => drop(one.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
