import type { Page } from "../page";

export const page: Page = {
  path: "/daily",
  title: "Daily",
  nav: { icon: "daily", order: 50, key: "d" },
  load: () => import("./daily"),
};
