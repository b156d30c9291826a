"""The overview and the endpoints, with a thousand of them and a past."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, ViewportSize, expect
from tests.browser.dashboard_site import DESK, PHONE, Site, Visit, site
from tests.browser.database_seed import seed

from cadenza.domain.scheduling.baseline import Cron, Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.testing.builders import an_endpoint

HOSTILE = """<img src=x onerror="document.title='harm'"> <script>alert(1)</script> {{7*7}} "&'"""
REASON = "<b onmouseover=alert(1)>a surge</b> & more"


def scene() -> list[Endpoint]:
    """A thousand endpoints far in the future, and some that people look for."""
    later = datetime.now(UTC) + timedelta(minutes=12)
    soon = {
        "next_run_at": later,
        "next_source": Source.BASELINE_INTERVAL,
        "target": HttpTarget("http://127.0.0.1:1/"),
    }
    crowd = [
        an_endpoint(f"endpoint-{n:04}", job_id="crowd", baseline=Every(900_000), **soon) for n in range(1_000)
    ]
    hint = IntervalHint(30_000, later + timedelta(hours=1), REASON)
    known = [
        an_endpoint(
            "checkout",
            job_id="shop",
            baseline=Every(300_000),
            guard=Guard(20_000),
            interval_hint=hint,
            labels={"team": "web"},
            **(soon | {"next_source": Source.AI_INTERVAL}),
        ),
        an_endpoint("nightly", job_id="shop", baseline=Cron("0 3 * * *"), **soon),
        an_endpoint(HOSTILE, id="hostile", job_id="shop", **soon),
    ]
    return known + crowd


@pytest.fixture(scope="module")
def program(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    seed(folder / "cadenza.db", scene(), runs=20_000)
    with site(folder, browser) as running:
        yield running


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit() as visit:
        yield visit


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has_text=name)


def test_the_overview_tells_everything_at_a_glance(visit: Visit) -> None:
    page = visit.go("/")
    figures = page.locator(".figures")
    expect(figures).to_contain_text("1,003")
    expect(figures).to_contain_text("89.5 %")
    for title in (
        "Runs per minute",
        "Upcoming runs",
        "Start delay",
        "Planners",
        "Alerts",
        "Quota this month",
    ):
        expect(page.get_by_role("heading", name=title)).to_be_visible()
    expect(
        page.get_by_role("img", name=re.compile("Runs per minute by status: [0-9.,K]+ runs"))
    ).to_be_visible()
    expect(page.get_by_role("img", name=re.compile(r"Upcoming runs: 1,0\d\d in total"))).to_be_visible()
    expect(page.locator(".live")).to_have_text("Live")


def test_who_points_at_a_chart_is_told_the_numbers(visit: Visit) -> None:
    page = visit.go("/")
    page.get_by_role("img", name=re.compile("^Runs per minute")).hover()
    expect(page.locator(".chart output").first).to_have_text(re.compile(r"^\d\d:\d\d:\d\d: \d+ success, "))


def test_quota_use_warns_at_80_and_at_95_per_cent(program: Site, visit: Visit) -> None:
    page = visit.go("/")
    quota = page.locator(".quotas")
    for limit, words in ((1_250, "over 80 %"), (1_050, "over 95 %"), (1_003, "used up")):
        program.limit(endpoints=limit)
        page.reload()
        expect(quota).to_contain_text(words)
    program.limit(endpoints=None)


def test_endpoints_are_found_and_sorted_and_only_those_in_sight_exist(visit: Visit) -> None:
    page = visit.go("/endpoints")
    table = page.get_by_role("table", name="Endpoints")
    expect(page.get_by_text("1,003 endpoints")).to_be_visible()
    expect(table).to_have_attribute("aria-rowcount", "1004")
    assert page.get_by_role("row").count() < 60
    name = page.get_by_role("columnheader", name="Name").get_by_role("button")
    name.click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("<img")
    name.click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("nightly")
    page.mouse.wheel(0, 1_000_000)
    expect(page.get_by_role("row").last).to_contain_text("<img")
    page.keyboard.press("/")
    page.keyboard.type("TEAM=web")
    expect(page.get_by_text("1 of 1,003 endpoints")).to_be_visible()
    expect(page).to_have_url(re.compile(r"q=TEAM"))
    visit.keep_screenshot("endpoints-search")
    page.get_by_role("searchbox").fill("no such thing")
    expect(page.get_by_role("heading", name="No matching endpoints")).to_be_visible()


