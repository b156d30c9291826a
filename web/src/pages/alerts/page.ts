import type { Page } from "../page";

export const page: Page = {
  path: "/alerts",
  title: "Alerts",
  nav: { icon: "alerts", order: 27, key: "w", count: "firing" },
  load: () => import("./alerts"),
};
