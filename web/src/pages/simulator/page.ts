import type { Page } from "../page";

export const page: Page = {
  path: "/simulator",
  title: "Simulator",
  nav: { icon: "simulator", order: 60, key: "s" },
  load: () => import("./simulator"),
};
