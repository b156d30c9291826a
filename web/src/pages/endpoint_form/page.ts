import type { Page } from "../page";

export const page: Page = {
  // `new`, `edit` or `copy`; for a new endpoint the id says nothing.
  path: "/endpoints/:id/:form",
  title: "Endpoint",
  load: () => import("./endpoint_form"),
};
