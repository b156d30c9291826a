"""The audit page: who changed what, filtered, exported, and a definition restored."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser.dashboard_site import PHONE, Site, Visit, site
from tests.browser.shop_scene import DESK, HOSTILE, write_scene

from cadenza.domain.access.key import Scope


@pytest.fixture(scope="module")
def program(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    write_scene(folder / "cadenza.db")
    with site(folder, browser) as running:
        running.ask("PATCH /v1/endpoints/search", {"name": f"Search {HOSTILE}", "labels": {"team": "web"}})
        running.ask("POST /v1/jobs/office/pause")
        asked = {"untilIso": "2100-01-01T00:00:00Z", "reason": "=deploy"}
        running.ask("POST /v1/endpoints/stock/tools/pause_until", asked)
        running.ask("POST /v1/jobs", {"id": "gone", "name": "soon deleted", "description": "once was"})
        running.ask("DELETE /v1/jobs/gone")
        yield running


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit(viewport=DESK) as visit:
        yield visit


def records(page: Page) -> Locator:
    return page.get_by_role("table", name="Audit records").locator("tbody tr")


def test_changes_are_listed_with_who_what_and_the_difference_and_filtered(visit: Visit) -> None:
    page = visit.go("/audit")
    expect(records(page).filter(has_text="update endpoint")).to_contain_text("endpoint search")
    expect(records(page).filter(has_text="update endpoint")).to_contain_text("labels")
    search = page.get_by_role("search", name="Filter the audit")
    search.get_by_label("Kind").select_option("job")
    expect(records(page)).to_have_count(3)
    search.get_by_label("Operation").fill("pause job")
    expect(records(page)).to_have_count(1)
    expect(page).to_have_url(re.compile(r"kind=job&operation=pause\+job"))
    search.get_by_label("Surface").select_option("cli")
    expect(page.get_by_role("heading", name="No results")).to_be_visible()
    search.get_by_label("Surface").select_option("rest")
    search.get_by_label("Time").select_option("last 15 m")
    page.reload()
    expect(records(page)).to_have_count(1)
    records(page).get_by_role("link", name="job office").click()
    expect(page.get_by_role("heading", name="office", exact=True)).to_be_visible()


def test_a_record_shows_the_difference_and_the_definition_before_it_is_restored(
    program: Site, visit: Visit
) -> None:
    page = visit.go("/audit?kind=endpoint&id=search")
    expect(records(page)).to_have_count(1)
    records(page).get_by_role("button").click()
    opened = page.get_by_role("dialog", name="update endpoint")
    expect(opened.locator(".removed").first).to_contain_text("search")
    expect(opened.locator(".added").first).to_contain_text(HOSTILE)
    expect(opened).to_contain_text("Definition before")
    expect(page).to_have_url(re.compile("record="))
    visit.keep_screenshot("audit-record")
    assert visit.axe() == []
    opened.get_by_role("button", name="Restore the definition before this change").click()
    asked = page.get_by_role("dialog", name="Restore a definition")
    asked.get_by_label("Reason").fill("wrong name")
    asked.get_by_role("button", name="Restore").click()
    expect(page.locator(".toasts")).to_contain_text("endpoint search restored")
    assert program.ask("GET /v1/endpoints/search")["name"] == "search"
    expect(records(page)).to_have_count(2)


def test_what_was_deleted_is_created_again(program: Site, visit: Visit) -> None:
    page = visit.go("/audit?operation=delete job")
    records(page).get_by_role("button").click()
    page.get_by_role("button", name="Restore the definition before this change").click()
    page.get_by_role("dialog", name="Restore a definition").get_by_role("button", name="Restore").click()
    expect(page.locator(".toasts")).to_contain_text("job gone restored, created again")
    assert program.ask("GET /v1/jobs/gone")["description"] == "once was"


def test_what_is_filtered_is_exported(visit: Visit, tmp_path: Path) -> None:
    page = visit.go("/audit?kind=endpoint&id=stock")
    expect(records(page)).to_have_count(1)
    with page.expect_download() as saving:
        page.get_by_role("button", name="Export JSON").click()
    saving.value.save_as(tmp_path / "audit.jsonl")
    (record,) = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
    assert (record["operation"], record["subject_id"]) == ("pause_until", "stock")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Export CSV").click()
    saving.value.save_as(tmp_path / "audit.csv")
    header, line = (tmp_path / "audit.csv").read_text().splitlines()
    assert header.startswith("at,who,name,surface,operation")
    assert '"\'=deploy"' in line, "a spreadsheet must not read it as a formula"


def test_the_audit_is_for_administrators(program: Site) -> None:
    made = program.ask("POST /v1/keys", {"name": "desk", "scopes": [Scope.WRITE]})
    with program.visit(logged_in=False, complaints=True) as visit:
        visit.context.request.post(f"{program.address}/v1/session", data={"key": made["key"]})
        page = visit.go("/audit")
        expect(page.get_by_text("The audit needs a key with the admin scope.")).to_be_visible()


@pytest.mark.parametrize(
    ("phone", "dark"),
    [(False, False), (False, True), (True, True), (True, False)],
    ids=["desk-light", "desk-dark", "phone-dark", "phone-light"],
)
def test_the_audit_is_accessible_in_both_themes_and_widths(program: Site, *, phone: bool, dark: bool) -> None:
    with program.visit(viewport=PHONE if phone else DESK, dark=dark) as visit:
        page = visit.go("/audit?kind=endpoint")
        records(page).first.get_by_role("button").click()
        expect(page.get_by_role("dialog")).to_contain_text("Difference")
        visit.keep_screenshot(f"audit-{'phone' if phone else 'desk'}-{'dark' if dark else 'light'}")
        assert visit.axe() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
