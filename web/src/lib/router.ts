/** Addresses without a reload. */

import { signal } from "@preact/signals";
import { mayLeave } from "./unsaved";

export const path = signal(location.pathname);
/** The query string; pages keep their filters here, so that links can be shared. */
export const query = signal(new URLSearchParams(location.search));

/** The address that is shown. */
let shown = location.href;

function read(): void {
  shown = location.href;
  path.value = location.pathname;
  query.value = new URLSearchParams(location.search);
}

addEventListener("popstate", () => {
  // The browser is there already; a form that is kept goes back to its own address.
  if (new URL(shown).pathname === location.pathname || mayLeave()) read();
  else history.pushState(null, "", shown);
});

/** Go to an address. With unsaved changes the user is asked first, except where the address is replaced. */
export function go(to: string, options: { replace?: boolean } = {}): void {
  if (!options.replace && !mayLeave()) return;
  if (options.replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  read();
}

/** Set some of the query, in place; null removes. */
export function setQuery(changes: Record<string, string | null>): void {
  const next = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  go(location.pathname + (text ? `?${text}` : ""), { replace: true });
}

/** The values of `/endpoints/:id` in a path, or null if it is another one. */
export function matchPath(pattern: string, address: string): Record<string, string> | null {
  const patternParts = pattern.split("/");
  const addressParts = address.replace(/\/+$/, "").split("/");
  if (address === "/") addressParts.push("");
  if (pattern === "/") return address === "/" ? {} : null;
  if (patternParts.length !== addressParts.length) return null;
  const values: Record<string, string> = {};
  for (const [index, part] of patternParts.entries()) {
    const value = addressParts[index] ?? "";
    if (part.startsWith(":")) {
      try {
        values[part.slice(1)] = decodeURIComponent(value);
      } catch {
        return null;
      }
    } else if (part !== value) return null;
  }
  return values;
}

/** Let links inside the dashboard change the page without a reload. */
export function followLinks(): void {
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.("a[href]") as HTMLAnchorElement | null;
    if (!link || link.origin !== location.origin || link.target || link.hasAttribute("data-reload")) return;
    event.preventDefault();
    go(link.pathname + link.search);
    scrollTo(0, 0);
  });
}
