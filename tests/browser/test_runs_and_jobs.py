"""The pages of all runs and of a job, failing endpoints, and uptime and latency of one."""

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser.dashboard_site import PHONE, Site, Visit, site
from tests.browser.run_history import right_now
from tests.browser.shop_scene import DESK, FAILED, HOSTILE, Target, an_endpoint_of_the_shop, write_scene

from cadenza.domain.access.key import Scope


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with Target().listening() as target:
        yield target


@pytest.fixture(scope="module")
def program(browser: Browser, target: Target, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    mine = {"url": target.address, "job_id": "office"}
    begun = right_now() - timedelta(minutes=40)
    write_scene(
        folder / "cadenza.db",
        an_endpoint_of_the_shop("fresh", **mine),
        an_endpoint_of_the_shop("slow", **mine),
        an_endpoint_of_the_shop("broken", **mine, created_at=begun),
    )
    with site(folder, browser) as running:
        running.ask("PATCH /v1/jobs/shop", {"description": "All of the shop.", "metadata": {"team": "web"}})
        yield running


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit(viewport=DESK) as visit:
        yield visit


def runs(page: Page, label: str = "Runs") -> Locator:
    return page.get_by_role("table", name=label, exact=True).locator("tbody tr")


def drawer(page: Page) -> Locator:
    return page.get_by_role("dialog", name=re.compile("^Run"))


def test_all_runs_are_listed_newest_first_with_links(visit: Visit) -> None:
    page = visit.go("/runs")
    expect(runs(page)).to_have_count(50)
    times = page.locator(".runs tbody th time").evaluate_all("all => all.map(one => one.dateTime)")
    assert times == sorted(times, reverse=True)
    page.get_by_role("button", name="Load older").click()
    expect(page.get_by_text(re.compile("7[0-9] runs shown"))).to_be_visible()
    expect(page.get_by_role("button", name="Load older")).to_be_hidden()
    runs(page).filter(has_text="checkout").first.get_by_role("link", name="checkout").click()
    expect(page.get_by_role("heading", name="checkout", exact=True)).to_be_visible()
    page.go_back()
    runs(page).filter(has_text="office").first.get_by_role("link", name="office").click()
    expect(page.get_by_role("heading", name="office", exact=True)).to_be_visible()


def test_runs_are_filtered_and_the_address_holds_the_filters(visit: Visit) -> None:
    page = visit.go("/runs")
    search = page.get_by_role("search", name="Filter runs")
    search.get_by_role("button", name="failure").click()
    search.get_by_role("button", name="timeout").click()
    expect(runs(page)).to_have_count(6)
    search.get_by_label("Job id").fill("office")
    expect(page.get_by_role("heading", name="No results")).to_be_visible()
    search.get_by_label("Job id").fill("shop")
    search.get_by_label("Endpoint id").fill("checkout")
    expect(runs(page)).to_have_count(3)
    expect(page).to_have_url(re.compile(r"status=failure%2Ctimeout&job=shop&endpoint=checkout"))
    sources = search.get_by_label("Why this time?").get_by_role("option").all_inner_texts()
    assert len(sources) == len(set(sources)), "each can be told from the others"
    search.get_by_label("Why this time?").select_option("interval hint")
    expect(runs(page)).to_have_count(3)
    search.get_by_label("Ended").select_option("last 15 m")
    expect(page.get_by_role("heading", name="No results")).to_be_visible()
    search.get_by_label("Ended").select_option("last 1 h")
    expect(runs(page)).to_have_count(3)
    page.reload()
    expect(runs(page)).to_have_count(3)
    expect(search.get_by_role("button", name="failure")).to_have_attribute("aria-pressed", "true")
    expect(search.get_by_label("Endpoint id")).to_have_value("checkout")


def test_a_time_range_is_kept_in_utc_and_shown_in_local_time(visit: Visit) -> None:
    page = visit.go("/runs?within=between&since=2020-01-01T00:00:00.000Z&until=2020-01-02T00:00:00.000Z")
    expect(page.get_by_role("heading", name="No results")).to_be_visible()
    expect(page.get_by_label(re.compile(r"^From \("))).to_have_value(re.compile(r"^(2019-12-31|2020-01-01)T"))
    page.get_by_label(re.compile(r"^Until \(")).fill("2100-01-01T00:00")
    expect(runs(page)).to_have_count(50)
    expect(page).to_have_url(re.compile(r"until=(2099-12-31|2100-01-01)T"))
    edges = page.locator(".filters input, .filters select").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(one => [one.top, one.left, one.right])"
    )
    rows = {top: [one for one in edges if abs(one[0] - top) < 5] for top, _, _ in edges}
    assert all(one[2] <= other[1] for row in rows.values() for one, other in pairwise(row)), (
        "no field covers the next"
    )


