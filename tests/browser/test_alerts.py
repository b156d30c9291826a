"""The page of alerts: what fires, acknowledged and silenced by people, until it is resolved."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser.dashboard_site import PHONE, Site, Visit, site
from tests.browser.shop_scene import DESK, Target, an_endpoint_of_the_shop, write_scene

from cadenza.domain.access.key import Scope


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with Target().listening() as target:
        target.status = 500
        yield target


@pytest.fixture(scope="module")
def program(browser: Browser, target: Target, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    names = ("payments", "mail", "stays")
    ailing = [an_endpoint_of_the_shop(name, target.address, failure_count=2) for name in names]
    write_scene(folder / "cadenza.db", *ailing)
    with site(folder, browser) as running:
        for name in names:
            running.ask(f"POST /v1/endpoints/{name}/run-now")
        yield running


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit(viewport=DESK) as visit:
        yield visit


def alert(page: Page, name: str) -> Locator:
    return page.locator(".conditions > li").filter(has=page.get_by_role("link", name=f"Endpoint {name}"))


def state(page: Page, name: str) -> None:
    page.get_by_role("group", name="State of alerts").get_by_role("button", name=name).click()


def test_firing_alerts_lead_to_what_they_are_about_and_are_counted(visit: Visit) -> None:
    page = visit.go("/alerts")
    expect(alert(page, "stays")).to_contain_text("firing", timeout=15_000)
    expect(alert(page, "stays")).to_contain_text("3 consecutive failures")
    link = page.get_by_role("navigation").get_by_role("link", name="Alerts")
    expect(link).to_contain_text(re.compile("[1-3] firing"))
    alert(page, "stays").get_by_role("link", name="Failed runs").click()
    expect(page.get_by_role("table", name="Runs", exact=True).locator("tbody tr")).to_have_count(1)
    page.go_back()
    alert(page, "stays").get_by_role("link", name="Job shop").click()
    expect(page.get_by_role("heading", name="shop", exact=True)).to_be_visible()
    page.go_back()
    alert(page, "stays").get_by_role("link", name="Endpoint stays").click()
    expect(page.get_by_role("heading", name="stays", exact=True)).to_be_visible()


def test_an_alert_is_acknowledged_with_a_note_and_resolved_by_a_success(
    program: Site, target: Target, visit: Visit
) -> None:
    page = visit.go("/alerts?endpoint=payments")
    alert(page, "payments").get_by_role("button", name="Acknowledge").click()
    asked = page.get_by_role("dialog", name="Acknowledge")
    asked.get_by_label("Note").fill("the bank is down")
    visit.keep_screenshot("alerts-acknowledge")
    assert visit.axe() == []
    asked.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_role("heading", name="No alerts")).to_be_visible()
    state(page, "acknowledged")
    expect(alert(page, "payments")).to_contain_text("the bank is down")
    expect(page).to_have_url(re.compile("state=acknowledged"))
    page.reload()
    expect(alert(page, "payments")).to_contain_text("acknowledged by")
    target.status = 200
    program.ask("POST /v1/endpoints/payments/run-now")
    state(page, "resolved")
    expect(alert(page, "payments")).to_contain_text("resolved", timeout=15_000)
    expect(alert(page, "payments").get_by_role("button")).to_have_count(0)
    target.status = 500


def test_an_alert_is_silenced_for_a_while_and_fires_again(visit: Visit) -> None:
    page = visit.go("/alerts?endpoint=mail")
    alert(page, "mail").get_by_role("button", name="Silence").click()
    asked = page.get_by_role("dialog", name="Silence")
    asked.get_by_label("For").select_option("4 hours")
    asked.get_by_label("Reason").fill("maintenance")
    asked.get_by_role("button", name="Silence").click()
    expect(page.get_by_text("No alert of this job or endpoint is firing.")).to_be_visible()
    state(page, "silenced")
    expect(alert(page, "mail")).to_contain_text("silenced until")
    expect(alert(page, "mail")).to_contain_text("maintenance")
    alert(page, "mail").get_by_role("button", name="End silence").click()
    expect(page.get_by_text("No alert of this job or endpoint is silenced.")).to_be_visible()
    state(page, "firing")
    expect(alert(page, "mail")).to_be_visible()


def test_a_date_that_is_missing_is_told_at_its_field(visit: Visit) -> None:
    page = visit.go("/alerts?endpoint=stays")
    alert(page, "stays").get_by_role("button", name="Silence").click()
    asked = page.get_by_role("dialog", name="Silence")
    asked.get_by_label("For").select_option("until a date")
    asked.get_by_role("button", name="Silence").click()
    expect(asked.locator(".fault")).to_have_text("Choose a date and a time.")


def test_who_may_only_look_cannot_silence(program: Site) -> None:
    made = program.ask("POST /v1/keys", {"name": "wall", "scopes": [Scope.READ]})
    with program.visit(logged_in=False, complaints=True) as visit:
        visit.context.request.post(f"{program.address}/v1/session", data={"key": made["key"]})
        page = visit.go("/alerts")
        expect(alert(page, "stays")).to_be_visible()
        expect(page.get_by_role("button", name=re.compile("Acknowledge|Silence"))).to_have_count(0)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_alerts_are_accessible_in_both_themes_and_widths(program: Site, *, dark: bool, phone: bool) -> None:
    with program.visit(viewport=PHONE if phone else DESK, dark=dark) as visit:
        page = visit.go("/alerts")
        expect(alert(page, "stays")).to_be_visible()
        visit.keep_screenshot(f"alerts-{'phone' if phone else 'desk'}-{'dark' if dark else 'light'}")
        assert visit.axe() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
