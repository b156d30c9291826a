/** Light or dark: as the system prefers, unless somebody chose. */

import { signal } from "@preact/signals";

export type Theme = "light" | "dark";
const KEPT = "cadenza.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function kept(): Theme | null {
  const found = localStorage.getItem(KEPT);
  return found === "light" || found === "dark" ? found : null;
}

export const theme = signal<Theme>(kept() ?? (system.matches ? "dark" : "light"));

function show(): void {
  document.documentElement.dataset["theme"] = theme.value;
}

export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(KEPT, theme.value);
  show();
}

system.addEventListener("change", () => {
  if (kept()) return;
  theme.value = system.matches ? "dark" : "light";
  show();
});
show();

/** The value of a custom property, e.g. `color("--ink")`, for what is drawn on a canvas. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