def test_a_run_opens_beside_the_list_and_tells_everything(visit: Visit) -> None:
    page = visit.go("/runs?status=failure&endpoint=checkout")
    expect(runs(page)).to_have_count(2)
    runs(page).last.get_by_role("link").first.click()
    opened = drawer(page)
    expect(opened).to_contain_text("An interval hint (rule: rush) set this time: every 30 s: visitors rise")
    expect(opened).to_contain_text("In force then:")
    expect(opened).to_contain_text("it answered 503 Service Unavailable")
    expect(opened).to_contain_text('File "shop.py", line 7, in check')
    expect(opened).to_contain_text("POST http://127.0.0.1:9/health")
    expect(opened).to_contain_text(HOSTILE)
    expect(opened.get_by_role("heading", name="Run of checkout")).to_be_focused()
    expect(page).to_have_url(re.compile(f"status=failure&endpoint=checkout&run={FAILED}$"))
    expect(runs(page).last).to_have_class("chosen")
    assert page.evaluate("document.querySelector('.drawer').getBoundingClientRect().left") >= page.evaluate(
        "document.querySelector('.runs').getBoundingClientRect().right"
    ), "the list is in sight beside it"
    visit.keep_screenshot("run-drawer")
    page.reload()
    expect(opened).to_contain_text("it answered 503")
    page.keyboard.press("Escape")
    expect(opened).to_be_hidden()
    expect(page).to_have_url(re.compile(r"status=failure&endpoint=checkout$"))


def test_an_endpoint_that_is_still_loading_is_not_called_deleted(visit: Visit) -> None:
    visit.page.route("**/v1/endpoints/checkout", lambda _: None)
    page = visit.go(f"/runs?run={FAILED}")
    expect(drawer(page)).to_contain_text("it answered 503")
    expect(drawer(page)).to_contain_text("Loading…")
    expect(drawer(page)).not_to_contain_text("deleted")


def test_a_run_that_ends_is_seen_at_once(program: Site, visit: Visit) -> None:
    page = visit.go("/runs?endpoint=fresh")
    expect(page.get_by_role("heading", name="No results")).to_be_visible()
    expect(page.locator(".live")).to_have_text("Live")
    program.ask("POST /v1/endpoints/fresh/run-now")
    expect(runs(page)).to_have_count(1, timeout=10_000)
    expect(runs(page).first).to_contain_text("manual")


def test_failing_endpoints_come_first_and_are_counted_in_the_sidebar(visit: Visit) -> None:
    page = visit.go("/endpoints")
    names = page.locator(".endpoint-name > span:first-child")
    expect(names).to_have_text(["search", "stock", "broken", "checkout", "fresh", "off", "report", "slow"])
    expect(page.get_by_role("row").nth(1)).to_contain_text("failing (3)")
    expect(page.get_by_role("navigation").get_by_role("link", name="Endpoints")).to_contain_text("2 failing")
    page.get_by_role("button", name="2 failing").click()
    expect(names).to_have_text(["search", "stock"])
    expect(page).to_have_url(re.compile("state=failing"))
    page.reload()
    expect(names).to_have_text(["search", "stock"])


