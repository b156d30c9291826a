import type { Page } from "../page";

export const page: Page = {
  path: "/audit",
  title: "Audit",
  nav: { icon: "audit", order: 70, key: "l" },
  load: () => import("./audit"),
};
