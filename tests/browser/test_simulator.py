"""The simulator: a scenario on a slider, by the product's rules and by those that were published."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.dashboard_site import DESK, PHONE, Site, Visit, site


@pytest.fixture(scope="module")
def program(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), browser) as running:
        yield running


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit() as visit:
        yield visit


def slide(page: Page, second: int) -> None:
    page.get_by_role("slider", name="Minute").fill(str(second))


def test_both_courses_are_played_side_by_side_up_to_the_slider(program: Site, visit: Visit) -> None:
    told = program.ask("GET /v1/simulation")
    page = visit.go("/simulator")
    slide(page, 0)
    slide(page, 1_000)
    for mode, name in (("corrected", "Corrected"), ("as_published", "As published")):
        past = sum(run["second"] <= 1_000 for run in told[mode]["runs"])
        shown = page.get_by_role("img", name=re.compile(f"^{name}: {past} runs of 10 endpoints by minute 16"))
        expect(shown).to_be_visible()
        expect(shown.locator(".tick:not(.future)")).to_have_count(past)
        expect(shown.locator(".tick")).to_have_count(len(told[mode]["runs"]))
        expect(shown.locator(".steering")).to_have_count(len(told[mode]["steering"]))
        expect(shown.locator(".phase")).to_have_count(5)
    expect(page.get_by_text("minute 16, critical")).to_be_visible()
    slide(page, 2_400)
    health = page.locator(".tiers").get_by_role("row").filter(has_text="health")
    lanes = {lane["name"] for lane in told["lanes"] if lane["tier"] == "health"}
    for mode in ("corrected", "as_published"):
        expect(health).to_contain_text(str(sum(run["lane"] in lanes for run in told[mode]["runs"])))


def test_what_was_known_of_the_world_and_what_must_hold_stand_beside_it(visit: Visit) -> None:
    page = visit.go("/simulator")
    slide(page, 900)
    world = page.locator(".world")
    expect(world).to_contain_text("end of minute 14")
    expect(world.get_by_role("row").nth(1)).to_contain_text("6000 /min")
    page.get_by_text("18 of 18 checks passed").first.click()
    expect(page.get_by_text("traffic tightens in surge")).to_be_visible()
    expect(page.locator(".latest").first).to_contain_text("order_processor_health: every 5 m")


def test_it_plays_by_itself_and_stops(visit: Visit) -> None:
    page = visit.go("/simulator")
    slider = page.get_by_role("slider", name="Minute")
    slide(page, 2_340)
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Play").click()
    expect(slider).to_have_value("2400", timeout=8_000)
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.locator("h1").click()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_the_other_scenario_is_chosen_and_stays_in_the_address(visit: Visit) -> None:
    page = visit.go("/simulator")
    page.get_by_label("Scenario").select_option("system-resources")
    expect(page).to_have_url(re.compile("scenario=system-resources"))
    page.reload()
    expect(page.get_by_label("Scenario")).to_have_value("system-resources")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_it_is_accessible_in_both_themes_and_widths(program: Site, *, dark: bool, phone: bool) -> None:
    with program.visit(viewport=PHONE if phone else DESK, dark=dark) as visit:
        page = visit.go("/simulator")
        slide(page, 1_200)
        expect(page.get_by_role("img", name=re.compile("^Corrected"))).to_be_visible()
        look = f"{'phone' if phone else 'wide'}-{'dark' if dark else 'light'}"
        visit.keep_screenshot(f"simulator-{look}", whole=True)
        assert visit.axe() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"


@pytest.mark.parametrize(
    ("path", "way_out"),
    [("/simulator?scenario=none", "Go to the flash sale"), ("/daily?date=never", "Go to today")],
    ids=["scenario", "day"],
)
def test_an_address_that_names_nothing_says_so_and_leads_out(program: Site, path: str, way_out: str) -> None:
    with program.visit(complaints=True) as visit:
        page = visit.go(path)
        expect(page.get_by_role("alert")).to_be_visible()
        page.get_by_role("link", name=way_out).click()
        expect(page.locator("main .card").first).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
