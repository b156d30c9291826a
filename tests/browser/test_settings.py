"""Settings: records are created, changed, copied and deleted, and files are compared before they count."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect
from tests.browser.dashboard_site import PHONE, Site, Visit, site

from cadenza.domain.access.key import Scope

DESK = ViewportSize(width=1440, height=900)
AREAS = (
    "jobs",
    "users",
    "agents",
    "schedules",
    "daily-users",
    "programmes",
    "secrets",
    "alert-routes",
    "limits",
    "keys",
    "usage",
    "configuration",
)
FILE = """\
version: 1
jobs:
- id: filed
  endpoints:
  - id: filed-1
    target: https://example.com/health
    baseline: every 1h
"""


@pytest.fixture(scope="module")
def program(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), browser) as running:
        yield running


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit(viewport=DESK) as visit:
        yield visit


def create(page: Page, one: str, **fields: str) -> None:
    """Fill the dialog of a new record, and send it."""
    page.get_by_role("button", name=f"New {one}", exact=True).click()
    fill(page.get_by_role("dialog", name=f"New {one}"), **fields)


def fill(dialog: Locator, **fields: str) -> None:
    for name, text in fields.items():
        dialog.locator(f"[name={name}]").fill(text)
    dialog.locator("button[type=submit]").click()


def row(page: Page, name: str) -> Locator:
    return page.locator(".records li").filter(has_text=name)


def delete(page: Page, name: str, *, says: str) -> None:
    page.get_by_role("button", name=f"Delete {name}", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(name)
    expect(dialog).to_contain_text(says)
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(row(page, name)).to_have_count(0)


def test_a_job_is_created_changed_copied_and_deleted(program: Site, visit: Visit) -> None:
    page = visit.go("/settings")
    expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()
    create(page, "job", name="Shop", id="shop", metadata='{"team": "web"}')
    expect(row(page, "Shop")).to_be_visible()
    page.get_by_role("button", name="Edit Shop").click()
    dialog = page.get_by_role("dialog", name="Edit job")
    expect(dialog.locator("[name=metadata]")).to_have_value(re.compile('"team": "web"'))
    expect(dialog.locator("[name=id]")).to_have_count(0)
    fill(dialog, description="all that is sold", metadata="")
    expect(row(page, "Shop")).to_contain_text("all that is sold")
    assert program.ask("GET /v1/jobs/shop")["metadata"] == {}
    page.get_by_role("button", name="Copy Shop").click()
    fill(page.get_by_role("dialog", name="Copy job"), id="shop-2")
    expect(row(page, "Shop (copy)")).to_contain_text("all that is sold")
    target = {"kind": "http", "url": "http://127.0.0.1:9/"}
    endpoint = {"name": "e", "target": target, "baseline": {"kind": "every", "interval_ms": 3_600_000}}
    program.ask("POST /v1/jobs/shop-2/endpoints", endpoint)
    delete(page, "Shop (copy)", says="Deleted with it: 1 endpoint.")
    assert "shop-2" not in {one["id"] for one in program.ask("GET /v1/jobs")["items"]}


def test_users_agents_and_their_schedules_are_set_up(program: Site, visit: Visit) -> None:
    page = visit.go("/settings/users")
    create(page, "user", user_id="ada", timezone="Europe/Berlin")
    page.get_by_role("button", name="Edit ada").click()
    fill(page.get_by_role("dialog"), timezone="Asia/Tokyo")
    expect(row(page, "ada")).to_contain_text("Asia/Tokyo")
    page.get_by_role("link", name="Agents").last.click()
    create(page, "agent", agent_id="helper", name="Helper", instructions="Be brief.")
    page.get_by_role("button", name="Edit Helper").click()
    fill(page.get_by_role("dialog"), name="Aide")
    expect(row(page, "Aide")).to_be_visible()
    assert program.ask("GET /v1/agents/helper")["instructions"] == "Be brief."
    page.get_by_role("link", name="Schedules").click()
    create_schedule(page)
    edit_schedule(page)
    page.get_by_role("button", name="Copy Stand-up").click()
    copy = page.get_by_role("dialog", name="Copy schedule")
    expect(copy.get_by_label("Cron expression")).to_have_value("0 10 * * 1-5")
    copy.locator("button[type=submit]").click()
    page.get_by_role("button", name="Done").click()
    delete(page, "Stand-up (copy)", says="will not run again")
    page.get_by_role("link", name="Users", exact=True).click()
    delete(page, "ada", says="Deleted with the user: 1 schedule")
    assert program.ask("GET /v1/schedules?enabled_only=false")["items"] == []


def create_schedule(page: Page) -> None:
    page.get_by_role("button", name="New schedule").click()
    dialog = page.get_by_role("dialog", name="New schedule")
    dialog.get_by_label("User").select_option("ada")
    dialog.get_by_label("Agent", exact=True).select_option("helper")
    dialog.get_by_label("Type").select_option("recurring")
    dialog.get_by_label("Cron expression").fill("0 9 * * 1-5")
    dialog.get_by_label("Time zone").fill("Asia/Tokyo")
    expect(dialog.get_by_role("status", name="Next runs").get_by_role("listitem")).to_have_count(5)
    fill(dialog, name="Stand-up", prompt="who begins?")
    expect(page.get_by_role("dialog", name="Schedule created")).to_contain_text("Asia/Tokyo")
    page.get_by_role("button", name="Done").click()


def edit_schedule(page: Page) -> None:
    page.get_by_role("button", name="Edit Stand-up").click()
    edit = page.get_by_role("dialog", name="Edit schedule")
    expect(edit.locator("[name=user_id]")).to_have_count(0)
    fill(edit, prompt="who goes on?", cron_expression="0 10 * * 1-5")
    expect(row(page, "Stand-up")).to_contain_text("0 10 * * 1-5 (Asia/Tokyo)")


def test_a_daily_user_is_added_moved_and_deleted(program: Site, visit: Visit) -> None:
    page = visit.go("/settings/daily-users")
    create(page, "daily user", user_id="gus", due_time="07:30")
    page.get_by_role("button", name="Edit gus").click()
    fill(page.get_by_role("dialog"), due_time="09:15")
    expect(row(page, "gus")).to_contain_text("09:15 UTC")
    delete(page, "gus", says="past days are kept")
    assert program.ask("GET /v1/daily/users")["items"] == []


def test_a_key_is_shown_once_and_copied(program: Site, visit: Visit) -> None:
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visit.go("/settings/keys")
    page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog", name="New key")
    dialog.get_by_label("Scope").select_option("steer")
    fill(dialog, name="robot")
    created = page.get_by_role("dialog", name="Key created")
    shown = created.get_by_label("Key robot")
    expect(shown).to_have_value(re.compile("^cad_"))
    created.get_by_role("button", name="Copy").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    key = shown.input_value()
    assert page.evaluate("navigator.clipboard.readText()") == key
    assert visit.axe() == []
    program.ask("GET /v1/jobs", key=key)
    created.get_by_role("button", name="Done").click()
    expect(row(page, "robot")).to_contain_text("steer, never expires")
    assert key not in page.content()
    delete(page, "robot", says="It stops working at once")
    assert "robot" not in {one["name"] for one in program.ask("GET /v1/keys")["items"]}


def test_the_value_of_a_secret_is_replaced_and_never_shown(program: Site, visit: Visit) -> None:
    page = visit.go("/settings/secrets")
    create(page, "secret", secret_name="TOKEN", value="open sesame")
    expect(row(page, "TOKEN")).to_contain_text("${secret:TOKEN}")
    page.get_by_role("button", name="Edit TOKEN").click()
    dialog = page.get_by_role("dialog", name="Edit secret")
    expect(dialog.get_by_label("Value")).to_have_value("")
    fill(dialog, value="another")
    expect(dialog).to_be_hidden()
    assert "open sesame" not in page.content()
    audit = program.ask("GET /v1/audit?operation=put_secret")
    assert len(audit["items"]) == 2
    assert "another" not in str(audit)
    delete(page, "TOKEN", says="Targets that refer to it fail")


def test_a_new_record_replaces_none_of_the_same_name(program: Site) -> None:
    program.ask("PUT /v1/agents/kept", {"name": "Kept", "instructions": "Be brief."})
    with program.visit(viewport=DESK, complaints=True) as visit:
        page = visit.go("/settings/agents")
        create(page, "agent", agent_id="kept", name="Other")
        dialog = page.get_by_role("dialog", name="New agent")
        expect(dialog.get_by_role("alert")).to_contain_text("There is an agent kept already.")
        page.once("dialog", lambda question: question.accept())
        page.keyboard.press("Escape")
        assert all("409" in one for one in visit.complaints), visit.complaints
    assert program.ask("GET /v1/agents/kept")["instructions"] == "Be brief."


def test_what_is_missing_is_said_beside_its_field(program: Site) -> None:
    with program.visit(viewport=DESK, complaints=True) as visit:
        page = visit.go("/settings/users")
        create(page, "user", user_id="", timezone="Mars/Base")
        dialog = page.get_by_role("dialog")
        expect(dialog.locator("[name=user_id]")).to_have_attribute("aria-invalid", "true")
        fill(dialog, user_id="eve")
        expect(dialog.locator("[name=timezone]")).to_have_attribute("aria-invalid", "true")
        expect(dialog.locator("[name=timezone]")).to_be_focused()
        expect(dialog.locator("[name=user_id]")).to_have_value("eve")
        assert visit.axe() == []
        page.once("dialog", lambda question: question.accept())
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()


def test_usage_stands_beside_the_limits(program: Site, visit: Visit) -> None:
    program.limit(endpoints=1, runs_per_month=1_000)
    page = visit.go("/settings/usage")
    endpoints = page.get_by_role("row").filter(has_text=re.compile("^Endpoints"))
    expect(endpoints).to_contain_text("1")
    expect(page.get_by_role("row").filter(has_text="Runs this month")).to_contain_text("1,000")
    expect(page.get_by_role("row").filter(has_text="Planner tokens this month")).to_contain_text("no limit")


def test_the_operator_changes_limits(program: Site, visit: Visit) -> None:
    program.limit(endpoints=1, runs_per_month=1_000)
    page = visit.go("/settings/usage")
    page.get_by_role("button", name="Change limits").click()
    dialog = page.get_by_role("dialog", name="Edit limits of the tenant")
    expect(dialog.locator("[name=runs_per_month]")).to_have_value("1000")
    assert visit.axe() == []
    fill(dialog, endpoints="", min_interval_ms="20")
    expect(page.get_by_role("row").filter(has_text=re.compile("^Minimum interval20"))).to_be_visible()
    limits = program.ask("GET /v1/usage")["limits"]
    assert (limits["endpoints"], limits["min_interval_ms"], limits["runs_per_month"]) == (None, 20_000, 1_000)
    program.limit()


def test_a_file_is_compared_before_it_is_applied(program: Site, visit: Visit) -> None:
    page = visit.go("/settings/configuration")
    apply = page.get_by_role("button", name="Apply")
    expect(apply).to_be_disabled()
    file = {"name": "cadenza.yaml", "mimeType": "application/yaml", "buffer": FILE.encode()}
    page.get_by_label("File", exact=True).set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Compare").click()
    difference = page.get_by_role("status", name="Difference")
    expect(difference).to_contain_text("It would: create 2")
    expect(difference).to_contain_text("endpoint filed-1")
    assert "filed" not in {one["id"] for one in program.ask("GET /v1/jobs")["items"]}, "a dry run"
    page.get_by_label("Content").fill(FILE.replace("1h", "2h"))
    expect(apply).to_be_disabled()
    expect(difference).to_be_hidden()
    page.get_by_role("button", name="Compare").click()
    apply.click()
    expect(difference).to_contain_text("Applied: create 2")
    assert program.ask("GET /v1/endpoints/filed-1")["baseline"]["interval_ms"] == 7_200_000


def test_a_difference_shows_fields_before_and_after(program: Site, visit: Visit) -> None:
    program.ask("POST /v1/apply/file", {"text": FILE.replace("1h", "2h")})
    page = visit.go("/settings/configuration")
    page.get_by_label("Content").fill(FILE)
    page.get_by_role("button", name="Compare").click()
    difference = page.get_by_role("status", name="Difference")
    expect(difference).to_contain_text("baseline")
    expect(difference.locator("del")).to_contain_text("7200000")
    expect(difference.locator("ins")).to_contain_text("3600000")
    visit.keep_screenshot("settings-difference", whole=True)
    assert visit.axe() == []
    page.once("dialog", lambda question: question.accept())
    page.get_by_role("link", name="Usage and limits").click()


def test_an_export_is_a_file_that_changes_nothing(program: Site, visit: Visit) -> None:
    page = visit.go("/settings/configuration")
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download cadenza.yaml").click()
    assert downloading.value.suggested_filename == "cadenza.yaml"
    assert downloading.value.path().read_text() == program.ask("GET /v1/export/file")["text"]
    page.get_by_role("button", name="Edit it below").click()
    expect(page.get_by_label("Content")).to_have_value(re.compile("version: 1"))
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("status", name="Difference")).to_contain_text("It would change nothing.")
    expect(page.get_by_role("button", name="Apply")).to_be_disabled()
    page.once("dialog", lambda question: question.accept())
    page.get_by_role("link", name="Usage and limits").click()


def test_a_fault_in_a_file_names_its_line(program: Site) -> None:
    with program.visit(viewport=DESK, complaints=True) as visit:
        page = visit.go("/settings/configuration")
        page.get_by_label("Content").fill(FILE.replace("every 1h", "now and then"))
        page.get_by_role("button", name="Compare").click()
        expect(page.get_by_role("alert")).to_contain_text("line 7")
        expect(page.get_by_label("Content")).to_have_attribute("aria-invalid", "true")


@pytest.mark.parametrize(("scope", "areas"), [(Scope.READ, len(AREAS) - 1), (Scope.WRITE, len(AREAS) - 1)])
def test_the_scope_decides_what_is_offered(program: Site, scope: Scope, areas: int) -> None:
    program.ask("POST /v1/apply/file", {"text": "version: 1\njobs: [{id: seen}]"})
    made = program.ask("POST /v1/keys", {"name": scope, "scopes": [scope]})
    with program.visit(logged_in=False, viewport=DESK, complaints=True) as visit:
        visit.context.request.post(f"{program.address}/v1/session", data={"key": made["key"]})
        page = visit.go("/settings/jobs")
        expect(page.get_by_role("link", name="seen")).to_be_visible()
        expect(page.locator(".areas a")).to_have_count(areas)
        writes = int(scope is Scope.WRITE)
        for name in ("New job", "Edit seen", "Copy seen", "Delete seen"):
            expect(page.get_by_role("button", name=name, exact=True)).to_have_count(writes)
        page = visit.go("/settings/configuration")
        expect(page.get_by_role("button", name="Download cadenza.yaml")).to_be_visible()
        expect(page.get_by_role("button", name="Compare")).to_have_count(writes)
        page = visit.go("/settings/keys")
        expect(page.get_by_role("heading", name="Not found")).to_be_visible()
        assert all("403" not in one for one in visit.complaints), visit.complaints


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_each_area_is_accessible_in_both_themes_and_widths(program: Site, *, dark: bool, phone: bool) -> None:
    look = f"{'phone' if phone else 'wide'}-{'dark' if dark else 'light'}"
    with program.visit(viewport=PHONE if phone else DESK, dark=dark) as visit:
        page = visit.go("/settings")
        for area in AREAS:
            page.locator(f'.areas a[href="/settings/{area}"]').click()
            expect(page.locator(".settings .card").first).to_be_visible()
            expect(page.get_by_text("Loading")).to_have_count(0)
            visit.keep_screenshot(f"settings-{area}-{look}", whole=True)
            assert visit.axe() == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
