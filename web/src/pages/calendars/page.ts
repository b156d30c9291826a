import type { Page } from "../page";

export const pages: Page[] = [
  {
    path: "/calendars",
    title: "Calendars",
    nav: { icon: "calendars", order: 51, key: "c" },
    load: () => import("./calendars"),
  },
  {
    path: "/calendars/:id",
    title: "Calendar",
    load: () => import("./calendar"),
  },
  {
    // `new`, `edit` or `copy`; for a new calendar the id says nothing.
    path: "/calendars/:id/:form",
    title: "Calendar",
    load: () => import("./calendar_form"),
  },
];