def test_a_row_tells_baseline_cadence_source_countdown_results_and_hint(visit: Visit) -> None:
    page = visit.go("/endpoints?q=shop")
    shown = row(page, "checkout")
    expect(shown).to_contain_text("every 5 m")
    expect(shown).to_contain_text("30 s shorter")
    expect(shown).to_contain_text("interval hint")
    expect(shown).to_contain_text(REASON)
    expect(shown.get_by_role("img", name=re.compile("Last 20 runs, .* did not succeed"))).to_be_visible()
    before = shown.locator("time").inner_text()
    assert re.fullmatch(r"in ([4-9]|1[01]) m( \d+ s)?", before)
    expect(shown.locator("time")).not_to_have_text(before)
    expect(row(page, "nightly")).to_contain_text("0 3 * * *")


def test_what_strangers_wrote_stays_text(visit: Visit) -> None:
    page = visit.go("/endpoints?q=hostile")
    expect(page.get_by_role("link", name="<img")).to_be_visible()
    expect(row(page, "<script>alert(1)</script> {{7*7}}")).to_be_visible()
    assert page.locator("main img, main script, main b").count() == 0
    expect(page).to_have_title("Endpoints · Cadenza")


def test_a_change_elsewhere_is_seen_at_once(program: Site, visit: Visit) -> None:
    page = visit.go("/endpoints?q=endpoint-0007")
    shown = row(page, "endpoint-0007")
    expect(shown).to_contain_text("baseline")
    expect(page.locator(".live")).to_have_text("Live")
    asked = {"intervalMs": 45_000, "reason": "watch closely"}
    program.ask("POST /v1/endpoints/endpoint-0007/tools/propose_interval", asked)
    expect(shown).to_contain_text("45 s shorter", timeout=4_000)
    expect(shown).to_contain_text("watch closely")


def test_a_change_while_rows_are_loaded_is_not_undone_by_them(program: Site, visit: Visit) -> None:
    page, waiting = visit.page, list[Route]()

    def keep(route: Route) -> None:
        waiting.append(route)

    page.route(re.compile(r"/v1/rows\?.*cursor="), keep)
    visit.go("/endpoints?q=endpoint-0009")
    shown = row(page, "endpoint-0009")
    expect(shown).to_contain_text("baseline")
    expect(page.locator(".live")).to_have_text("Live")
    while len(waiting) < 2:  # The page loads all rows once more when its event stream is open.
        page.wait_for_timeout(50)
    asked = {"intervalMs": 50_000, "reason": "watch closely"}
    program.ask("POST /v1/endpoints/endpoint-0009/tools/propose_interval", asked)
    expect(shown).to_contain_text("50 s shorter")
    for route in waiting:
        route.continue_()
    page.unroute_all()
    expect(page.get_by_text("loading more…")).to_be_hidden()
    assert "50 s shorter" in shown.inner_text()


def test_a_run_that_ends_is_seen_at_once(program: Site, visit: Visit) -> None:
    page = visit.go("/endpoints?q=endpoint-0008")
    spark = row(page, "endpoint-0008").locator("rect")
    expect(spark).to_have_count(20)
    expect(page.locator(".live")).to_have_text("Live")
    program.ask("POST /v1/endpoints/endpoint-0008/run-now")
    failed = row(page, "endpoint-0008").locator("rect.spark-failure, rect.spark-timeout")
    expect(failed.last).to_have_attribute("x", "95", timeout=8_000)


def test_everything_is_reached_by_the_keyboard(visit: Visit) -> None:
    page = visit.go("/")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.locator(".live")).to_have_text("Live")  # Keys are listened to from then on.
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.type("ge")
    expect(page.get_by_role("heading", name="Endpoints", exact=True)).to_be_focused()
    page.keyboard.press("?")
    help_ = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(help_).to_contain_text("Search endpoints")
    visit.keep_screenshot("shortcuts")
    assert visit.axe() == []
    page.keyboard.press("Escape")
    expect(help_).to_be_hidden()
    page.keyboard.type("go")
    expect(page.get_by_role("heading", name="Overview")).to_be_focused()
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.parametrize(("viewport", "dark"), [(DESK, False), (DESK, True), (PHONE, False), (PHONE, True)])
def test_every_page_is_accessible(program: Site, viewport: ViewportSize, *, dark: bool) -> None:
    with program.visit(viewport=viewport, dark=dark) as visit:
        for name, path in (("overview", "/"), ("endpoints", "/endpoints")):
            page = visit.go(path)
            expect(page.locator(".figures, .table").first).to_be_visible()
            expect(page.locator(".live")).to_have_text("Live")
            visit.keep_screenshot(f"{name}-{viewport['width']}-{'dark' if dark else 'light'}")
            assert visit.axe() == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"


def test_an_address_that_leads_nowhere_says_so(visit: Visit) -> None:
    page = visit.go("/endpoints")
    page.evaluate("history.pushState(null, '', '/nowhere'); dispatchEvent(new PopStateEvent('popstate'))")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
