/** What surrounds every page: navigation, title, tools, and the page itself. */

import { signal } from "@preact/signals";
import type { ComponentType, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import icon from "../icon.svg";
import { asProblem } from "../lib/api";
import { listenToKeys, shortcuts, useShortcut } from "../lib/keys";
import { connection } from "../lib/live";
import { go, matched, path } from "../lib/router";
import { leave } from "../lib/session";
import { theme, toggleTheme } from "../lib/theme";
import { inNavigation, pages, type Page, type PageProps } from "../pages/page";
import { Dialog } from "./dialog";
import { Icon } from "./icons";
import { Empty, Loading } from "./parts";
import { toast } from "./toast";

const helping = signal(false);
const loaded = signal<Record<string, ComponentType<PageProps>>>({});
/** A page may say more exactly what it shows, e.g. the name of its endpoint; null for its own title. */
export const heading = signal<string | null>(null);

listenToKeys();

export function Shell(): JSX.Element {
  const here = found(path.value);
  useShortcut("?", "Show the shortcuts", () => (helping.value = true));
  useShortcut("t", "Light or dark", toggleTheme);
  return (
    <div class="shell">
      <a class="skip" href="#main" data-reload>
        Skip to content
      </a>
      <div class="side">
        <a class="brand" href="/">
          <img src={icon} alt="" />
          Cadenza
        </a>
        <nav aria-label="Pages">
          <ul>
            {inNavigation.map((page) => (
              <NavigationItem key={page.path} page={page} here={here?.page} />
            ))}
          </ul>
        </nav>
        <footer>
          <a href="/docs" data-reload>
            API reference
          </a>
        </footer>
      </div>
      <main class="main" id="main" tabIndex={-1}>
        <Top title={heading.value ?? here?.page.title ?? "Not here"} />
        {here ? <Content key={here.page.path} page={here.page} params={here.params} /> : <Nowhere />}
      </main>
      <Help />
    </div>
  );
}

function found(address: string): { page: Page; params: Record<string, string> } | undefined {
  for (const page of pages) {
    const params = matched(page.path, address);
    if (params) return { page, params };
  }
  return undefined;
}

function NavigationItem({ page, here }: { page: Page; here: Page | undefined }): JSX.Element | null {
  const nav = page.nav;
  useShortcut(`g ${nav?.key ?? ""}`, `Go to ${page.title}`, () => go(page.path));
  if (!nav) return null;
  const current = here && (here === page || (page.path !== "/" && here.path.startsWith(`${page.path}/`)));
  return (
    <li>
      <a href={page.path} {...(current ? { "aria-current": "page" as const } : {})}>
        <Icon name={nav.icon} />
        <span class="clip">{page.title}</span>
      </a>
    </li>
  );
}

const LIVE_WORDS = { connecting: "Connecting", live: "Live", lost: "Reconnecting" };

function Top({ title }: { title: string }): JSX.Element {
  const element = useRef<HTMLHeadingElement>(null);
  const first = useRef(true);
  const address = path.value;
  useEffect(() => {
    document.title = `${title} · Cadenza`;
  }, [title]);
  useEffect(() => {
    // Who follows a link with a keyboard or a screen reader begins at the new page's title.
    if (!first.current) element.current?.focus({ preventScroll: true });
    first.current = false;
  }, [address]);
  const dark = theme.value === "dark";
  return (
    <div class="top">
      <h1 class="clip" tabIndex={-1} ref={element}>
        {title}
      </h1>
      <div class="tools">
        <span class="live" data-state={connection.value} role="status">
          {LIVE_WORDS[connection.value]}
        </span>
        <button class="icon-button" type="button" aria-label="Shortcuts" title="Shortcuts (?)" onClick={() => (helping.value = true)}>
          <Icon name="help" />
        </button>
        <button class="icon-button" type="button" aria-label={dark ? "Light colours" : "Dark colours"} title="Light or dark (t)" onClick={toggleTheme}>
          <Icon name={dark ? "sun" : "moon"} />
        </button>
        <button class="icon-button" type="button" aria-label="Log out" title="Log out" onClick={() => void logOut()}>
          <Icon name="leave" />
        </button>
      </div>
    </div>
  );
}

async function logOut(): Promise<void> {
  try {
    await leave();
    go("/login");
  } catch (error) {
    toast(asProblem(error).message, { bad: true });
  }
}

function Content({ page, params }: { page: Page; params: Record<string, string> }): JSX.Element {
  useEffect(() => {
    page.load().then(
      (module) => (loaded.value = { ...loaded.value, [page.path]: module.default }),
      () => toast("This page could not be loaded; reload to try again.", { bad: true }),
    );
    return () => {
      heading.value = null;
    };
  }, [page]);
  const Shown = loaded.value[page.path];
  return Shown ? <Shown params={params} /> : <Loading what={page.title.toLowerCase()} />;
}

function Nowhere(): JSX.Element {
  return (
    <Empty title="There is no such page">
      <p>
        <a href="/">Go to the overview</a>
      </p>
    </Empty>
  );
}

function Help(): JSX.Element {
  const known = shortcuts.value.filter((one) => one.keys.trim() !== "g");
  return (
    <Dialog title="Shortcuts" open={helping.value} onClose={() => (helping.value = false)}>
      <dl class="shortcuts">
        {known.map((one) => (
          <>
            <dt key={one.keys}>
              {one.keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{one.does}</dd>
          </>
        ))}
      </dl>
    </Dialog>
  );
}
