import type { Page } from "../page";

export const page: Page = {
  path: "/agents",
  title: "Agents",
  nav: { icon: "agents", order: 40, key: "a" },
  load: () => import("./agents"),
};