def test_a_job_shows_its_endpoints_failing_first_and_its_runs(visit: Visit) -> None:
    page = visit.go("/endpoints/checkout")
    page.get_by_role("link", name="shop", exact=True).click()
    expect(page).to_have_url(re.compile("/jobs/shop$"))
    expect(page.get_by_text("All of the shop.")).to_be_visible()
    names = page.locator(".endpoint-name > span:first-child")
    expect(names).to_have_text(["search", "stock", "checkout", "off"])
    expect(page.get_by_text("4 endpoints, 2 failing")).to_be_visible()
    expect(runs(page, "Runs of this job")).to_have_count(25)
    runs(page, "Runs of this job").first.get_by_role("link").first.click()
    expect(drawer(page)).to_contain_text("Why this time?")
    page.get_by_role("link", name="All runs of this job").click()
    expect(page).to_have_url(re.compile(r"/runs\?job=shop$"))


def test_a_job_is_paused_and_resumed(program: Site, visit: Visit) -> None:
    page = visit.go("/jobs/office")
    page.get_by_role("button", name="Pause job").click()
    expect(page.locator(".card .badge.warn")).to_contain_text("paused")
    assert program.ask("GET /v1/jobs/office")["active"] is False
    page.get_by_role("button", name="Resume job").click()
    expect(page.locator(".card .badge.good")).to_contain_text("active")
    assert program.ask("GET /v1/jobs/office")["active"] is True


def test_uptime_and_latency_are_shown_from_an_hour_to_a_month(visit: Visit) -> None:
    page = visit.go("/endpoints/checkout")
    card = page.locator(".card", has=page.get_by_role("heading", name="Uptime and latency"))
    expect(card.get_by_role("img", name=re.compile(r"^Uptime 9\d\.\d\d %: 1 interval of 48"))).to_be_visible()
    for period in ("1 h", "6 h", "7 d", "30 d"):
        card.get_by_role("button", name=period, exact=True).click()
        expect(card).to_contain_text(f"last {period}")
        expect(
            card.get_by_role("img", name=re.compile(r"^Latency: p50 1\d\d ms, p95 1\d\d ms"))
        ).to_be_visible()
    expect(page).to_have_url(re.compile("hours=720$"))
    page.reload()
    expect(card.get_by_role("button", name="30 d")).to_have_attribute("aria-pressed", "true")


def test_a_run_in_flight_shows_its_age_and_is_cancelled(program: Site, target: Target, visit: Visit) -> None:
    target.released.clear()
    page = visit.go("/runs?endpoint=slow")
    expect(page.get_by_text("No run is in flight.")).to_be_visible()
    program.ask("POST /v1/endpoints/slow/run-now")
    row = runs(page, "Runs in flight")
    expect(row).to_have_count(1, timeout=10_000)
    expect(row).to_contain_text(re.compile(r"[1-9] s"), timeout=10_000)
    row.get_by_role("link").first.click()
    expect(drawer(page)).to_contain_text("running")
    row.get_by_role("button", name="Cancel the run of slow").click()
    asked = page.get_by_role("dialog", name="Cancel run")
    asked.get_by_label("Reason").fill("it hangs")
    asked.get_by_role("button", name="Cancel run").click()
    expect(drawer(page)).to_contain_text("cancelled", timeout=10_000)
    expect(drawer(page)).to_contain_text("it hangs")
    expect(page.get_by_text("No run is in flight.")).to_be_visible()
    expect(runs(page)).to_contain_text("cancelled")
    target.released.set()


