"""Daily: windows that the real runner fills while somebody looks, misses, past days, and users."""

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect
from tests.browser.dashboard_site import DESK, PHONE, Site, Visit, site

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.daily.rules import ServicePeriod, enroll, finalize_cutoffs, finalize_success
from cadenza.domain.daily.user import Cause, enrollment
from cadenza.domain.daily.window import DAY
from cadenza.domain.monitoring.alert import failure_alert
from cadenza.domain.monitoring.slo import Judgement, Slo, SloMeasurement, SloState
from cadenza.ports.monitoring import SloStatus

A_WHILE_MS = 20_000
JOB = """
def serve(user_id, service_date):
    if user_id.startswith("hopeless"):
        raise RuntimeError("it never works")
"""
HOSTILE = "<img src=x onerror=alert(1)>"
MISSED = ("bob", HOSTILE)
SERVED = ("ann", "cid", "dan")


class Days(NamedTuple):
    """The days around the moment at which these tests begin, whenever that is."""

    now: datetime

    @property
    def soon(self) -> datetime:
        """A cutoff whose window is open."""
        return self.now + timedelta(minutes=45)

    @property
    def due(self) -> str:
        """Its due time."""
        return f"{self.soon:%H:%M}"

    @property
    def far(self) -> tuple[str, str]:
        """Two due times whose windows are not open."""
        return f"{self.now + timedelta(hours=11):%H:%M}", f"{self.now + timedelta(hours=13):%H:%M}"

    @property
    def today(self) -> date:
        """Its service date."""
        return self.soon.date()

    @property
    def yesterday(self) -> date:
        """A day that is over."""
        return self.now.date() - DAY


@pytest.fixture(scope="module")
def days() -> Days:
    return Days(datetime.now(UTC))


@pytest.fixture(scope="module")
def program(browser: Browser, tmp_path_factory: pytest.TempPathFactory, days: Days) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "work.py").write_text(JOB)
    with ThreadPoolExecutor(1) as thread:  # The browser has a loop of its own in this one.
        thread.submit(asyncio.run, a_past(folder / "cadenza.db", days)).result()
    target = '{"kind": "callable", "function": "work:serve"}'
    with site(folder, browser, CADENZA_DAILY_TARGET=target, CADENZA_TICK_MS="500") as running:
        yield running


async def a_past(path: Path, days: Days) -> None:
    """Two days with verdicts; nobody of then is served any more."""
    now, yesterday = days.now, days.yesterday
    await migrate(f"sqlite:///{path}")
    store = SqliteStore(SqliteFile(path, synchronous="OFF"), TimeOrderedIds())
    before = datetime.combine(yesterday - DAY, time(), UTC)
    wanted = [enrollment("default", user, time(12)) for user in (*SERVED, *MISSED)]
    await store.daily.enroll(wanted, partial(enroll, now=before))
    for day in (yesterday - DAY, yesterday):
        noon = datetime.combine(day, time(12), UTC)
        well = partial(finalize_success, day=day, returned_at=noon - timedelta(minutes=5))
        await store.daily.finalize_days([one.key for one in wanted[:3]], well)
        service = ServicePeriod(noon + timedelta(hours=1), Cause.DOWN)
        await store.daily.finalize_days(
            [one.key for one in wanted[3:]],
            partial(finalize_cutoffs, now=noon + timedelta(hours=1), service=service),
        )
    await a_long_gap(store, before)
    for one in wanted:
        await store.daily.remove_daily_user(one.key)
    for tenant_id in ("default", "south"):
        facts = {"tenant_id": tenant_id, "endpoint_id": tenant_id, "run_id": "r", "failures": 3}
        alert = failure_alert(facts | {"error": HOSTILE}, now, most=3)
        assert alert is not None
        await store.alerts.raise_alert(alert)
    missed = SloMeasurement(Slo.CUTOFF_MISS_RATE, Judgement.BAD, 0.4, 0.05, 100)
    state = SloState(measured=missed, breached_since=now - timedelta(minutes=9))
    await store.slos.put_slos([SloStatus("a-process", "daily", now, 15, state)])
    await store.close()


async def a_long_gap(store: SqliteStore, before: datetime) -> None:
    """A user who was not served for fifty days, long ago."""
    away = enrollment("default", "away", time(12))
    await store.daily.enroll([away], partial(enroll, now=before - 200 * DAY))
    back = before - 150 * DAY
    late = partial(finalize_cutoffs, now=back, service=ServicePeriod(back))
    await store.daily.finalize_days([away.key], late)
    await store.daily.remove_daily_user(away.key)


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit() as visit:
        yield visit


def the_day(visit: Visit, day: date) -> Page:
    return visit.go(f"/daily?date={day}")


def card(page: Page, title: str) -> Locator:
    return page.locator(".card").filter(has=page.get_by_role("heading", name=title, exact=True))


def figure(page: Page, name: str) -> Locator:
    return page.locator(".figures > div").filter(has=page.get_by_text(name, exact=True)).locator("dd")


def add(page: Page, user: str, due: str) -> None:
    card(page, "Users").get_by_role("button", name="New daily user").click()
    dialog = page.get_by_role("dialog", name="New daily user")
    dialog.get_by_label("User").fill(user)
    dialog.get_by_label("Due time").fill(due)
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_be_hidden()


