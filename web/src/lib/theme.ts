/** Light or dark: as the system prefers, unless the user chose. */

import { signal } from "@preact/signals";

export type Theme = "light" | "dark";
const STORAGE_KEY = "cadenza.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function storedTheme(): Theme | null {
  const stored = localStorage.getItem(STORAGE_KEY);
  return stored === "light" || stored === "dark" ? stored : null;
}

export const theme = signal<Theme>(storedTheme() ?? (system.matches ? "dark" : "light"));

function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.value;
}

export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(STORAGE_KEY, theme.value);
  applyTheme();
}

system.addEventListener("change", () => {
  if (storedTheme()) return;
  theme.value = system.matches ? "dark" : "light";
  applyTheme();
});
applyTheme();

/** The value of a custom property, e.g. `color("--ink")`, for what is drawn on a canvas. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