def test_a_failed_run_is_run_again_from_its_drawer(program: Site, target: Target, visit: Visit) -> None:
    target.status = 500
    program.ask("POST /v1/endpoints/broken/run-now")
    page = visit.go("/runs?endpoint=broken")
    expect(runs(page)).to_contain_text("failure", timeout=10_000)
    runs(page).first.get_by_role("link").first.click()
    target.status = 200
    drawer(page).get_by_role("button", name="Run again").click()
    page.get_by_role("dialog", name="Run again").get_by_role("button", name="Run again").click()
    expect(page.locator(".toasts")).to_contain_text("Run requested")
    expect(runs(page)).to_have_count(2, timeout=10_000)
    expect(runs(page).first).to_contain_text("rerun")
    expect(runs(page).first).to_contain_text("success")
    runs(page).first.get_by_role("link").first.click()
    expect(drawer(page)).to_contain_text("This due time was run again, as requested.")


def test_failed_runs_are_redriven_after_a_dry_run(program: Site, target: Target, visit: Visit) -> None:
    target.status = 500
    program.ask("POST /v1/endpoints/fresh/run-now")
    page = visit.go("/runs?endpoint=fresh&status=failure")
    expect(runs(page)).to_have_count(1, timeout=10_000)
    target.status = 200
    page.get_by_role("button", name="Redrive failed…").click()
    form = page.get_by_role("dialog", name="Redrive failed runs")
    form.get_by_label("Time range").select_option("last 1 h")
    form.get_by_role("button", name="Dry run").click()
    expect(form.get_by_role("status", name="Dry run")).to_contain_text("Dry run: 1 run matches")
    expect(form.get_by_role("status", name="Dry run")).to_contain_text("No changes made.")
    form.get_by_role("checkbox", name="failure").uncheck()
    expect(form.get_by_role("button", name="Redrive 1 run")).to_be_hidden()
    for status in ("timeout", "abandoned"):
        form.get_by_role("checkbox", name=status).uncheck()
    form.get_by_role("button", name="Dry run").click()
    expect(form.get_by_role("alert")).to_contain_text("Choose at least one status.")
    form.get_by_role("checkbox", name="failure").check()
    form.get_by_role("button", name="Dry run").click()
    form.get_by_role("button", name="Redrive 1 run").click()
    expect(page.locator(".toasts")).to_contain_text("1 run queued.")
    page.goto(f"{program.address}/runs?endpoint=fresh&source=rerun")
    expect(runs(page)).to_contain_text("success", timeout=10_000)


def test_missed_due_times_are_backfilled_after_a_dry_run(program: Site, visit: Visit) -> None:
    page = visit.go("/endpoints/broken")
    page.get_by_role("button", name="Backfill…").click()
    form = page.get_by_role("dialog", name="Backfill")
    form.get_by_label("Time range").select_option("last 15 m")
    form.get_by_role("button", name="Dry run").click()
    expect(form.get_by_role("status", name="Dry run")).to_contain_text(
        re.compile("Dry run: [23] due times match")
    )
    form.get_by_role("button", name=re.compile("Backfill [23] due times")).click()
    expect(page.locator(".toasts")).to_contain_text(re.compile("[23] due times queued."))
    page.get_by_role("link", name="All runs").click()
    expect(runs(page).filter(has_text="backfill").nth(1)).to_be_visible(timeout=15_000)


def test_who_may_only_look_is_offered_no_actions(program: Site) -> None:
    made = program.ask("POST /v1/keys", {"name": "wall", "scopes": [Scope.READ]})
    with program.visit(logged_in=False, complaints=True) as visit:
        visit.context.request.post(f"{program.address}/v1/session", data={"key": made["key"]})
        page = visit.go(f"/runs?job=shop&run={FAILED}")
        expect(drawer(page)).to_contain_text("Read only: actions need a key with the steer scope.")
        expect(page.get_by_role("button", name=re.compile("Redrive|Run again|Cancel"))).to_have_count(0)


