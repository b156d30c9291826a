import type { Page } from "../page";

export const page: Page = {
  path: "/jobs/:id",
  title: "Job",
  load: () => import("./job"),
};
