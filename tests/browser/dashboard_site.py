"""The real program with a dashboard, and a real browser in front of it."""

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    Request,
    ViewportSize,
)
from tests.surfaces.server_process import UP, Program, running

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
SCREENSHOTS = Path(__file__).parent / "screenshots"
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
QUIET = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
A_LINK = re.compile(r"http://\S+/login#[A-Za-z0-9]+")
WIDE, PHONE = ViewportSize(width=1280, height=900), ViewportSize(width=390, height=844)
DESK = ViewportSize(width=1440, height=900)


def launch(playwright: Playwright) -> Browser:
    """The machine's Chromium, or the one that Playwright fetched."""
    named = os.environ.get("CADENZA_TEST_CHROMIUM")
    found = named or next((path for path in map(shutil.which, NAMES) if path), None)
    return playwright.chromium.launch(executable_path=found, args=QUIET)


class Visit:
    """One browser window, and everything that it asked for and complained about."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.context = context
        self.address = address
        self.page: Page = context.new_page()
        self.asked: list[str] = []
        self.complaints: list[str] = []
        context.on("request", self._note)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda problem: self.complaints.append(str(problem)))

    def _note(self, request: Request) -> None:
        self.asked.append(request.url)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text} ({message.location['url']})")

    def go(self, path: str) -> Page:
        """Open an address of the dashboard."""
        self.page.goto(self.address + path)
        return self.page

    @property
    def strangers(self) -> list[str]:
        """What was asked of anybody else."""
        own = urlsplit(self.address).netloc
        return [url for url in self.asked if urlsplit(url).netloc not in (own, "")]

    def keep_screenshot(self, name: str, *, whole: bool = False) -> None:
        """Keep what is seen, or the whole page, for people to look at."""
        SCREENSHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", animations="disabled", full_page=whole)

    def axe(self, inside: str = "html") -> list[str]:
        """What axe finds serious in a part of the page, each with the first place where it found it."""
        if "axe" not in self.page.evaluate("Object.keys(window)"):
            self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("inside => axe.run(inside, { resultTypes: ['violations'] })", inside)
        return [
            f"{one['id']}: {one['help']} at {one['nodes'][0]['html']} ({one['nodes'][0]['failureSummary']})"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]


class Site:
    """A running program, and the ways to visit it."""

    def __init__(self, program: Program, browser: Browser, folder: Path) -> None:
        self.program = program
        self.folder = folder
        self.address = program.address
        self._browser = browser

    @property
    def link(self) -> str:
        """The newest link that it printed."""
        return str(A_LINK.findall(self.program.said)[-1])

    @cached_property
    def cookies(self) -> Any:
        """Those of a session that was opened with the first key."""
        context = self._browser.new_context(base_url=self.address)
        answer = context.request.post("/v1/session", data={"key": self.program.key})
        assert answer.status == HTTPStatus.CREATED
        state = context.storage_state()
        context.close()
        return state

    @contextmanager
    def visit(
        self,
        *,
        logged_in: bool = True,
        viewport: ViewportSize = WIDE,
        dark: bool = False,
        touch: bool = False,
        complaints: bool = False,
    ) -> Iterator[Visit]:
        """A new window; it may ask nobody else for anything, and has nothing to complain about."""
        context = self._browser.new_context(
            storage_state=self.cookies if logged_in else None,
            viewport=viewport,
            color_scheme="dark" if dark else "light",
            has_touch=touch,
            reduced_motion="reduce",
        )
        visit = Visit(context, self.address)
        try:
            yield visit
            assert visit.strangers == []
            assert complaints or visit.complaints == [], visit.complaints
        finally:
            context.close()

    def limit(self, **limits: int | None) -> None:
        """Set the limits of the tenant, in the file itself."""
        with sqlite3.connect(self.folder / "cadenza.db") as file:
            file.execute("UPDATE tenants SET limits = ? WHERE id = 'default'", (json.dumps(limits),))
        file.close()

    def ask(self, request: str, body: Any = None, *, key: str | None = None) -> Any:
        """Ask the API with the first key, or another: `POST /v1/jobs`."""
        method, path = request.split(" ")
        context = self._browser.new_context(base_url=self.address)
        try:
            answer = context.request.fetch(
                path,
                method=method,
                headers={
                    "authorization": f"Bearer {key or self.program.key}",
                    "content-type": "application/json",
                },
                data=None if body is None else json.dumps(body),
            )
            assert answer.ok, answer.text()
            return answer.json() if answer.body() else None
        finally:
            context.close()


@contextmanager
def site(folder: Path, browser: Browser, *options: str, **settings: str) -> Iterator[Site]:
    """`cadenza up` in a folder, and a browser for it."""
    quiet = {"CADENZA_PLANNER": "false", "CADENZA_ALLOW_TARGETS": "127.0.0.1"}
    with running(folder, [*UP, *options], **(quiet | settings)) as program:
        yield Site(program, browser, folder)
