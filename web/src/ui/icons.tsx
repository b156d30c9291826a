/** Line drawings, 24 units square. */

import type { JSX } from "preact";

const ICON_PATHS = {
  overview: "M4 19V11M10 19V5M16 19v-6M21 19H3",
  endpoints: "M4 6h16M4 12h16M4 18h10",
  runs: "M5 5v14M5 12h14M13 7l6 5-6 5",
  alerts: "M6 17h12l-1.500-2.500V10a4.500 4.500 0 0 0-9 0v4.500zM10 20h4",
  audit: "M6 3h9l4 4v14H6zM9 12h7M9 16h7M14 3v5h5",
  simulator: "M5 5l14 7-14 7V5z",
  planners: "M12 3v3M12 18v3M3 12h3M18 12h3M7 7l2 2M15 15l2 2M17 7l-2 2M9 15l-2 2",
  agents: "M4 5h16v11H9l-5 4V5z",
  daily: "M4 6h16v14H4zM4 10h16M8 3v4M16 3v4",
  calendars: "M4 6h16v14H4zM4 10h16M8 3v4M16 3v4M8 13.500h2M12 13.500h2M16 13.500h.5M8 17h2M12 17h2",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5a2 2 0 1 0 0 4 2 2 0 0 0 0-4zM8 15a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  moon: "M20 14a8 8 0 1 1-9-11 6.500 6.500 0 0 0 9 11z",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500L19 19M19 5l-1.500 1.500M6.500 17.500L5 19",
  help: "M9 9a3 3 0 1 1 4.500 2.600c-1 .6-1.500 1.200-1.500 2.400M12 17.500v.01",
  close: "M6 6l12 12M18 6L6 18",
  exit: "M10 5H5v14h5M14 8l4 4-4 4M18 12H9",
  up: "M6 15l6-6 6 6",
  down: "M6 9l6 6 6-6",
  pause: "M8 5v14M16 5v14",
  play: "M7 5l12 7-12 7V5z",
} as const;

export type IconName = keyof typeof ICON_PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={ICON_PATHS[name]} />
    </svg>
  );
}
