/** Keyboard shortcuts: one key, or `g` and a letter to go somewhere. */

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export interface Shortcut {
  /** `?`, `/`, `t`, or `g o`. */
  keys: string;
  description: string;
  action: () => void;
}

export const shortcuts = signal<Shortcut[]>([]);

/** Register a shortcut while a component is shown. */
export function useShortcut(keys: string, description: string, action: () => void): void {
  const current = useRef(action);
  current.current = action;
  useEffect(() => {
    const added = { keys, description, action: () => current.current() };
    shortcuts.value = [...shortcuts.value, added];
    return () => {
      shortcuts.value = shortcuts.value.filter((one) => one !== added);
    };
  }, [keys, description]);
}

const SEQUENCE_MS = 1_200;
let pending: { key: string; at: number } | undefined;

function isTextInput(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.("input, textarea, select, [contenteditable]");
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.metaKey || event.ctrlKey || event.altKey || isTextInput(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  const sequence = pending && event.timeStamp - pending.at < SEQUENCE_MS ? `${pending.key} ${event.key}` : event.key;
  pending = undefined;
  const shortcut = shortcuts.value.findLast((one) => one.keys === sequence);
  if (shortcut) {
    event.preventDefault();
    shortcut.action();
  } else if (shortcuts.value.some((one) => one.keys.startsWith(`${event.key} `))) {
    pending = { key: event.key, at: event.timeStamp };
  }
}

export function listenToKeys(): void {
  document.addEventListener("keydown", onKeyDown);
}
