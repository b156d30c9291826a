"""Endpoints from nothing: job, secret, target, test, schedule, and what is asked before anything is lost."""

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Dialog, Locator, Page, ViewportSize, expect
from tests.browser.dashboard_site import PHONE, Site, Visit, site

from cadenza.domain.access.key import Scope

DESK = ViewportSize(width=1440, height=900)
NEW = "/endpoints/new/new"
LOOKS = pytest.mark.parametrize(
    ("phone", "dark"),
    [(False, False), (False, True), (True, False), (True, True)],
    ids=["wide-light", "wide-dark", "phone-light", "phone-dark"],
)


class Echo(BaseHTTPRequestHandler):
    """Answers with the header that it was sent, or 503 under /down."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = b'{"token": "%s"}' % self.headers.get("authorization", "").encode()
        self.send_response(503 if self.path == "/down" else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def program(browser: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), browser) as running:
        yield running


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit(viewport=DESK) as visit:
        yield visit


def section(page: Page, title: str) -> Locator:
    return page.locator("fieldset, details").filter(has_text=title).first


def with_endpoint(program: Site, name: str, **fields: object) -> None:
    if not any(job["id"] == "shop" for job in program.ask("GET /v1/jobs")["items"]):
        program.ask("POST /v1/jobs", {"id": "shop", "name": "Shop"})
    given = {
        "id": name,
        "name": name,
        "target": {"kind": "http", "url": "http://127.0.0.1:9/"},
        "baseline": {"kind": "every", "interval_ms": 3_600_000},
    }
    program.ask("POST /v1/jobs/shop/endpoints", given | fields)


def test_a_stranger_sets_up_a_first_endpoint_from_the_empty_list(
    program: Site, visit: Visit, target: str
) -> None:
    page = visit.go("/endpoints")
    expect(page.get_by_role("heading", name="No endpoints yet")).to_be_visible()
    page.get_by_role("link", name="New endpoint").click()
    page.get_by_label("Name", exact=True).fill("Checkout")
    page.get_by_label("Id", exact=True).fill("checkout")
    create_job_beside(page)
    page.get_by_label("Method").select_option("POST")
    create_secret_in_header(page)
    try_target(page, target)
    assert program.ask("GET /v1/endpoints")["items"] == [], "a test saves nothing"
    page.get_by_label("Every", exact=True).fill("2")
    page.get_by_label("Every, unit").select_option("hours")
    page.get_by_role("button", name="Add to labels").click()
    page.get_by_label("Labels, name 1").fill("team")
    page.get_by_label("Labels, value 1").fill("web")
    visit.keep_screenshot("set-up-endpoint-tested", whole=True)
    page.get_by_role("button", name="Create endpoint").click()
    expect(page.get_by_role("heading", name="Checkout")).to_be_visible()
    expect(page).to_have_url(re.compile("/endpoints/checkout$"))
    created = program.ask("GET /v1/endpoints/checkout")
    assert created["target"]["headers"] == {"Authorization": "Bearer ${secret:TOKEN}"}
    assert created["baseline"] == {"kind": "every", "interval_ms": 7_200_000}
    assert (created["labels"], created["job_id"]) == ({"team": "web"}, "shop")
    audit = {one["operation"] for one in program.ask("GET /v1/audit")["items"]}
    assert {"create_job", "put_secret", "test_target", "create_endpoint"} <= audit


def create_job_beside(page: Page) -> None:
    page.get_by_role("button", name="New job").click()
    job = page.get_by_role("dialog", name="New job")
    job.get_by_label("Name", exact=True).fill("Shop")
    job.get_by_label("Id", exact=True).fill("shop")
    job.get_by_role("button", name="Create job").click()
    expect(job).to_be_hidden()
    expect(page.get_by_label("Job", exact=True)).to_have_value("shop")


def create_secret_in_header(page: Page) -> None:
    page.get_by_role("button", name="Add to headers").click()
    page.get_by_label("Headers, name 1").fill("Authorization")
    page.get_by_label("Headers, value 1").fill("Bearer ")
    page.get_by_role("button", name="New secret").first.click()
    secret = page.get_by_role("dialog", name="New secret")
    secret.get_by_label("Name", exact=True).fill("TOKEN")
    secret.get_by_label("Value").fill("open sesame")
    secret.get_by_role("button", name="Create secret").click()
    expect(page.get_by_label("Headers, value 1")).to_have_value("Bearer ${secret:TOKEN}")


def try_target(page: Page, target: str) -> None:
    """Test an address that fails, and one that answers with what it was sent."""
    page.get_by_label("URL").fill(f"{target}/down")
    page.get_by_role("button", name="Test", exact=True).click()
    result = page.get_by_role("status", name="Test result")
    expect(result).to_contain_text("failure")
    page.get_by_label("URL").fill(f"{target}/up")
    page.get_by_role("button", name="Test", exact=True).click()
    expect(result).to_contain_text("success")
    expect(result.get_by_label("Response")).to_contain_text("token")


def test_the_next_runs_follow_what_is_typed(program: Site) -> None:
    with program.visit(viewport=DESK, complaints=True) as visit:
        follow_the_next_runs(visit.go(NEW))
        assert all("422" in one for one in visit.complaints)


def follow_the_next_runs(page: Page) -> None:
    runs = page.get_by_role("status", name="Next runs")
    expect(runs.get_by_role("listitem")).to_have_count(5)
    page.get_by_label("Every", exact=True).fill("0")
    expect(runs).to_contain_text("Every must be from 1 ms to 10 years.")
    page.get_by_label("Baseline").select_option("cron")
    expect(runs).to_contain_text("while you type")
    page.get_by_label("Cron expression").fill("30 7 29 2 *")
    page.get_by_label("Time zone").fill("Asia/Tokyo")
    expect(runs).to_contain_text("2028")
    expect(runs).to_contain_text("in Asia/Tokyo")
    expect(runs.get_by_role("listitem").first).to_contain_text("07:30:00")
    page.get_by_label("Cron expression").fill("99 7 * * *")
    expect(runs).to_contain_text("its minute is wrong")
    page.get_by_label("Baseline").select_option("once")
    page.get_by_label(re.compile("^Run at")).fill("2099-03-01T08:00:00")
    expect(runs.get_by_role("listitem")).to_have_count(1)
    expect(runs).to_contain_text("2099")
    page.get_by_label("Baseline").select_option("day-parts")
    expect(page.get_by_label("Calendar of part 1")).to_contain_text("There are no calendars yet")


def test_a_refusal_stands_beside_its_field_and_nothing_typed_is_lost(program: Site) -> None:
    with_endpoint(program, "any")
    with program.visit(viewport=DESK, complaints=True) as visit:
        page = visit.go(f"{NEW}?job=shop")
        page.get_by_label("Name", exact=True).fill("Orders")
        page.get_by_label("URL").fill("ftp://example.com")
        page.get_by_label("Maximum interval", exact=True).fill("1")
        page.get_by_text("Timeout, retries and misfires").click()
        page.get_by_label("Attempts").fill("many")
        page.get_by_text("Timeout, retries and misfires").click()
        page.get_by_role("button", name="Create endpoint").click()
        url, attempts = page.get_by_label("URL"), page.get_by_label("Attempts")
        expect(url).to_have_attribute("aria-invalid", "true")
        expect(url).to_be_focused()
        expect(attempts).to_have_attribute("aria-invalid", "true")
        expect(attempts).to_have_value("many")
        expect(page.get_by_role("alert").filter(has_text="2 fields")).to_be_visible()
        assert visit.axe() == []
        visit.keep_screenshot("set-up-endpoint-refused", whole=True)
        url.fill("https://example.com/")
        attempts.fill("2")
        page.get_by_role("button", name="Create endpoint").click()
        expect(page.get_by_role("heading", name="Orders")).to_be_visible()
    orders = next(one for one in program.ask("GET /v1/endpoints")["items"] if one["name"] == "Orders")
    assert orders["policy"]["max_attempts"] == 2
    assert orders["guard"] == {"min_interval_ms": None, "max_interval_ms": 1_000}


def test_what_is_about_no_field_stands_above_the_buttons(program: Site) -> None:
    with_endpoint(program, "taken")
    with program.visit(viewport=DESK, complaints=True) as visit:
        page = visit.go(f"{NEW}?job=shop")
        page.get_by_label("Name", exact=True).fill("Twice")
        page.get_by_label("Id", exact=True).fill("taken")
        page.get_by_label("URL").fill("https://example.com")
        page.get_by_label("Body", exact=True).select_option("json")
        page.get_by_label("Body, content").fill('{"a": ')
        page.get_by_role("button", name="Create endpoint").click()
        expect(page.get_by_text("This is not JSON")).to_be_visible()
        expect(page.get_by_label("Body", exact=True)).to_be_focused()
        page.get_by_label("Body, content").fill('{"a": 1}')
        page.get_by_role("button", name="Create endpoint").click()
        expect(page.get_by_role("alert")).to_contain_text("There is an endpoint taken already.")
        page.get_by_label("Id", exact=True).fill("free")
        page.get_by_role("button", name="Create endpoint").click()
        expect(page).to_have_url(re.compile("/endpoints/free$"))
    assert program.ask("GET /v1/endpoints/free")["target"]["body"] == {"a": 1}


def test_an_edit_shows_what_is_stored_and_keeps_what_it_does_not_show(program: Site, visit: Visit) -> None:
    body = "raw text"
    with_endpoint(
        program,
        "edited",
        target={
            "kind": "http",
            "url": "http://127.0.0.1:9/",
            "method": "PUT",
            "body": body,
            "headers": {"x-one": "1"},
            "success_path": "$.state",
            "success_values": ["ok", 1, "1"],
        },
        planning={"watch": ["$.a", "$.b"], "max_pause_minutes": 90},
        policy={"retry_delay_ms": 90_000, "max_attempts": 3},
        hint_mode="tighten",
    )
    before = program.ask("GET /v1/endpoints/edited")
    page = visit.go("/endpoints/edited")
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_role("heading", name="Edit endpoint")).to_be_visible()
    expect(page.get_by_label("Body, content")).to_have_value(body)
    page.get_by_text("Success and response").click()
    expect(page.get_by_label("Values at that path")).to_have_value('ok\n1\n"1"')
    page.get_by_label("Name", exact=True).fill("Edited")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Edited")).to_be_visible()
    after = program.ask("GET /v1/endpoints/edited")
    assert after == before | {"name": "Edited"}


def test_a_copy_is_another_endpoint_with_the_same_definition(program: Site, visit: Visit) -> None:
    with_endpoint(program, "first", labels={"team": "web"}, guard={"min_interval_ms": 5_000})
    page = visit.go("/endpoints/first")
    page.get_by_role("link", name="Copy").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("first (copy)")
    page.get_by_label("Id", exact=True).fill("second")
    page.get_by_role("button", name="Create endpoint").click()
    expect(page).to_have_url(re.compile("/endpoints/second$"))
    first, second = (program.ask(f"GET /v1/endpoints/{one}") for one in ("first", "second"))
    for same in ("target", "baseline", "guard", "policy", "planning", "labels", "job_id"):
        assert first[same] == second[same]


def test_deleting_names_what_goes_with_it(program: Site, visit: Visit) -> None:
    with_endpoint(program, "gone")
    rule = {"id": "of-gone", "job_id": "shop", "endpoint_id": "gone", "name": "r", "when": "true"}
    program.ask("POST /v1/rules", rule | {"then": {"tool": "clear"}})
    page = visit.go("/endpoints/gone")
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete endpoint")
    expect(dialog).to_contain_text("1 rule about it alone")
    expect(dialog).to_contain_text("run history is kept")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(page).to_have_url(re.compile("/endpoints$"))
    assert "gone" not in {one["id"] for one in program.ask("GET /v1/endpoints")["items"]}
    program.ask("DELETE /v1/rules/of-gone")


def test_unsaved_changes_are_asked_about_before_they_are_lost(visit: Visit) -> None:
    page = visit.go("/endpoints")
    page.get_by_role("link", name="New endpoint").click()
    asked: list[str] = []
    answers = iter([False, False, True])

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.message)
        if next(answers):
            dialog.accept()
        else:
            dialog.dismiss()

    page.on("dialog", answer)
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    assert asked == [], "nothing was typed"
    page.evaluate("history.back()")
    page.get_by_label("Name", exact=True).fill("half")
    page.get_by_role("link", name="Overview").click()
    page.evaluate("history.back()")
    expect(page.get_by_label("Name", exact=True)).to_have_value("half")
    expect(page).to_have_url(re.compile(f"{NEW}$"))
    assert asked == ["Discard unsaved changes?"] * 2
    page.get_by_role("button", name="Cancel").click()
    expect(page).to_have_url(re.compile("/endpoints$"))
    assert len(asked) == 3


def test_a_dialog_asks_about_its_own_changes_alone(visit: Visit) -> None:
    page = visit.go(NEW)
    asked: list[str] = []

    def refuse(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", refuse)
    page.get_by_label("Name", exact=True).fill("half")
    page.get_by_role("button", name="New job").click()
    job = page.get_by_role("dialog", name="New job")
    expect(job).to_be_visible()
    page.keyboard.press("Escape")
    expect(job).to_be_hidden()
    assert asked == [], "the form behind it stays"
    page.get_by_role("button", name="New job").click()
    job.get_by_label("Name", exact=True).fill("x")
    with page.expect_event("dialog"):
        page.keyboard.press("Escape")
    expect(job.get_by_label("Name", exact=True)).to_have_value("x")
    assert asked == ["Discard unsaved changes?"]


def test_what_was_typed_is_there_after_the_session_ended(program: Site) -> None:
    with program.visit(viewport=DESK, complaints=True) as visit:
        page = visit.go(f"{NEW}?job=shop")
        page.get_by_label("Name", exact=True).fill("Patience")
        page.get_by_label("URL").fill("https://example.com/")
        cookies = visit.context.cookies()
        visit.context.clear_cookies()
        page.evaluate("document.querySelector('.record-form')?.requestSubmit()")
        page.get_by_label("API key").fill(program.program.key)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_label("Name", exact=True)).to_have_value("Patience")
        expect(page.get_by_label("URL")).to_have_value("https://example.com/")
        visit.context.add_cookies(cookies)  # type: ignore[arg-type]


def test_it_works_by_keyboard_alone(program: Site, visit: Visit) -> None:
    page = visit.go("/")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("t")
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()
    page.get_by_role("button", name="New job").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("dialog").get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type("Typed")
    page.keyboard.press("Tab")
    page.keyboard.type("typed")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_role("link", name="Typed")).to_be_visible()
    assert program.ask("GET /v1/jobs/typed")["name"] == "Typed"


def test_a_heartbeat_gets_its_url_once(program: Site, visit: Visit) -> None:
    with_endpoint(program, "beside")
    page = visit.go(f"{NEW}?job=shop")
    page.get_by_label("Name", exact=True).fill("Backup")
    page.get_by_label("Id", exact=True).fill("backup")
    page.get_by_label("Kind of target").select_option("heartbeat")
    expect(page.get_by_label("URL")).to_have_count(0)
    expect(page.get_by_role("button", name="Test", exact=True)).to_have_count(0)
    page.get_by_label("Grace", exact=True).fill("5")
    page.get_by_label("Grace, unit", exact=True).select_option("minutes")
    page.get_by_role("button", name="Create endpoint").click()
    page.get_by_role("button", name="Heartbeat URL").click()
    page.get_by_role("button", name="Create URL").click()
    url = page.get_by_role("dialog").get_by_label("Heartbeat URL", exact=True).last
    expect(url).to_have_value(re.compile("/v1/heartbeats/hb_"))
    assert program.ask("GET /v1/endpoints/backup")["target"] == {
        "kind": "heartbeat",
        "grace_ms": 300_000,
        "max_run_ms": None,
    }


def test_who_may_only_look_sees_no_forms(program: Site) -> None:
    with_endpoint(program, "looked-at")
    made = program.ask("POST /v1/keys", {"name": "wall", "scopes": [Scope.READ]})
    with program.visit(logged_in=False, viewport=DESK, complaints=True) as visit:
        visit.context.request.post(f"{program.address}/v1/session", data={"key": made["key"]})
        page = visit.go("/endpoints")
        expect(page.get_by_role("link", name="looked-at")).to_be_visible()
        expect(page.get_by_role("link", name="New endpoint")).to_have_count(0)
        page = visit.go("/endpoints/looked-at")
        expect(page.get_by_text("Read only")).to_be_visible()
        expect(page.get_by_role("link", name="Edit")).to_have_count(0)
        expect(page.get_by_role("button", name="Delete")).to_have_count(0)
        page = visit.go("/endpoints/looked-at/edit")
        expect(page.get_by_role("heading", name="Read only")).to_be_visible()


@LOOKS
def test_the_form_is_accessible_in_both_themes_and_widths(program: Site, *, dark: bool, phone: bool) -> None:
    with_endpoint(program, f"look-{dark}-{phone}")
    with program.visit(viewport=PHONE if phone else DESK, dark=dark) as visit:
        page = visit.go(f"/endpoints/look-{dark}-{phone}/edit")
        expect(page.get_by_role("status", name="Next runs").get_by_role("listitem")).to_have_count(5)
        for folded in page.locator("summary").all():
            folded.click()
        page.get_by_role("button", name="Add to headers").click()
        look = f"{'phone' if phone else 'wide'}-{'dark' if dark else 'light'}"
        visit.keep_screenshot(f"set-up-endpoint-{look}", whole=True)
        assert visit.axe() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
