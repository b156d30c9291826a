/** The description of a page. Each folder beside this file has a `page.ts` that exports one, or several as `pages`. */

import type { ComponentType } from "preact";
import type { IconName } from "../ui/icons";
import type { Count } from "../ui/navigation_count";

export interface PageProps {
  /** The values of the `:parts` of its path. */
  params: Record<string, string>;
}

export interface Page {
  /** `/endpoints` or `/endpoints/:id`. The server knows the first part: see VIEWS in surfaces/dashboard/pages.py. */
  path: string;
  title: string;
  /** Its place in the navigation; without it, other pages lead there. */
  nav?: { icon: IconName; order: number; /** Behind `g`. */ key: string; /** What its badge counts. */ count?: Count };
  load: () => Promise<{ default: ComponentType<PageProps> }>;
}

const modules = import.meta.glob<{ page?: Page; pages?: Page[] }>("./*/page.ts", { eager: true });
export const pages: Page[] = Object.values(modules).flatMap((module) => module.pages ?? module.page ?? []);
export const inNavigation = pages
  .filter((page) => page.nav)
  .sort((one, other) => (one.nav?.order ?? 0) - (other.nav?.order ?? 0));
