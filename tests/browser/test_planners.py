"""Planners: what they thought and did, what it cost, what learning wins, and the rules."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect
from tests.browser.dashboard_site import DESK, PHONE, Site, Visit, site
from tests.browser.database_seed import seed
from tests.browser.run_history import MINUTE, in_store, right_now

from cadenza.adapters.planners.learning.cache import LearnedState
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.planning.analysis import Analysis, Tokens, ToolCall, Trigger
from cadenza.domain.planning.learning.gains import Gains
from cadenza.domain.planning.learning.serialization import PLANNER
from cadenza.domain.planning.learning.state import EndpointModel
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.target import CallableTarget
from cadenza.testing.builders import an_endpoint

HOSTILE = """<img src=x onerror="document.title='harm'"> <script>alert(1)</script>"""


def scene() -> list[Endpoint]:
    later = right_now() + timedelta(hours=5)
    return [
        an_endpoint(
            name, job_id="shop", baseline=Every(60_000), next_run_at=later, target=CallableTarget("idle")
        )
        for name in ("traffic", "stock")
    ]


def recorded_analyses(endpoint: Endpoint) -> Iterator[Analysis]:
    """Forty analyses of three planners within the last hours; the newest is the first."""
    for place in range(40):
        planner = ("llm", "rules", "learned")[place % 3]
        call = ToolCall("propose_interval", "stock", {"intervalMs": 30_000}, "it runs next in 30 s")
        refused = ToolCall(
            "pause_until", "traffic", {"untilIso": HOSTILE}, error="untilIso must be a moment."
        )
        yield Analysis(
            id=f"analysis-{99 - place}",
            tenant_id=endpoint.tenant_id,
            job_id=endpoint.job_id,
            endpoint_id=endpoint.id,
            planner=planner,
            trigger=Trigger.RUN,
            began_at=right_now() - place * MINUTE,
            duration_ms=1_200,
            reasoning=f"Thought {place}: visitors rise {HOSTILE}",
            calls=(call, refused) if planner == "llm" else (),
            tokens=Tokens(900, 100) if planner == "llm" else Tokens(),
            shadow=planner == "learned",
            error="the model was silent" if place == 4 else None,
        )


def planned(path: Path, endpoints: list[Endpoint]) -> None:
    """Let planners have sat, and have learned."""
    quiet, busy = Gains(0, 300, 150, 300), Gains(10, 100, 90, 100, 10 * 20.0, 10 * 30.0)

    async def work(store: SqliteStore) -> None:
        await store.analyses.add_analyses([*recorded_analyses(endpoints[0])])
        learned = zip(endpoints, (quiet, busy), strict=True)
        notes = {
            one.key: LearnedState(EndpointModel(gains=gains), period_s=60).to_note() for one, gains in learned
        }
        await store.analyses.save_notes(PLANNER, notes, right_now())

    in_store(path, work)


@pytest.fixture(scope="module")
def program(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    endpoints = scene()
    seed(folder / "cadenza.db", endpoints, runs=40)
    planned(folder / "cadenza.db", endpoints)
    with site(folder, browser) as running:
        yield running


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit() as visit:
        yield visit


def card(page: Page, title: str) -> Locator:
    return page.locator(".card", has=page.get_by_role("heading", name=title, exact=True))


def test_an_analysis_shows_its_reasons_its_calls_and_its_tokens(visit: Visit) -> None:
    page = visit.go("/planners")
    first = page.locator(".analyses li").first
    expect(first).to_contain_text("1,000 tokens")
    expect(first).to_contain_text("2 calls")
    first.locator("summary").click()
    expect(first).to_contain_text(
        "Endpoint traffic, after a run; duration 1.2 s; 900 input tokens, 100 output tokens"
    )
    expect(first).to_contain_text("propose_interval(intervalMs: 30000) on stock")
    expect(first).to_contain_text("Rejected: untilIso must be a moment.")
    expect(page.locator(".analyses li").nth(2)).to_contain_text("dry run")
    expect(page.locator(".analyses li").nth(4)).to_contain_text("failed")


def test_older_analyses_are_fetched_and_searched(visit: Visit) -> None:
    page = visit.go("/planners")
    rows = page.locator(".analyses li")
    expect(rows).to_have_count(30)
    page.get_by_role("button", name="Load older").click()
    expect(rows).to_have_count(40)
    expect(page.get_by_role("button", name="Load older")).to_be_hidden()
    page.get_by_role("searchbox", name="Search planner evaluations").fill("thought 39")
    expect(rows).to_have_count(1)


def test_the_cost_is_told_by_day_and_by_endpoint(visit: Visit) -> None:
    page = visit.go("/planners")
    cost = card(page, "Cost")
    expect(cost).to_contain_text(re.compile(r"7 days, 14(\.0)?K tokens"))
    dearest = cost.get_by_role("table").nth(1).get_by_role("row").nth(1)
    expect(dearest).to_contain_text("traffic")
    expect(dearest).to_contain_text("llm")
    expect(dearest).to_contain_text("1,000")


def test_what_shadow_mode_would_have_saved_is_shown(visit: Visit) -> None:
    page = visit.go("/planners")
    saved = card(page, "Learning planner savings")
    expect(saved).to_contain_text(
        "Dry run (shadow mode): 10 changes would be detected after 20 s on average instead of 30 s,"
        " with 60 % of the runs."
    )
    expect(saved.get_by_role("row").filter(has_text="stock")).to_contain_text("90 %")


def test_a_rule_is_refused_where_it_is_wrong(program: Site) -> None:
    with program.visit(complaints=True) as visit:
        page = visit.go("/planners")
        page.get_by_role("button", name="New rule").click()
        form = page.get_by_role("dialog", name="New rule")
        form.get_by_label("Name", exact=True).fill("slow")
        form.get_by_label("Job", exact=True).select_option("shop")
        form.get_by_label("When", exact=True).fill("response.latency_ms >")
        form.get_by_label("Then: every", exact=True).fill("0")
        form.get_by_role("button", name="Save").click()
        every = form.get_by_label("Then: every", exact=True)
        expect(every).to_have_attribute("aria-invalid", "true")
        every.fill("20")
        form.get_by_role("button", name="Save").click()
        expect(form.get_by_label("When", exact=True)).to_have_attribute("aria-invalid", "true")
        visit.keep_screenshot("planners-rule-refused")
        assert visit.axe() == []
        assert all("422" in one for one in visit.complaints)
        assert program.ask("GET /v1/rules")["items"] == []


def test_a_rule_is_written_tried_changed_and_deleted(program: Site, visit: Visit) -> None:
    page = visit.go("/planners")
    page.get_by_role("button", name="New rule").click()
    form = page.get_by_role("dialog", name="New rule")
    form.get_by_label("Name", exact=True).fill(f"slow {HOSTILE}")
    form.get_by_label("Job", exact=True).select_option("shop")
    expect(form.get_by_label("Endpoint", exact=True).locator("option")).to_have_text(
        ["Every endpoint of the job", "stock", "traffic"]
    )
    form.get_by_label("When", exact=True).fill("response.latency_ms > 1")
    form.get_by_label("Then: every", exact=True).fill("20")
    form.get_by_role("button", name="Save").click()
    rules = card(page, "Rules")
    expect(rules).to_contain_text("then run every 20 s for 1 h")
    assert program.ask("GET /v1/rules")["items"][0]["then"]["intervalMs"] == 20_000
    page.get_by_role("button", name="Test slow").click()
    expect(rules.get_by_role("status")).to_contain_text("The condition is true now.")
    expect(rules.get_by_role("status")).to_contain_text('"intervalMs":20000')
    visit.keep_screenshot("planners-rule-tried")
    page.get_by_role("button", name="Edit slow").click()
    changed = page.get_by_role("dialog", name="Edit rule")
    changed.get_by_label("When the condition ends", exact=True).select_option("clear")
    changed.get_by_role("button", name="Save", exact=True).click()
    expect(rules).to_contain_text("otherwise clear the interval")
    disable_and_delete(program, page)


def disable_and_delete(program: Site, page: Page) -> None:
    page.get_by_role("button", name="Disable slow").click()
    expect(page.get_by_role("button", name="Enable slow")).to_be_visible()
    assert program.ask("GET /v1/rules")["items"][0]["enabled"] is False
    page.get_by_role("button", name="Delete slow").click()
    question = page.get_by_role("dialog", name="Delete rule")
    expect(question).to_contain_text("Hints that it wrote stay")
    question.get_by_role("button", name="Delete", exact=True).click()
    expect(card(page, "Rules")).to_contain_text("No rules yet")


def test_a_form_can_be_filled_while_its_jobs_are_loaded(visit: Visit) -> None:
    page = visit.go("/planners")
    waiting: list[Route] = []
    page.route("**/v1/jobs?*", lambda request: waiting.append(request))  # noqa: PLW0108 - it takes no method
    page.get_by_role("button", name="New rule").click()
    form = page.get_by_role("dialog", name="New rule")
    jobs = form.get_by_label("Job", exact=True)
    expect(jobs).to_have_text("Loading…")
    form.get_by_label("Name", exact=True).fill("early")
    assert len(waiting) == 1
    waiting[0].continue_()
    expect(jobs.locator("option")).to_have_text(["Choose one", "shop"])
    expect(form.get_by_label("Name", exact=True)).to_have_value("early")


def test_a_rule_about_one_endpoint_is_copied_with_its_escalations(program: Site, visit: Visit) -> None:
    escalation = {"after_ms": 600_000, "then": {"tool": "wake", "nextRunInMs": 0}}
    rule = {"id": "one", "job_id": "shop", "endpoint_id": "stock", "name": "one", "when": "true"}
    steps = {"then": {"tool": "pause_until", "pauseMs": None, "reason": "calm"}, "escalate": [escalation]}
    before = program.ask("POST /v1/rules", rule | steps)
    page = visit.go("/planners")
    page.get_by_role("button", name="Edit one").click()
    form = page.get_by_role("dialog", name="Edit rule")
    expect(form.get_by_label("Then: for", exact=True)).to_have_value("")
    form.get_by_role("button", name="Save").click()
    expect(form).to_be_hidden()
    assert program.ask("GET /v1/rules/one") == before
    page.get_by_role("button", name="Copy one").click()
    page.get_by_role("dialog", name="Copy rule").get_by_role("button", name="Save").click()
    expect(card(page, "Rules")).to_contain_text("one (copy)")
    copy = next(one for one in program.ask("GET /v1/rules")["items"] if one["id"] != "one")
    assert (copy["endpoint_id"], copy["escalate"]) == ("stock", before["escalate"])
    for made in ("one", copy["id"]):
        program.ask(f"DELETE /v1/rules/{made}")


def test_what_strangers_wrote_stays_text(visit: Visit) -> None:
    page = visit.go("/planners")
    page.locator(".analyses summary").first.click()
    expect(page.locator(".reasoning").first).to_contain_text("<script>alert(1)</script>")
    expect(page.locator(".call").nth(1)).to_contain_text("<img src=x")
    assert page.locator("main img, main script").count() == 0
    expect(page).to_have_title("Planners · Cadenza")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_it_is_accessible_in_both_themes_and_widths(program: Site, *, dark: bool, phone: bool) -> None:
    with program.visit(viewport=PHONE if phone else DESK, dark=dark) as visit:
        page = visit.go("/planners")
        page.locator(".analyses summary").first.click()
        expect(card(page, "Cost").get_by_role("table").first).to_be_visible()
        expect(card(page, "Learning planner savings").get_by_role("table")).to_be_visible()
        look = f"{'phone' if phone else 'wide'}-{'dark' if dark else 'light'}"
        visit.keep_screenshot(f"planners-{look}", whole=True)
        assert visit.axe() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
