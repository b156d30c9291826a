"""Calendars: a year before it is saved and after, what would run, who names it, and rules by calendar."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect
from tests.browser.dashboard_site import DESK, PHONE, Site, Visit, site

YEAR = datetime.now(UTC).year + 1
MONDAY = date(YEAR, 3, 1) + timedelta(days=-date(YEAR, 3, 1).weekday() % 7)
WORK = {
    "name": "Working days",
    "timezone": "Europe/Berlin",
    "weekly": [{"days": ["mon", "tue", "wed", "thu", "fri"], "opens": "08:00", "closes": "18:00"}],
    "except_during": {"holidays": [{"country": "DE"}]},
}
NIGHT = {"timezone": "UTC", "weekly": [{"days": ["sat"], "opens": "22:00", "closes": "06:00"}]}
ICS = f"""BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//tests//EN
BEGIN:VEVENT
UID:1
DTSTAMP:20260101T000000Z
DTSTART;VALUE=DATE:{YEAR}0607
DTEND;VALUE=DATE:{YEAR}0609
SUMMARY:Fair
END:VEVENT
END:VCALENDAR
"""
TARGET = {"kind": "http", "url": "http://127.0.0.1:9/"}
EVERY_HOUR = {"kind": "every", "interval_ms": 3_600_000}


@pytest.fixture(scope="module")
def program(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), browser) as running:
        running.ask("PUT /v1/calendars/work", WORK)
        running.ask("PUT /v1/calendars/night", NIGHT)
        running.ask("POST /v1/jobs", {"id": "shop", "name": "Shop"})
        yield running


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit(viewport=DESK) as visit:
        yield visit


def day(page: Page | Locator, date: str) -> Locator:
    return page.locator(f"[data-date='{date}']")


def fill_form(page: Page) -> None:
    page.get_by_label("Id", exact=True).fill("support")
    page.get_by_label("Name", exact=True).fill("Support hours")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    page.get_by_role("button", name="Add to weekly hours").click()
    page.get_by_label("Hours 1, from").fill("09:30")
    page.get_by_label("Closed on holidays of").fill("DE-BY, AT")
    page.get_by_label("Closed on dates").fill(f"{YEAR}-12-24 to {YEAR}-12-31")
    file = {"name": "fair.ics", "mimeType": "text/calendar", "buffer": ICS.encode()}
    page.get_by_label("Closed during events, from a file").set_input_files(file)  # type: ignore[arg-type]


def test_a_calendar_is_previewed_saved_and_seen(program: Site, visit: Visit) -> None:
    page = visit.go("/calendars")
    page.get_by_role("link", name="New calendar").click()
    fill_form(page)
    preview = page.get_by_role("region", name="Preview of the year")
    preview.get_by_role("button", name=f"Show {YEAR}").click()
    expect(day(preview, f"{MONDAY}")).to_have_attribute("title", re.compile("open 09:30 to 18:00"))
    for closed in (f"{YEAR}-01-06", f"{YEAR}-12-27", f"{YEAR}-06-08", f"{MONDAY + timedelta(days=5)}"):
        expect(day(preview, closed)).to_have_class(re.compile("day-closed"))
    expect(preview).to_contain_text("clocks go forward from 02:00 to 03:00")
    assert visit.axe() == []
    visit.keep_screenshot("calendar-form", whole=True)
    page.get_by_role("button", name="Create calendar").click()
    expect(page).to_have_url(re.compile("/calendars/support$"))
    expect(page.get_by_role("heading", name="Support hours", level=1)).to_be_visible()
    expect(page.get_by_text("Nothing names it yet.")).to_be_visible()
    stored = program.ask("GET /v1/calendars/support")
    assert stored["except_during"]["holidays"] == [
        {"country": "DE", "subdivision": "BY"},
        {"country": "AT"},
    ]
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_label("Closed on holidays of")).to_have_value("DE-BY, AT")
    page.get_by_label("Hours 1, to").fill("24:00")
    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(re.compile("/calendars/support$"))
    assert program.ask("GET /v1/calendars/support")["weekly"][0]["closes"] == "24:00"


def test_a_year_is_walked_by_keyboard(visit: Visit) -> None:
    page = visit.go(f"/calendars/work?year={YEAR}")
    year = page.get_by_role("group", name=re.compile(f"^{YEAR}, by day"))
    year.focus()
    year.press("ArrowRight")
    words = page.locator(".day-words")
    expect(words).to_contain_text(re.compile("January.*closed"))
    day(page, f"{MONDAY}").click()
    expect(words).to_contain_text(re.compile("March.*open 08:00 to 18:00"))
    for _ in range(6):
        year.press("ArrowRight")
    expect(words).to_contain_text("closed")


def test_what_is_wrong_stands_at_its_field(program: Site) -> None:
    with program.visit(viewport=DESK, complaints=True) as visit:
        page = visit.go("/calendars/new/new")
        page.get_by_label("Id", exact=True).fill("wrong")
        page.get_by_label("Dates", exact=True).fill("some day")
        preview = page.get_by_role("region", name="Preview of the year")
        expect(preview).to_contain_text("some day is no date")
        page.get_by_label("Dates", exact=True).fill("")
        page.get_by_label("Holidays of", exact=True).fill("XX")
        page.get_by_role("button", name="Create calendar").click()
        expect(page.get_by_label("Holidays of", exact=True)).to_have_attribute("aria-invalid", "true")
        page.get_by_label("Holidays of", exact=True).fill("")
        page.get_by_role("button", name="Add to weekly hours").click()
        page.get_by_label("Hours 1, from").fill("25:00")
        page.get_by_role("button", name="Create calendar").click()
        expect(page.get_by_label("Hours 1, from")).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_label("Id", exact=True)).to_have_value("wrong")
        assert all("422" in one for one in visit.complaints), visit.complaints


def test_an_endpoint_has_day_parts_and_keeps_to_calendars(program: Site, visit: Visit) -> None:
    page = visit.go("/endpoints/new/new?job=shop")
    page.get_by_label("Name", exact=True).fill("prices")
    page.get_by_label("URL").fill("http://127.0.0.1:9/")
    page.get_by_label("Baseline").select_option("day-parts")
    page.get_by_label("Calendar of part 1").select_option("work")
    page.get_by_label("Cadence of part 1, interval").fill("1")
    page.get_by_label("Otherwise, interval").fill("15")
    page.get_by_text("Calendars, start and end").click()
    page.get_by_label("Never during").select_option("night")
    page.get_by_label("While closed").select_option("run-at-end")
    expect(page.get_by_role("status", name="Next runs").get_by_role("listitem")).to_have_count(5)
    visit.keep_screenshot("endpoint-form-calendars", whole=True)
    assert visit.axe() == []
    page.get_by_role("button", name="Create endpoint").click()
    facts = page.locator(".card").first
    expect(facts).to_contain_text("every 1 m during work, otherwise every 15 m")
    expect(facts).to_contain_text("never during night; while closed, it runs when it opens")
    facts.get_by_role("link", name="night").click()
    expect(page.locator(".card").filter(has_text="Used by").get_by_role("link")).to_have_count(1)
    expect(page.get_by_role("row", name=re.compile("prices"))).to_contain_text(re.compile("[0-9]"))


def test_an_endpoint_says_that_its_calendar_is_closed(program: Site, visit: Visit) -> None:
    program.ask("PUT /v1/calendars/far", {"dates": [{"first": f"{YEAR + 1}-01-01"}]})
    endpoint = {"id": "waits", "name": "waits", "target": TARGET, "baseline": EVERY_HOUR}
    program.ask("POST /v1/jobs/shop/endpoints", {**endpoint, "calendar": {"only_during": "far"}})
    page = visit.go("/endpoints/waits")
    expect(page.locator(".card").first.get_by_text("closed", exact=True)).to_be_visible()
    expect(page.get_by_text("outside of the calendar far until").first).to_be_visible()
    page = visit.go("/endpoints")
    expect(page.get_by_role("row").filter(has_text="waits")).to_contain_text("skips in")


def test_a_job_and_a_schedule_keep_to_calendars(program: Site, visit: Visit) -> None:
    page = visit.go("/settings/jobs")
    page.get_by_role("button", name="Edit Shop").click()
    dialog = page.get_by_role("dialog", name="Edit job")
    dialog.get_by_label("Never during").select_option("night")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    assert program.ask("GET /v1/jobs/shop")["calendar"]["never_during"] == "night"
    page = visit.go("/jobs/shop")
    expect(page.get_by_role("link", name="night")).to_be_visible()
    program.ask("PUT /v1/users/ada", {"timezone": "UTC"})
    program.ask("PUT /v1/agents/helper", {"name": "Helper"})
    prompt = {"name": "news", "prompt": "What is new?", "user_id": "ada", "agent_id": "helper"}
    daily = {"schedule_type": "recurring", "cron_expression": "0 9 * * *"}
    program.ask("POST /v1/schedules", {**prompt, **daily})
    page = visit.go("/settings/schedules")
    page.get_by_role("button", name="Edit news").click()
    dialog = page.get_by_role("dialog", name="Edit schedule")
    dialog.get_by_text("Calendars, start and end").click()
    dialog.get_by_label("Only during").select_option("work")
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator(".records li")).to_contain_text("0 9 * * * (UTC), only during work")
    (schedule,) = program.ask("GET /v1/schedules?user_id=ada")["items"]
    assert schedule["calendar"]["only_during"] == "work"


def test_a_calendar_is_deleted(program: Site, visit: Visit) -> None:
    program.ask("PUT /v1/calendars/passing", NIGHT)
    page = visit.go("/calendars/passing")
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete calendar")
    expect(dialog).to_contain_text("Nothing names it.")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(page).to_have_url(re.compile("/calendars$"))
    expect(page.locator(".records")).not_to_contain_text("passing")


@pytest.mark.parametrize(
    ("viewport", "dark"), [(DESK, False), (DESK, True), (PHONE, True)], ids=["light", "dark", "phone"]
)
def test_the_pages_are_accessible(program: Site, viewport: ViewportSize, *, dark: bool) -> None:
    look = f"{viewport['width']}-{'dark' if dark else 'light'}"
    with program.visit(viewport=viewport, dark=dark) as visit:
        page = visit.go("/calendars")
        expect(page.locator(".records li").first).to_be_visible()
        visit.keep_screenshot(f"calendars-{look}")
        assert visit.axe() == []
        page = visit.go(f"/calendars/work?year={YEAR}")
        expect(day(page, f"{YEAR}-12-31")).to_be_visible()
        expect(page.get_by_text("Loading")).to_have_count(0)
        visit.keep_screenshot(f"calendar-{look}", whole=True)
        assert visit.axe() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
