"""The page of one endpoint: its timeline, reasons and runs, and steering that is seen before it is done."""

import json
import re
import sqlite3
from collections.abc import Iterator
from datetime import timedelta

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser.dashboard_site import PHONE, WIDE, Site, Visit, site
from tests.browser.database_seed import seed
from tests.browser.run_history import MINUTE, a_surge, right_now, steered, write_hints, write_runs

from cadenza.domain.access.key import Scope
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.testing.builders import an_endpoint

HOSTILE = """<img src=x onerror="document.title='harm'"> <script>alert(1)</script>"""
REASON = f"visitors rise {HOSTILE}"
ANSWER: Json = {"status": 200, "body": {"visitors": 5_000, "note": HOSTILE}}
SHOP = "http://127.0.0.1:9/health"
NARROWEST = "all => Math.min(...all.map(one => one.getBoundingClientRect().width))"
PAGE_MARGIN = 16


def the_shop() -> Endpoint:
    now = right_now()
    return an_endpoint(
        f"Checkout {HOSTILE}",
        id="checkout",
        job_id="shop",
        description="How many visitors there are.",
        target=HttpTarget(SHOP, "POST", {"X-Team": "web"}, {"deep": True}),
        baseline=Every(300_000),
        guard=Guard(20_000, 900_000),
        last_run_at=now - timedelta(seconds=20),
        next_run_at=now + 40 * MINUTE,
        next_source=Source.BASELINE_INTERVAL,
        labels={"team": "web"},
    )


def quiet(name: str) -> Endpoint:
    """An endpoint to be steered by one test alone."""
    now = right_now()
    return an_endpoint(
        name,
        job_id="shop",
        target=HttpTarget(SHOP),
        baseline=Every(3_600_000),
        guard=Guard(10_000, 7_200_000),
        last_run_at=now - MINUTE,
        next_run_at=now + 59 * MINUTE,
        next_source=Source.BASELINE_INTERVAL,
    )


@pytest.fixture(scope="module")
def program(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    shop, path = the_shop(), folder / "cadenza.db"
    seed(path, [shop, *map(quiet, ("interval", "once", "gate", "now", "looked-at"))], runs=0)
    write_runs(path, a_surge(shop, right_now(), ANSWER))
    write_hints(path, shop, steered(REASON, right_now()))
    with sqlite3.connect(path) as file:
        file.execute("UPDATE jobs SET metadata = ?", (json.dumps({"team": "web", "note": HOSTILE}),))
    file.close()
    with site(folder, browser) as running:
        yield running


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit() as visit:
        yield visit


def timeline(page: Page) -> Locator:
    chart = page.get_by_role("group", name=re.compile("^Timeline"))
    expect(chart).to_be_visible()
    return chart


def preview(page: Page) -> Locator:
    return page.get_by_role("status", name="Preview")


def test_the_timeline_shows_runs_by_source_and_status_hints_pauses_and_the_guard(visit: Visit) -> None:
    page = visit.go("/endpoints/checkout")
    chart = timeline(page)
    expect(chart).to_have_accessible_name(re.compile(r"3\d runs, 3 did not succeed, 3 hints and pauses"))
    for kind in ("baseline", "hint", "clamped", "one-shot"):
        expect(chart.locator(f".run circle.source-{kind}").first).to_be_visible()
    expect(chart.locator(".run.ring-failure")).to_have_count(2)
    expect(chart.locator(".run.ring-timeout")).to_have_count(1)
    expect(chart.locator(".hint-period.interval title")).to_have_text(
        re.compile("every 30 s: visitors rise.*rule: rush")
    )
    expect(chart.locator(".hint-period.pause rect.paused")).to_be_visible()
    expect(chart.locator(".forbidden")).to_have_count(2)
    assert chart.locator("path.cadence").get_attribute("d")
    hints = page.locator(".hint-periods")
    expect(hints).to_contain_text("Every 30 s")
    expect(hints).to_contain_text("person: key ops")


def test_the_limits_and_the_priority_are_shown(program: Site, visit: Visit) -> None:
    program.ask("PUT /v1/limits/job/shop", {"max_in_flight": 50})
    program.ask("PATCH /v1/endpoints/checkout", {"limit_key": "billing", "priority": 5})
    page = visit.go("/endpoints/checkout")
    expect(page.locator(".facts").first).to_contain_text("job shop, key billing (no limit set)")
    expect(page.locator(".facts").first).to_contain_text("Priority5")
    program.ask("PATCH /v1/endpoints/checkout", {"limit_key": None, "priority": 0})
    program.ask("DELETE /v1/limits/job/shop")


def test_the_metadata_of_the_job_is_shown_as_text(visit: Visit) -> None:
    page = visit.go("/endpoints/checkout")
    page.get_by_text("About this job").click()
    expect(page.locator(".about-job pre")).to_contain_text('"team": "web"')
    expect(page.locator(".about-job pre")).to_contain_text(HOSTILE.split(maxsplit=1)[0])


def in_sight(chart: Locator, least_s: float, most_s: float) -> None:
    """Wait until more than the one and less than the other is in sight."""
    chart.page.wait_for_function(
        """([one, least, most]) => {
            const seconds = (Date.parse(one.dataset.to) - Date.parse(one.dataset.from)) / 1000;
            return least < seconds && seconds < most;
        }""",
        arg=[chart.element_handle(), least_s, most_s],
    )


def test_one_zooms_and_moves_by_mouse(visit: Visit) -> None:
    page = visit.go("/endpoints/checkout")
    chart = timeline(page)
    in_sight(chart, 3_590, 3_610)
    live = page.get_by_role("button", name="Live", exact=True)
    expect(live).to_be_disabled()
    page.get_by_role("button", name="Zoom in").click()
    in_sight(chart, 1_700, 1_900)
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 400, box["y"] + 150)
    page.mouse.down()
    page.mouse.move(box["x"] + 700, box["y"] + 150, steps=3)
    page.mouse.up()
    expect(live).to_be_enabled()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    in_sight(chart, 300, 900)
    live.click()
    expect(live).to_be_disabled()


