import type { Page } from "../page";

export const page: Page = {
  path: "/endpoints/:id",
  title: "Endpoint",
  load: () => import("./endpoint"),
};
