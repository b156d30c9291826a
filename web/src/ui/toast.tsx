/** Short messages about actions that were done or failed. */

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

export function toast(text: string, options: { bad?: boolean } = {}): void {
  const id = ++last;
  toasts.value = [...toasts.value.slice(-3), { id, text, bad: options.bad ?? false }];
  setTimeout(() => dismiss(id), options.bad ? SHOWN_MS * 2 : SHOWN_MS);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((one) => (
        <div key={one.id} class={`toast ${one.bad ? "bad" : ""}`}>
          <span>{one.text}</span>
          <button type="button" aria-label="Dismiss" onClick={() => dismiss(one.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
