/** Keyboard shortcuts: one key, or `g` and a letter to go somewhere. */

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export interface Shortcut {
  /** `?`, `/`, `t`, or `g o`. */
  keys: string;
  does: string;
  act: () => void;
}

export const shortcuts = signal<Shortcut[]>([]);

/** Have a shortcut while a component is shown. */
export function useShortcut(keys: string, does: string, act: () => void): void {
  const newest = useRef(act);
  newest.current = act;
  useEffect(() => {
    const shortcut = { keys, does, act: () => newest.current() };
    shortcuts.value = [...shortcuts.value, shortcut];
    return () => {
      shortcuts.value = shortcuts.value.filter((one) => one !== shortcut);
    };
  }, [keys, does]);
}

const SEQUENCE_MS = 1_200;
let first: { key: string; at: number } | undefined;

function typing(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.("input, textarea, select, [contenteditable]");
}

function pressed(event: KeyboardEvent): void {
  if (event.metaKey || event.ctrlKey || event.altKey || typing(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  const sequence = first && event.timeStamp - first.at < SEQUENCE_MS ? `${first.key} ${event.key}` : event.key;
  first = undefined;
  const found = shortcuts.value.findLast((one) => one.keys === sequence);
  if (found) {
    event.preventDefault();
    found.act();
  } else if (shortcuts.value.some((one) => one.keys.startsWith(`${event.key} `))) {
    first = { key: event.key, at: event.timeStamp };
  }
}

export function listenToKeys(): void {
  document.addEventListener("keydown", pressed);
}
