/** Settings: what can be created, changed and deleted, one section for each kind. */

import type { ComponentType, JSX } from "preact";
import type { Resource } from "../../forms/resource";
import { hasScope } from "../../lib/api";
import { KEYS, SECRETS } from "../../resources/access";
import { AGENTS, USERS } from "../../resources/agents";
import { SCHEDULES } from "../../resources/schedules";
import { ALERT_ROUTES } from "../../resources/alert_routes";
import { DAILY_USERS, PROGRAMMES } from "../../resources/daily";
import { JOBS } from "../../resources/jobs";
import { RUN_LIMITS } from "../../resources/limits";
import { Empty } from "../../ui/parts";
import type { PageProps } from "../page";
import { Configuration } from "./configuration";
import { Records } from "./records";
import "./settings.css";
import { Usage } from "./usage";

interface Area {
  slug: string;
  title: string;
  content: ComponentType;
  /** Needed to see it. */
  scope?: "admin";
}

function listOf(resource: Resource, scope?: "admin"): Area {
  return { slug: resource.slug, title: resource.title, content: () => <Records resource={resource} />, ...(scope ? { scope } : {}) };
}

const AREAS: Area[] = [
  listOf(JOBS),
  listOf(USERS),
  listOf(AGENTS),
  listOf(SCHEDULES),
  listOf(DAILY_USERS),
  listOf(PROGRAMMES),
  listOf(SECRETS),
  listOf(ALERT_ROUTES),
  listOf(RUN_LIMITS),
  listOf(KEYS, "admin"),
  { slug: "usage", title: "Usage and limits", content: Usage },
  { slug: "configuration", title: "Import and export", content: Configuration },
];

export default function SettingsPage({ params }: PageProps): JSX.Element {
  const areas = AREAS.filter((area) => !area.scope || hasScope(area.scope));
  const slug = params["section"] ?? areas[0]?.slug;
  const current = areas.find((area) => area.slug === slug);
  const Content = current?.content;
  return (
    <div class="settings">
      <nav aria-label="Settings" class="areas">
        <ul>
          {areas.map((area) => (
            <li key={area.slug}>
              <a href={`/settings/${area.slug}`} {...(area === current ? { "aria-current": "page" as const } : {})}>
                {area.title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {Content ? (
        <Content key={slug} />
      ) : (
        <Empty title="Not found">
          <p>There is no such area, or your session may not see it.</p>
        </Empty>
      )}
    </div>
  );
}