def test_windows_fill_while_somebody_looks(visit: Visit, days: Days) -> None:
    page = the_day(visit, days.today)
    expect(page.get_by_role("heading", name="No user is due on")).to_be_visible()
    for user in ("eve", "fay", "hopeless"):
        add(page, user, days.due)
    opened = card(page, "Open windows")
    expect(opened).to_contain_text("2 of 3 succeeded", timeout=A_WHILE_MS)
    expect(opened).to_contain_text(re.compile("cutoff in [0-9]+ m"))
    expect(figure(page, "Succeeded")).to_have_text("2")
    expect(figure(page, "Pending")).to_have_text("1")
    row = card(page, "Due times").get_by_role("row").filter(has_text=days.due)
    expect(row).to_contain_text(re.compile("open, cutoff in .*21"))
    expect(
        page.get_by_role("img", name="Results by due time: 2 succeeded, 0 missed, over 1 due time")
    ).to_be_visible()
    visit.keep_screenshot("daily-filling")


def test_a_past_day_tells_who_was_missed_and_why(visit: Visit, days: Days) -> None:
    page = the_day(visit, days.today)
    card(page, "History").get_by_role("link", name=str(days.yesterday)).click()
    expect(page).to_have_url(re.compile(f"date={days.yesterday}"))
    expect(figure(page, "Succeeded")).to_have_text("3")
    expect(figure(page, "Missed")).to_have_text("2")
    missed = card(page, "Missed")
    expect(missed.get_by_role("row")).to_have_count(3)
    expect(missed.get_by_role("row").filter(has_text="bob")).to_contain_text("12:00")
    expect(missed).to_contain_text(HOSTILE)
    assert page.locator("main img:not([alt=''])").count() == 0
    expect(page).to_have_title("Daily · Cadenza")
    page.get_by_role("button", name="Today").click()
    expect(page).to_have_url(re.compile("/daily$"))


def test_a_breach_and_the_alerts_of_ones_own_are_on_the_overview(visit: Visit) -> None:
    page = visit.go("/")
    levels = card(page, "SLOs")
    broken = levels.get_by_role("listitem").filter(has_text="Daily cutoff miss rate")
    expect(broken).to_contain_text(re.compile("breached.*since .* ago, 40.0 %, limit 5.0 %"))
    alerts = card(page, "Alerts")
    expect(alerts.get_by_role("listitem")).to_have_count(1)
    expect(alerts).to_contain_text(f"Endpoint default has 3 consecutive failures: {HOSTILE}")
    assert page.locator("main img").count() == 0
    visit.keep_screenshot("overview-breach")
    assert visit.axe() == []


def test_history_tells_each_day(visit: Visit, days: Days) -> None:
    page = the_day(visit, days.today)
    history = card(page, "History")
    for day in (days.yesterday, days.yesterday - DAY):
        row = history.get_by_role("listitem").filter(has_text=str(day))
        expect(row.get_by_role("img", name=re.compile("^3 succeeded, 2 missed"))).to_be_visible()
        expect(row).to_contain_text("60.0 %")


def test_a_user_is_added_found_moved_and_let_go(visit: Visit, days: Days) -> None:
    page = the_day(visit, days.today)
    users, (before, after) = card(page, "Users"), days.far
    add(page, "gus", before)
    expect(users.get_by_role("listitem").filter(has_text="gus")).to_contain_text(before)
    users.get_by_role("searchbox").fill("gus")
    users.get_by_role("button", name="Find").click()
    found = page.get_by_role("dialog", name="gus")
    expect(found).to_contain_text(f"Due at {before} UTC")
    expect(found).to_contain_text("No results yet.")
    found.get_by_role("button", name="Edit").click()
    moved = page.get_by_role("dialog", name="Edit daily user")
    moved.get_by_label("Due time").fill(after)
    moved.get_by_role("button", name="Save").click()
    expect(users.get_by_role("listitem").filter(has_text="gus")).to_contain_text(after)
    users.get_by_role("button", name="gus").click()
    found.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog", name="Delete daily user").get_by_role(
        "button", name="Delete", exact=True
    ).click()
    expect(users.get_by_role("listitem").filter(has_text="gus")).to_have_count(0)


def test_what_is_wrong_with_a_user_stands_at_its_field(program: Site, days: Days) -> None:
    with program.visit(complaints=True) as visit:
        page = the_day(visit, days.today)
        card(page, "Users").get_by_role("button", name="New daily user").click()
        dialog = page.get_by_role("dialog", name="New daily user")
        dialog.get_by_label("User").fill("hal")
        dialog.get_by_role("button", name="Save", exact=True).click()
        expect(dialog.get_by_label("Due time")).to_have_attribute("aria-invalid", "true")
        page.once("dialog", lambda question: question.accept())
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        card(page, "Users").get_by_role("searchbox").fill("nobody")
        card(page, "Users").get_by_role("button", name="Find").click()
        expect(page.get_by_role("dialog", name="nobody").get_by_role("alert")).to_contain_text("nobody")


@pytest.mark.parametrize(("viewport", "dark"), [(DESK, False), (DESK, True), (PHONE, False), (PHONE, True)])
def test_the_page_is_accessible(program: Site, days: Days, viewport: ViewportSize, *, dark: bool) -> None:
    program.ask("PUT /v1/daily/users/hopeless", {"due_time": days.due})
    with program.visit(viewport=viewport, dark=dark) as visit:
        for name, day in (("daily", days.today), ("daily-past", days.yesterday)):
            page = the_day(visit, day)
            expect(page.locator(".chart canvas").or_(page.locator(".misses tbody")).first).to_be_visible()
            visit.keep_screenshot(f"{name}-{viewport['width']}-{'dark' if dark else 'light'}")
            assert visit.axe() == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"


def test_a_day_in_a_gap_is_counted_and_says_so(visit: Visit, days: Days) -> None:
    page = the_day(visit, days.yesterday - 180 * DAY)
    for name in ("Missed", "Missed in an outage", "In an outage over 7 days"):
        expect(figure(page, name)).to_have_text("1")
    expect(card(page, "Missed")).to_contain_text("1 user missed without single results")
