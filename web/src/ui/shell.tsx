/** The frame of every page: navigation, title, tools, and the page itself. */

import { signal } from "@preact/signals";
import type { ComponentType, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import icon from "../icon.svg";
import { asProblem } from "../lib/api";
import { listenToKeys, shortcuts, useShortcut } from "../lib/keys";
import { connection } from "../lib/live";
import { go, matchPath, path } from "../lib/router";
import { logOut } from "../lib/session";
import { theme, toggleTheme } from "../lib/theme";
import { mayLeave } from "../lib/unsaved";
import { inNavigation, pages, type Page, type PageProps } from "../pages/page";
import { Dialog } from "./dialog";
import { Icon } from "./icons";
import { NavigationCount } from "./navigation_count";
import { Empty, Loading } from "./parts";
import { toast } from "./toast";

const helpOpen = signal(false);
const loaded = signal<Record<string, ComponentType<PageProps>>>({});
/** A page may replace its title, e.g. by the name of its endpoint; null for its own title. */
export const heading = signal<string | null>(null);

listenToKeys();

export function Shell(): JSX.Element {
  const current = findPage(path.value);
  useShortcut("?", "Shows keyboard shortcuts", () => (helpOpen.value = true));
  useShortcut("t", "Toggles dark mode", toggleTheme);
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
              <NavigationItem key={page.path} page={page} current={current?.page} />
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
        <Top title={heading.value ?? current?.page.title ?? "Not found"} />
        {current ? <Content key={current.page.path} page={current.page} params={current.params} /> : <NotFound />}
      </main>
      <Help />
    </div>
  );
}

function findPage(address: string): { page: Page; params: Record<string, string> } | undefined {
  for (const page of pages) {
    const params = matchPath(page.path, address);
    if (params) return { page, params };
  }
  return undefined;
}

function NavigationItem({ page, current }: { page: Page; current: Page | undefined }): JSX.Element | null {
  const nav = page.nav;
  useShortcut(`g ${nav?.key ?? ""}`, `Opens ${page.title}`, () => go(page.path));
  const isCurrent = current && (current === page || (page.path !== "/" && current.path.startsWith(`${page.path}/`)));
  if (!nav) return null;
  return (
    <li>
      <a href={page.path} {...(isCurrent ? { "aria-current": "page" as const } : {})}>
        <Icon name={nav.icon} />
        <span class="clip">{page.title}</span>
        {nav.count && <NavigationCount count={nav.count} />}
      </a>
    </li>
  );
}

const CONNECTION_LABELS = { connecting: "Connecting", live: "Live", lost: "Reconnecting" };

function Top({ title }: { title: string }): JSX.Element {
  const element = useRef<HTMLHeadingElement>(null);
  const first = useRef(true);
  const address = path.value;
  useEffect(() => {
    document.title = `${title} · Cadenza`;
  }, [title]);
  useEffect(() => {
    // After a link, keyboards and screen readers start at the new page's title.
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
          {CONNECTION_LABELS[connection.value]}
        </span>
        <button class="icon-button" type="button" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={() => (helpOpen.value = true)}>
          <Icon name="help" />
        </button>
        <button class="icon-button" type="button" aria-label="Toggle dark mode" aria-pressed={dark} title="Toggle dark mode (t)" onClick={toggleTheme}>
          <Icon name={dark ? "sun" : "moon"} />
        </button>
        <button class="icon-button" type="button" aria-label="Log out" title="Log out" onClick={() => void onLogOut()}>
          <Icon name="exit" />
        </button>
      </div>
    </div>
  );
}

async function onLogOut(): Promise<void> {
  if (!mayLeave()) return;
  try {
    await logOut();
    go("/login");
  } catch (error) {
    toast(asProblem(error).message, { bad: true });
  }
}

function Content({ page, params }: { page: Page; params: Record<string, string> }): JSX.Element {
  useEffect(() => {
    const stop = loadUntilDone(page);
    return () => {
      stop();
      heading.value = null;
    };
  }, [page]);
  const PageComponent = loaded.value[page.path];
  return PageComponent ? <PageComponent params={params} /> : <Loading what={page.title.toLowerCase()} />;
}

const RETRY_MS = 3_000;
const TRIES = 2;

/** Load the code of a page; while the server is away, try again. */
function loadUntilDone(page: Page, tries = 0): () => void {
  let timer = 0;
  let stopped = false;
  let cancelNext = (): void => undefined;
  page.load().then(
    (module) => (loaded.value = { ...loaded.value, [page.path]: module.default }),
    async () => {
      if (stopped) return;
      const answers = await fetch("/v1/session").then(() => true, () => false);
      // Browsers may remember that a module failed, and a new version has other names: start anew.
      if (answers && tries >= TRIES) location.reload();
      else timer = window.setTimeout(() => (cancelNext = loadUntilDone(page, answers ? tries + 1 : tries)), RETRY_MS);
    },
  );
  return () => {
    stopped = true;
    clearTimeout(timer);
    cancelNext();
  };
}

function NotFound(): JSX.Element {
  return (
    <Empty title="Page not found">
      <p>
        <a href="/">Go to the overview</a>
      </p>
    </Empty>
  );
}

function Help(): JSX.Element {
  const listed = shortcuts.value.filter((one) => one.keys.trim() !== "g");
  return (
    <Dialog title="Keyboard shortcuts" open={helpOpen.value} onClose={() => (helpOpen.value = false)}>
      <dl class="shortcuts">
        {listed.map((one) => (
          <>
            <dt key={one.keys}>
              {one.keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{one.description}</dd>
          </>
        ))}
      </dl>
    </Dialog>
  );
}