def test_one_zooms_and_moves_by_keys_and_comes_back_to_now(visit: Visit) -> None:
    page = visit.go("/endpoints/checkout")
    chart = timeline(page)
    chart.focus()
    page.keyboard.press("-")
    in_sight(chart, 5_300, 5_500)
    page.keyboard.press("ArrowLeft")
    live = page.get_by_role("button", name="Live", exact=True)
    expect(live).to_be_enabled()
    page.keyboard.press("+")
    in_sight(chart, 3_500, 3_700)
    page.keyboard.press("Home")
    expect(live).to_be_disabled()
    page.get_by_role("group", name="Time range").get_by_role("button", name="6 h").click()
    expect(chart).to_have_accessible_name(re.compile(r"3\d runs"))


def test_one_zooms_with_two_fingers_and_moves_with_one(program: Site) -> None:
    with program.visit(viewport=PHONE, touch=True) as visit:
        page = visit.go("/endpoints/checkout")
        chart = timeline(page)
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        assert box is not None
        hand = visit.context.new_cdp_session(page)
        middle, height = box["x"] + box["width"] / 2, box["y"] + 150

        def touch(kind: str, *places: float) -> None:
            points = [{"x": middle + x, "y": height, "id": n} for n, x in enumerate(places)]
            hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        touch("touchStart", -20)
        touch("touchStart", -20, 20)
        for apart in (40, 60, 80):
            touch("touchMove", -apart, apart)
        touch("touchEnd")
        in_sight(chart, 700, 1_200)
        expect(page.locator(".run-details")).to_have_count(0)
        begin = chart.get_attribute("data-from") or ""
        touch("touchStart", -60)
        for moved in (-20, 40, 100):
            touch("touchMove", moved)
        touch("touchEnd")
        page.wait_for_function(
            "([one, begin]) => one.dataset.from < begin", arg=[chart.element_handle(), begin]
        )
        in_sight(chart, 700, 1_200)


