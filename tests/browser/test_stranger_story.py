"""A stranger with the dashboard alone, from an empty database to the audit of everything that was done."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Thread
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser.dashboard_site import Visit, site
from tests.browser.shop_scene import DESK

SOON = {"CADENZA_ALERT_FAILURES": "2", "CADENZA_ALERT_GATHER_MS": "200"}
OLD, NEW, RECEIVER = "/orders/v1", "/orders/v2", "/alerts"
ANSWERS = {OLD: 500, NEW: 200, RECEIVER: 200}
WAIT_S = 15
DONE = [
    "redrive runs",
    "update endpoint",
    "test target",
    "silence condition",
    "create endpoint",
    "create job",
    "test alert route",
    "create alert route",
    "log in",
]
"""Everything that the stranger did, newest first."""


class Received(NamedTuple):
    """A request to the shop or to the receiver of alerts."""

    path: str
    key: str | None
    """Its idempotency key."""
    body: Any


class LocalServer:
    """A shop whose old address is broken, and a receiver of alerts."""

    def __init__(self) -> None:
        self.address = ""
        self._received: list[Received] = []
        self._changed = Condition()

    def received(self, path: str) -> list[Received]:
        """The requests to a path so far."""
        with self._changed:
            return [one for one in self._received if one.path == path]

    def wait_for(self, path: str, *, count: int) -> list[Received]:
        """The requests to a path, when there are so many."""
        with self._changed:
            enough = self._changed.wait_for(lambda: len(self.received(path)) >= count, WAIT_S)
        assert enough, f"{path} was requested {len(self.received(path))} times, not {count}"
        return self.received(path)

    def take(self, request: Received) -> int:
        """Keep a request; the status of its answer."""
        with self._changed:
            self._received.append(request)
            self._changed.notify_all()
        return ANSWERS[request.path]

    @contextmanager
    def listening(self) -> Iterator["LocalServer"]:
        """Listen on the loopback."""
        local = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = json.loads(content) if content else None
                status = local.take(Received(self.path, self.headers.get("Idempotency-Key"), body))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Nothing is written to the output of the tests."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            self.address = f"http://127.0.0.1:{server.server_port}"
            Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield self
            finally:
                server.shutdown()


@pytest.fixture
def local() -> Iterator[LocalServer]:
    with LocalServer().listening() as local:
        yield local


@pytest.fixture
def visit(browser: Browser, tmp_path: Path) -> Iterator[Visit]:
    """The dashboard of an empty database, opened with the link that `cadenza up` prints."""
    with site(tmp_path, browser, **SOON) as program, program.visit(logged_in=False, viewport=DESK) as visit:
        visit.page.goto(program.link)
        yield visit


def test_a_stranger_needs_the_dashboard_alone(visit: Visit, local: LocalServer) -> None:
    create_alert_route(visit, local)
    create_endpoint(visit, local)
    see_it_fail(visit)
    see_and_silence_its_alert(visit, local)
    correct_it(visit, local)
    redrive_what_failed(visit, local)
    see_the_alert_resolved(visit, local)
    find_it_all_in_the_audit(visit)


def menu(page: Page, name: str) -> Locator:
    return page.get_by_role("navigation").get_by_role("link", name=re.compile(f"^{name}"))


def rows(page: Page, table: str) -> Locator:
    return page.get_by_role("table", name=table, exact=True).locator("tbody tr")


def alert(page: Page) -> Locator:
    return page.get_by_role("listitem").filter(has=page.get_by_role("link", name="Endpoint orders"))


def state(page: Page, name: str) -> None:
    page.get_by_role("group", name="State of alerts").get_by_role("button", name=name).click()


def create_alert_route(visit: Visit, local: LocalServer) -> None:
    page = visit.page
    expect(page.get_by_role("heading", name="No endpoints yet")).to_be_visible()
    visit.keep_screenshot("story-1-overview")
    menu(page, "Alerts").click()
    page.get_by_role("link", name="alert routes").click()
    page.get_by_role("button", name="New alert route").click()
    form = page.get_by_role("dialog", name="New alert route")
    form.get_by_label("Name", exact=True).fill("On call")
    form.get_by_label("Address", exact=True).fill(f"{local.address}{RECEIVER}")
    form.get_by_role("button", name="Create alert route").click()
    page.get_by_role("button", name="Test On call").click()
    expect(page.locator(".toasts")).to_contain_text("The test message was accepted.")
    (test,) = local.received(RECEIVER)
    assert test.body["data"]["test"] is True


def create_endpoint(visit: Visit, local: LocalServer) -> None:
    page = visit.page
    menu(page, "Overview").click()
    page.get_by_role("link", name="New endpoint").click()
    page.get_by_label("Name", exact=True).fill("Orders")
    page.get_by_label("Id", exact=True).fill("orders")
    page.get_by_role("button", name="New job").click()
    job = page.get_by_role("dialog", name="New job")
    job.get_by_label("Name", exact=True).fill("Shop")
    job.get_by_label("Id", exact=True).fill("shop")
    job.get_by_role("button", name="Create job").click()
    expect(page.get_by_label("Job", exact=True)).to_have_value("shop")
    page.get_by_label("URL").fill(f"{local.address}{OLD}")
    page.get_by_label("Every", exact=True).fill("1")
    page.get_by_label("Every, unit").select_option("seconds")
    visit.keep_screenshot("story-2-endpoint-form", whole=True)
    page.get_by_role("button", name="Create endpoint").click()
    expect(page.get_by_role("heading", name="Orders", exact=True)).to_be_visible()


def see_it_fail(visit: Visit) -> None:
    page = visit.page
    expect(page.get_by_role("main")).to_contain_text("consecutive failure")
    expect(menu(page, "Endpoints")).to_contain_text("1 failing")
    rows(page, "Runs in this range").first.get_by_role("link").first.click()
    opened = page.get_by_role("dialog", name="Run of Orders")
    expect(opened).to_contain_text("answered 500")
    expect(opened).to_contain_text(OLD)
    visit.keep_screenshot("story-3-failed-run")
    opened.get_by_role("button", name="Close").click()


def see_and_silence_its_alert(visit: Visit, local: LocalServer) -> None:
    page = visit.page
    message = local.wait_for(RECEIVER, count=2)[-1].body
    assert message["data"]["text"] == "Endpoint orders has 2 consecutive failures: answered 500"
    expect(menu(page, "Alerts")).to_contain_text("1 firing")
    menu(page, "Alerts").click()
    expect(alert(page)).to_contain_text(message["data"]["text"])
    visit.keep_screenshot("story-4-firing")
    alert(page).get_by_role("button", name="Silence").click()
    form = page.get_by_role("dialog", name="Silence")
    form.get_by_label("Reason").fill("the address has changed")
    form.get_by_role("button", name="Silence").click()
    expect(page.get_by_text("No alert is firing: 1 silenced.")).to_be_visible()
    expect(menu(page, "Alerts")).not_to_contain_text("firing")
    state(page, "silenced")
    expect(alert(page)).to_contain_text("the address has changed")
    visit.keep_screenshot("story-5-silenced")


def correct_it(visit: Visit, local: LocalServer) -> None:
    page = visit.page
    alert(page).get_by_role("link", name="Endpoint orders").click()
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("URL").fill(f"{local.address}{NEW}")
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_role("status", name="Test result")).to_contain_text("success")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Orders", exact=True)).to_be_visible()
    expect(rows(page, "Runs in this range").filter(has_text="success").first).to_be_visible()
    expect(page.get_by_role("main")).not_to_contain_text("consecutive failure")
    visit.keep_screenshot("story-6-corrected", whole=True)


def redrive_what_failed(visit: Visit, local: LocalServer) -> None:
    page = visit.page
    failed = {one.key for one in local.received(OLD)}
    page.get_by_role("button", name="Redrive failed…").click()
    form = page.get_by_role("dialog", name="Redrive failed runs")
    form.get_by_role("button", name="Dry run").click()
    expect(form.get_by_role("status", name="Dry run")).to_contain_text(f"{len(failed)} runs match")
    visit.keep_screenshot("story-7-redrive")
    form.get_by_role("button", name=f"Redrive {len(failed)} runs").click()
    expect(page.locator(".toasts")).to_contain_text(f"{len(failed)} runs queued.")
    page.get_by_role("link", name="All runs").click()
    page.get_by_label("Why this time?").select_option("rerun")
    expect(rows(page, "Runs")).to_have_count(len(failed))
    expect(rows(page, "Runs").filter(has_text="success")).to_have_count(len(failed))
    visit.keep_screenshot("story-8-reruns")
    assert failed <= {one.key for one in local.received(NEW)}, "the same idempotency keys"


def see_the_alert_resolved(visit: Visit, local: LocalServer) -> None:
    page = visit.page
    menu(page, "Alerts").click()
    state(page, "resolved")
    expect(alert(page)).to_contain_text("Endpoint orders recovered after")
    *_, recovered = messages = local.wait_for(RECEIVER, count=3)
    assert len(messages) == 3
    assert recovered.body["type"].endswith(".over"), "of what is silenced, only the recovery is sent"


def find_it_all_in_the_audit(visit: Visit) -> None:
    page = visit.page
    menu(page, "Audit").click()
    records = rows(page, "Audit records")
    expect(records).to_have_count(len(DONE))
    for place, operation in enumerate(DONE):
        expect(records.nth(place)).to_contain_text(operation)
        expect(records.nth(place)).to_contain_text("dashboard")
    records.filter(has_text="update endpoint").get_by_role("button").click()
    opened = page.get_by_role("dialog", name="update endpoint")
    expect(opened.locator(".removed")).to_contain_text(OLD)
    expect(opened.locator(".added")).to_contain_text(NEW)
    visit.keep_screenshot("story-9-audit")
    assert visit.axe() == []
