"""Settings of alert routes and of limits, and what the form of an endpoint says about its alerts."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize, expect
from tests.browser.dashboard_site import PHONE, Site, Visit, site

DESK = ViewportSize(width=1440, height=900)
FILE = """\
version: 1
jobs:
- id: shop
  endpoints:
  - {id: gateway, target: "https://example.com", baseline: every 1h}
  - {id: orders, target: "https://example.com", baseline: every 1h}
"""


@pytest.fixture(scope="module")
def program(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), browser) as running:
        running.ask("POST /v1/apply/file", {"text": FILE})
        yield running


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit(viewport=DESK) as visit:
        yield visit


def test_an_alert_route_is_created_tested_changed_and_deleted(program: Site, visit: Visit) -> None:
    program.ask("PUT /v1/secrets/HOOK", {"value": "open-sesame"})
    page = visit.go("/settings/alert-routes")
    page.get_by_role("button", name="New alert route").click()
    dialog = page.get_by_role("dialog", name="New alert route")
    dialog.get_by_label("Name", exact=True).fill("on call")
    dialog.get_by_label("Address", exact=True).fill("http://127.0.0.1:9/hook/")
    dialog.get_by_label("Insert a secret into address").select_option("HOOK")
    expect(dialog.get_by_label("Address", exact=True)).to_have_value(re.compile(r"/\$\{secret:HOOK\}$"))
    dialog.get_by_label("Severities").fill("warning, critical")
    dialog.get_by_label("Jobs").fill("shop")
    dialog.get_by_role("button", name="Create alert route").click()
    row = page.locator(".records li")
    expect(row).to_contain_text("shop, warning, critical")
    page.get_by_role("button", name="Test on call").click()
    expect(page.locator(".toast.bad")).to_be_visible()
    page.get_by_role("button", name="Edit on call").click()
    changed = page.get_by_role("dialog", name="Edit alert route")
    changed.get_by_label("Enabled").uncheck()
    changed.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("disabled")
    (route,) = program.ask("GET /v1/alert-routes")["items"]
    assert route["match"]["severities"] == ["warning", "critical"]
    page.get_by_role("button", name="Delete on call").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(row).to_have_count(0)


def test_an_endpoint_has_a_severity_and_depends_on_another(program: Site, visit: Visit) -> None:
    page = visit.go("/endpoints/orders/edit")
    page.get_by_label("Depends on").select_option("gateway")
    page.get_by_label("Severity of its alerts").select_option("critical")
    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(re.compile("/endpoints/orders$"))
    orders = program.ask("GET /v1/endpoints/orders")
    assert (orders["parent_id"], orders["severity"]) == ("gateway", "critical")


@pytest.mark.parametrize(("phone", "dark"), [(False, False), (True, True)], ids=["wide-light", "phone-dark"])
def test_the_area_is_accessible(program: Site, *, phone: bool, dark: bool) -> None:
    with program.visit(viewport=PHONE if phone else DESK, dark=dark) as visit:
        channel = {"type": "webhook", "url": "https://example.com/a-long-address/of-a-channel"}
        program.ask("POST /v1/alert-routes", {"name": f"night {phone}", "channel": channel})
        page = visit.go("/settings/alert-routes")
        expect(page.locator(".records li").first).to_be_visible()
        visit.keep_screenshot(f"settings-alert-route-{'phone' if phone else 'wide'}", whole=True)
        assert visit.axe() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"


def test_a_limit_is_set_changed_and_deleted(program: Site, visit: Visit) -> None:
    page = visit.go("/settings/limits")
    page.get_by_role("button", name="New limit").click()
    dialog = page.get_by_role("dialog", name="New limit")
    dialog.get_by_label("Name", exact=True).fill("example.com")
    dialog.get_by_label("Runs in flight").fill("3")
    dialog.get_by_role("button", name="Create limit").click()
    row = page.locator(".records li")
    expect(row).to_contain_text("0 in flight (3), starts not limited")
    page.get_by_role("button", name="Edit host example.com").click()
    changed = page.get_by_role("dialog", name="Edit limit")
    changed.get_by_label("Runs in flight").fill("")
    changed.get_by_label("Runs a minute").fill("60")
    changed.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("0 in the last minute (60)")
    (limit,) = program.ask("GET /v1/limits")["items"]
    assert (limit["max_in_flight"], limit["max_per_minute"]) == (None, 60)
    page.get_by_role("button", name="Delete host example.com").click()
    expect(page.get_by_role("dialog")).to_contain_text("What waited for it goes on.")
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(row).to_have_count(0)
