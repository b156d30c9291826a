import type { Page } from "../page";

export const page: Page = {
  path: "/endpoints",
  title: "Endpoints",
  nav: { icon: "endpoints", order: 20, key: "e", count: "failing" },
  load: () => import("./endpoints"),
};
