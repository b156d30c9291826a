import type { Page } from "../page";

export const page: Page = {
  path: "/runs",
  title: "Runs",
  nav: { icon: "runs", order: 25, key: "r" },
  load: () => import("./runs"),
};
