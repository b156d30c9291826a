import type { Page } from "../page";

export const page: Page = {
  path: "/planners",
  title: "Planners",
  nav: { icon: "planners", order: 50, key: "p" },
  load: () => import("./planners"),
};