def test_a_clicked_run_tells_why_then_and_what_was_asked_and_answered(visit: Visit) -> None:
    page = visit.go("/endpoints/checkout")
    chart = timeline(page)
    chart.locator(".run.ring-failure .dot").first.click()
    details = page.locator(".run-details")
    expect(details).to_contain_text("An interval hint (rule: rush) set this time: every 30 s: visitors rise")
    expect(details).to_contain_text("it answered 503 Service Unavailable")
    expect(details).to_contain_text('File "shop.py", line 7, in check')
    expect(details).to_contain_text(f"POST {SHOP}")
    expect(details).to_contain_text("X-Team: web")
    expect(details).to_contain_text('"visitors": 5000')
    expect(page).to_have_url(re.compile(r"run=0+10$"))
    visit.keep_screenshot("endpoint-run")
    chart.focus()
    page.keyboard.press("Shift+ArrowRight")
    expect(page).to_have_url(re.compile(r"run=0+11$"))
    page.reload()
    expect(details).to_contain_text("it answered 503")
    details.get_by_role("button", name="Close").click()
    expect(details).to_be_hidden()


def test_why_then_names_the_candidates_and_the_winner(visit: Visit) -> None:
    page = visit.go("/endpoints/checkout")
    why = page.locator(".card", has=page.get_by_role("heading", name="Why this time?"))
    expect(why).to_contain_text("set by its baseline interval")
    expect(why).to_contain_text(re.compile(r"runs next at (.*, )?\d\d:\d\d:\d\d [A-Z+]+"))
    expect(why).to_contain_text("Guard: minimum interval 20 seconds, maximum interval 15 minutes")
    expect(why.get_by_role("row").filter(has_text="selected")).to_contain_text("baseline")


def test_an_interval_is_seen_before_it_is_proposed(program: Site, visit: Visit) -> None:
    page = visit.go("/endpoints/interval")
    page.get_by_role("button", name="Interval", exact=True).click()
    page.get_by_label("Run every", exact=True).fill("20")
    page.get_by_label("Reason").fill("a sale begins")
    expect(preview(page)).to_contain_text("Preview")
    expect(preview(page)).to_contain_text("then every 20 s")
    expect(preview(page)).to_contain_text(re.compile("times in [A-Z+]+"))
    expect(preview(page)).to_contain_text("(a sale begins)")
    expect(page.locator(".previewed circle").first).to_be_attached()
    assert program.ask("GET /v1/endpoints/interval")["interval_hint"] is None, "a preview does nothing"
    visit.keep_screenshot("endpoint-preview")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Interval set.")).to_be_visible()
    expect(page.locator(".facts").first).to_contain_text("every 20 s, set by a hint")
    hint = program.ask("GET /v1/endpoints/interval")["interval_hint"]
    assert (hint["interval_ms"], hint["reason"]) == (20_000, "a sale begins")
    page.get_by_role("button", name="Clear hints").click()
    expect(preview(page)).to_contain_text("baseline")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".facts").first).to_contain_text("same as baseline")


def test_the_guard_shows_in_the_preview_and_what_is_refused_stands_at_its_field(program: Site) -> None:
    with program.visit(complaints=True) as visit:
        page = visit.go("/endpoints/once")
        page.get_by_role("button", name="Next run").click()
        wait = page.get_by_label("Run once, in", exact=True)
        wait.fill("1")
        expect(preview(page)).to_contain_text(re.compile("in ([6-9]|10) s"))
        wait.fill("-5")
        expect(page.get_by_text("nextRunInMs must be")).to_be_visible()
        expect(page.get_by_role("button", name="Apply")).to_be_disabled()
        assert all("422" in one for one in visit.complaints)
        wait.fill("15")
        page.get_by_label("Run once, in, unit").select_option("minutes")
        expect(preview(page)).to_contain_text("one-shot hint")
        page.get_by_role("button", name="Apply").click()
        expect(page.locator(".facts").first).to_contain_text("one-shot hint")


def test_a_pause_is_seen_set_and_taken_back(program: Site, visit: Visit) -> None:
    page = visit.go("/endpoints/gate")
    page.get_by_role("button", name="Pause").click()
    page.get_by_label("Reason").fill("deploy")
    expect(preview(page)).to_contain_text("paused")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Blocked: paused until")).to_be_visible()
    assert program.ask("GET /v1/endpoints/gate")["pause_reason"] == "deploy"
    page.get_by_role("button", name="Resume").click()
    expect(preview(page)).to_contain_text("resume")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Blocked:")).to_be_hidden()
    assert program.ask("GET /v1/endpoints/gate")["paused_until"] is None


