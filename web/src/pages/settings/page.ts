import type { Page } from "../page";

const load: Page["load"] = () => import("./settings");

export const pages: Page[] = [
  { path: "/settings", title: "Settings", nav: { icon: "settings", order: 90, key: "t" }, load },
  { path: "/settings/:section", title: "Settings", load },
];