def test_a_page_that_is_opened_while_the_server_is_away_recovers_by_itself(program: Site) -> None:
    with program.visit(viewport=DESK, complaints=True) as visit:
        page = visit.go("/")
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        visit.context.set_offline(True)
        page.get_by_role("navigation").get_by_role("link", name="Runs").click()
        expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
        expect(page.get_by_text("Loading runs")).to_be_visible()
        visit.context.set_offline(False)
        expect(runs(page)).to_have_count(50)
        visit.context.set_offline(True)
        page.get_by_role("navigation").get_by_role("link", name="Overview").click()
        expect(page.get_by_role("alert").first).to_contain_text("Cannot connect to")
        visit.context.set_offline(False)
        expect(page.locator(".figures")).to_be_visible()
        expect(page.locator(".live")).to_have_text("Live")


def test_a_session_that_cannot_be_loaded_is_loaded_when_the_server_is_back(program: Site) -> None:
    with program.visit(viewport=DESK, complaints=True) as visit:
        visit.page.route("**/v1/session", lambda route: route.abort())
        page = visit.go("/runs")
        expect(page.get_by_role("alert")).to_contain_text("Cannot connect to")
        page.unroute_all()
        expect(runs(page)).to_have_count(50)


PAGES = {
    "runs": f"/runs?run={FAILED}",
    "runs-list": "/runs?status=failure,timeout",
    "job": "/jobs/shop",
    "failing": "/endpoints",
    "statistics": "/endpoints/checkout?hours=1",
}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_pages_are_accessible_in_both_themes_and_widths(program: Site, *, dark: bool, phone: bool) -> None:
    with program.visit(viewport=PHONE if phone else DESK, dark=dark) as visit:
        for name, path in PAGES.items():
            page = visit.go(path)
            expect(page.locator(".runs tbody tr, .table-body .table-row").first).to_be_visible()
            visit.keep_screenshot(
                f"{name}-{'phone' if phone else 'desk'}-{'dark' if dark else 'light'}",
                whole=name == "statistics",
            )
            assert visit.axe() == [], name
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"


def dry_run(page: Page, name: str) -> None:
    form = page.get_by_role("dialog", name=name)
    form.get_by_label("Time range").select_option("last 15 m")
    form.get_by_role("button", name="Dry run").click()
    expect(page.get_by_role("status", name="Dry run")).to_contain_text("No changes made.")


def check_action(visit: Visit, name: str) -> None:
    """In both themes and widths nothing is wrong with the open dialog, and its last button can be reached."""
    page, opened = visit.page, visit.page.locator("dialog[open]")
    for size, width in {"desk": DESK, "phone": PHONE}.items():
        page.set_viewport_size(width)
        for theme in ("light", "dark"):
            page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
            visit.keep_screenshot(f"{name}-{size}-{theme}")
            assert visit.axe("dialog[open]") == [], name
        opened.get_by_role("button").last.scroll_into_view_if_needed()
        expect(opened.get_by_role("button").last).to_be_in_viewport()
    page.set_viewport_size(DESK)
    opened.get_by_role("button", name="Close").click()
    expect(opened).to_have_count(0)


def test_actions_are_accessible_in_both_themes_and_widths(
    program: Site, target: Target, visit: Visit
) -> None:
    target.released.clear()
    program.ask("POST /v1/endpoints/slow/run-now")
    page = visit.go("/runs?endpoint=slow")
    runs(page, "Runs in flight").get_by_role("button", name="Cancel the run of slow").click()
    check_action(visit, "cancel")
    target.released.set()
    page = visit.go(f"/runs?run={FAILED}")
    drawer(page).get_by_role("button", name="Run again").click()
    check_action(visit, "rerun")
    drawer(page).get_by_role("button", name="Redrive failed…").click()
    dry_run(page, "Redrive failed runs")
    check_action(visit, "redrive")
    drawer(page).get_by_role("button", name="Backfill…").click()
    dry_run(page, "Backfill")
    check_action(visit, "backfill")