def test_a_pause_may_last_until_a_date_or_until_resumed(program: Site, visit: Visit) -> None:
    page = visit.go("/endpoints/gate")
    page.get_by_role("button", name="Pause").click()
    end = page.get_by_label("Pause", exact=True)
    end.select_option("until a date")
    expect(page.get_by_text("Choose a date and a time.")).to_be_visible()
    page.get_by_label(re.compile(r"^Pause until \(.+\)$")).fill("2099-03-01T08:00")
    expect(preview(page)).to_contain_text("2099")
    end.select_option("until resumed")
    expect(preview(page)).to_contain_text("paused until resumed")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Blocked: paused until resumed")).to_be_visible()
    assert program.ask("GET /v1/endpoints/gate")["paused_until"].startswith("9999-01-01")
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Blocked:")).to_be_hidden()


def test_a_run_that_is_asked_for_appears_at_once(visit: Visit) -> None:
    page = visit.go("/endpoints/now")
    expect(page.get_by_text("No runs in this range.")).to_be_visible()
    page.get_by_role("button", name="Run now").click()
    expect(preview(page)).to_contain_text("manual")
    page.get_by_role("button", name="Apply").click()
    row = page.locator(".runs tbody tr").first
    expect(row).to_contain_text("failure", timeout=10_000)
    expect(row).to_contain_text("manual")
    row.get_by_role("link").click()
    expect(page.locator(".run-details")).to_contain_text("A run was requested manually.")


def test_what_strangers_wrote_stays_text(visit: Visit) -> None:
    page = visit.go("/endpoints/checkout")
    expect(page.get_by_role("heading", name="Checkout <img")).to_be_visible()
    expect(page.locator(".hint-periods")).to_contain_text("<script>alert(1)</script>")
    timeline(page).locator(".run.ring-timeout .dot").click()
    expect(page.locator(".run-details")).to_contain_text("<script>alert(1)</script>")
    assert page.locator("main img, main script").count() == 0
    expect(page).to_have_title(f"Checkout {HOSTILE} · Cadenza")


def test_who_may_only_look_is_not_asked_to_steer(program: Site) -> None:
    made = program.ask("POST /v1/keys", {"name": "wall", "scopes": [Scope.READ]})
    with program.visit(logged_in=False, complaints=True) as visit:
        visit.context.request.post(f"{program.address}/v1/session", data={"key": made["key"]})
        page = visit.go("/endpoints/looked-at")
        expect(page.get_by_text("Read only: steering needs a key with the steer scope.")).to_be_visible()
        expect(page.get_by_role("button", name="Run now")).to_have_count(0)


def test_an_endpoint_that_is_not_there_says_so(program: Site) -> None:
    with program.visit(complaints=True) as visit:
        page = visit.go("/endpoints/nobody")
        expect(page.get_by_role("heading", name="Endpoint not found")).to_be_visible()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_it_is_accessible_in_both_themes_and_widths(program: Site, *, dark: bool, phone: bool) -> None:
    with program.visit(viewport=PHONE if phone else WIDE, dark=dark) as visit:
        page = visit.go("/endpoints/checkout?run=" + f"{16:032x}")
        expect(timeline(page)).to_have_accessible_name(re.compile(r"3\d runs"))
        expect(page.locator(".run-details pre").first).to_be_visible()
        page.get_by_role("button", name="Interval", exact=True).click()
        expect(preview(page)).to_be_visible()
        narrowest = page.locator(".endpoint-sides .card").evaluate_all(NARROWEST)
        assert narrowest >= PHONE["width"] - 2 * PAGE_MARGIN, "no column is narrower than on a phone"
        visit.keep_screenshot(
            f"endpoint-{'phone' if phone else 'wide'}-{'dark' if dark else 'light'}", whole=True
        )
        assert visit.axe() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
