"""Settings of limits of runs."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize, expect
from tests.browser.dashboard_site import Site, Visit, site

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


def test_a_limit_is_set_changed_and_deleted(program: Site, visit: Visit) -> None:
    page = visit.go("/settings/limits")
    page.get_by_role("button", name="New limit").click()
    dialog = page.get_by_role("dialog", name="New limit")
    dialog.get_by_label("Name", exact=True).fill("example.com")
    dialog.get_by_label("Runs in flight").fill("3")
    dialog.get_by_role("button", name="Create limit").click()
    row = page.locator(".records li")
    expect(row).to_contain_text("0 in flight (3)")
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
