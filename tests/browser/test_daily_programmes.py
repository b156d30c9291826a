"""Daily programmes: created, changed, chosen on the page of a day, with users in zones of their own."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser.dashboard_site import DESK, PHONE, Site, Visit, site

EVENING = {"name": "Evening words", "weekdays": ["mon", "wed"], "window_minutes": 30}


@pytest.fixture(scope="module")
def program(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), browser) as running:
        running.ask("PUT /v1/daily/programmes/evening", EVENING)
        running.ask("PUT /v1/calendars/free", {"holidays": [{"country": "DE"}]})
        yield running


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit(viewport=DESK) as visit:
        yield visit


def card(page: Page, title: str) -> Locator:
    return page.locator(".card").filter(has=page.get_by_role("heading", name=title, exact=True))


def test_a_programme_is_created_changed_and_deleted(program: Site, visit: Visit) -> None:
    page = visit.go("/daily")
    page.get_by_role("button", name="New programme").click()
    dialog = page.get_by_role("dialog", name="New programme")
    dialog.get_by_label("Id", exact=True).fill("morning")
    for day in ("Sat", "Sun"):
        dialog.get_by_role("checkbox", name=day, exact=True).uncheck()
    dialog.get_by_label("Never during").select_option("free")
    dialog.get_by_label("Window", exact=True).fill("90")
    dialog.get_by_label("Window, unit").select_option("minutes")
    dialog.get_by_label("Share of the slots").fill("40")
    assert visit.axe() == []
    dialog.get_by_role("button", name="Save").click()
    row = card(page, "Daily programmes").get_by_role("listitem").filter(has_text="morning")
    expect(row).to_contain_text("mon tue wed thu fri, never during free, window 1 h 30 m")
    row.get_by_role("button", name="Edit morning").click()
    changed = page.get_by_role("dialog", name="Edit programme")
    changed.get_by_role("checkbox", name="Mon", exact=True).uncheck()
    changed.get_by_label("What is done for each user").select_option("http")
    changed.get_by_label("URL").fill("https://example.com/words")
    changed.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("tue wed thu fri, never")
    stored = program.ask("GET /v1/daily/programmes/morning")
    assert (stored["share_percent"], stored["target"]["url"]) == (40, "https://example.com/words")
    row.get_by_role("button", name="Delete morning").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(row).to_have_count(0)


def test_users_of_a_programme_have_due_times_in_their_zones(program: Site, visit: Visit) -> None:
    page = visit.go("/daily")
    page.get_by_role("combobox", name="Programme").select_option("Evening words")
    expect(page).to_have_url(re.compile("programme=evening"))
    users = card(page, "Users")
    users.get_by_role("button", name="New daily user").click()
    dialog = page.get_by_role("dialog", name="New daily user")
    expect(dialog.get_by_label("Programme", exact=True)).to_have_value("evening")
    dialog.get_by_label("User").fill("ada")
    dialog.get_by_label("Due time").fill("19:30")
    dialog.get_by_label("Time zone").fill("Asia/Tokyo")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(users.get_by_role("listitem").filter(has_text="ada")).to_contain_text("19:30 Asia/Tokyo")
    assert program.ask("GET /v1/daily/users/ada?programme=evening")["timezone"] == "Asia/Tokyo"
    users.get_by_role("button", name="ada").click()
    found = page.get_by_role("dialog", name="ada")
    expect(found).to_contain_text("Due at 19:30 Asia/Tokyo. Next window:")
    found.get_by_role("button", name="Delete").click()
    asked = page.get_by_role("dialog", name="Delete daily user")
    asked.get_by_role("button", name="Delete", exact=True).click()
    expect(users.get_by_role("listitem").filter(has_text="ada")).to_have_count(0)


def test_what_is_wrong_stands_at_its_field(program: Site) -> None:
    with program.visit(viewport=DESK, complaints=True) as visit:
        page = visit.go("/daily?programme=evening")
        card(page, "Users").get_by_role("button", name="New daily user").click()
        dialog = page.get_by_role("dialog", name="New daily user")
        dialog.get_by_label("User").fill("eve")
        dialog.get_by_label("Due time").fill("07:00")
        dialog.get_by_label("Time zone").fill("Mars/Base")
        dialog.get_by_role("button", name="Save", exact=True).click()
        expect(dialog.get_by_label("Time zone")).to_have_attribute("aria-invalid", "true")
        page.once("dialog", lambda question: question.accept())
        page.keyboard.press("Escape")
        card(page, "Daily programmes").get_by_role("button", name="Edit Evening words").click()
        changed = page.get_by_role("dialog", name="Edit programme")
        changed.get_by_label("Share of the slots").fill("400")
        changed.get_by_role("button", name="Save").click()
        expect(changed.get_by_label("Share of the slots")).to_have_attribute("aria-invalid", "true")
        assert all("422" in one for one in visit.complaints), visit.complaints
        page.once("dialog", lambda question: question.accept())
        page.keyboard.press("Escape")
        expect(changed).to_be_hidden()


def test_the_page_of_a_programme_fits_a_phone_in_the_dark(program: Site) -> None:
    user = {"due_time": "21:15", "timezone": "America/Argentina/ComodRivadavia", "programme": "evening"}
    program.ask("PUT /v1/daily/users/somebody-with-a-long-name", user)
    with program.visit(viewport=PHONE, dark=True) as visit:
        page = visit.go("/daily?programme=evening")
        expect(card(page, "Users").get_by_role("listitem")).to_contain_text("21:15")
        visit.keep_screenshot("daily-programme-phone", whole=True)
        assert visit.axe() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
        page.get_by_role("button", name="Edit Evening words").click()
        expect(page.get_by_role("dialog", name="Edit programme")).to_be_visible()
        visit.keep_screenshot("daily-programme-form-phone", whole=True)
        assert visit.axe() == []
