import type { Page } from "../page";

export const page: Page = {
  path: "/",
  title: "Overview",
  nav: { icon: "overview", order: 10, key: "o" },
  load: () => import("./overview"),
};
