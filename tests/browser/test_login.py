"""Coming in by the link or with a key, staying by the cookie, and going out."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.dashboard_site import PHONE, Site, Visit, site

from cadenza.domain.access.key import Scope


@pytest.fixture(scope="module")
def program(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), browser) as running:
        running.link  # noqa: B018 - it was printed
        yield running


@pytest.fixture
def guest(program: Site) -> Iterator[Visit]:
    """Somebody who is not logged in; that the server says so is no complaint."""
    with program.visit(logged_in=False, complaints=True) as visit:
        yield visit
        assert [one for one in visit.complaints if "401" not in one and "422" not in one] == []


def log_in(visit: Visit, key: str) -> None:
    visit.page.get_by_label("Key").fill(key)
    visit.page.get_by_role("button", name="Log in").click()


def test_the_link_works_once_and_leaves_no_trace_in_the_address(program: Site) -> None:
    link = program.link
    with program.visit(logged_in=False) as first:
        first.page.goto(link)
        expect(first.page.get_by_role("heading", name="Overview")).to_be_visible()
        assert first.page.url == f"{program.address}/"
        (cookie,) = first.context.cookies()
        assert cookie["httpOnly"]
        assert cookie["sameSite"] == "Strict"
        assert not cookie["secure"], "on loopback, without https, it would be lost"
        assert first.page.evaluate("document.cookie") == ""
        first.page.reload()
        expect(first.page.get_by_role("heading", name="Overview")).to_be_visible()
    with program.visit(logged_in=False, complaints=True) as second:
        second.page.goto(link)
        expect(second.page.get_by_role("alert")).to_contain_text("was used already")
        expect(second.page.get_by_label("Key")).to_be_visible()


def test_a_key_lets_in_to_where_one_wanted_to_go(program: Site, guest: Visit) -> None:
    guest.go("/endpoints?q=shop")
    guest.keep_screenshot("login")
    assert guest.axe() == []
    log_in(guest, program.program.key)
    expect(guest.page.get_by_role("heading", name="Endpoints", exact=True)).to_be_visible()
    expect(guest.page.get_by_role("searchbox")).to_have_value("shop")


def test_a_wrong_key_is_told_at_its_field(guest: Visit) -> None:
    guest.go("/")
    log_in(guest, "cad_wrong_key")
    field = guest.page.get_by_label("Key")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(guest.page.get_by_text("This key is invalid")).to_be_visible()


def test_who_goes_out_is_out_also_with_the_old_cookie(program: Site, guest: Visit) -> None:
    guest.go("/")
    log_in(guest, program.program.key)
    expect(guest.page.get_by_role("heading", name="Overview")).to_be_visible()
    (cookie,) = guest.context.cookies()
    guest.page.get_by_role("button", name="Log out").click()
    expect(guest.page.get_by_label("API key")).to_be_visible()
    assert guest.context.cookies() == []
    guest.context.add_cookies([{"name": cookie["name"], "value": cookie["value"], "url": program.address}])
    guest.go("/")
    expect(guest.page.get_by_label("Key")).to_be_visible()


def test_a_session_ends_with_the_key_that_opened_it(program: Site, guest: Visit) -> None:
    made = program.ask("POST /v1/keys", {"name": "short", "scopes": [Scope.READ]})
    guest.go("/")
    log_in(guest, made["key"])
    expect(guest.page.get_by_role("heading", name="Overview")).to_be_visible()
    program.ask(f"DELETE /v1/keys/{made['id']}")
    guest.page.reload()
    expect(guest.page.get_by_label("Key")).to_be_visible()


def test_a_session_that_is_over_says_so_and_goes_on_where_one_was(program: Site, guest: Visit) -> None:
    made = program.ask("POST /v1/keys", {"name": "brief", "scopes": [Scope.READ]})
    guest.go("/simulator")  # A page that asks once; what it hears by is refused.
    log_in(guest, made["key"])
    expect(guest.page.locator(".live")).to_have_text("Live")
    program.ask(f"DELETE /v1/keys/{made['id']}")
    expect(guest.page.get_by_text("Your session has expired.")).to_be_visible(timeout=30_000)
    log_in(guest, program.program.key)
    expect(guest.page.get_by_role("heading", name="Simulator")).to_be_visible()


def test_a_server_that_is_away_at_first_is_waited_for(program: Site) -> None:
    with program.visit(complaints=True) as visit:
        visit.page.route("**/v1/session", lambda route: route.abort())
        visit.go("/")
        expect(visit.page.get_by_role("alert")).to_contain_text("Cannot connect to http")
        expect(visit.page.get_by_label("Key")).to_be_hidden()
        visit.page.unroute("**/v1/session")
        expect(visit.page.get_by_role("heading", name="Overview")).to_be_visible()


def test_a_write_without_the_sessions_token_is_refused(program: Site) -> None:
    with program.visit(complaints=True) as visit:
        visit.go("/")
        told = visit.page.evaluate(
            """async () => {
                const body = JSON.stringify({ id: "forged", name: "forged" });
                const headers = { "Content-Type": "application/json" };
                const forged = await fetch("/v1/jobs", { method: "POST", headers, body });
                const { csrf } = await (await fetch("/v1/session")).json();
                const own = { ...headers, "X-Csrf-Token": csrf };
                const meant = await fetch("/v1/jobs", { method: "POST", headers: own, body });
                return [forged.status, (await forged.json()).detail, meant.status];
            }"""
        )
    assert told[0] == 403
    assert "X-Csrf-Token" in told[1]
    assert told[2] == 201


def test_nothing_inline_runs_and_files_are_kept_for_ever(program: Site) -> None:
    with program.visit() as visit:
        answer = visit.page.goto(program.address)
        assert answer is not None
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-cache"
        assert not re.search(r"<script(?![^>]*src=)|<style|style=| on\w+=", answer.text())
        asset = visit.context.request.get(
            re.findall(r"/assets/[\w.-]+\.js", answer.text())[0].join([program.address, ""])
        )
        assert "immutable" in asset.headers["cache-control"]


def test_no_source_writes_html_of_its_own() -> None:
    sources = (Path(__file__).parents[2] / "web" / "src").rglob("*.ts*")
    risky = re.compile(
        r"dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\("
    )
    assert [path.name for path in sources if risky.search(path.read_text())] == []


def test_the_lock_file_names_no_registry() -> None:
    lock = json.loads((Path(__file__).parents[2] / "web" / "package-lock.json").read_text())
    assert [name for name, one in lock["packages"].items() if "resolved" in one] == []


def test_coming_in_on_a_phone(program: Site) -> None:
    with program.visit(logged_in=False, viewport=PHONE, complaints=True) as visit:
        visit.go("/")
        expect(visit.page.get_by_label("Key")).to_be_visible()
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_page_comes_back_with_its_server_and_its_session(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("site")
    with site(folder, browser) as first, first.visit(complaints=True) as visit:
        page, key = visit.go("/"), first.program.key
        state = page.locator(".live")
        expect(state).to_have_text("Live")
        assert first.program.end() == 0, "who listens to events does not keep it from ending"
        expect(state).to_have_text("Reconnecting")
        with site(folder, browser, CADENZA_PORT=str(urlsplit(first.address).port)) as second:
            expect(state).to_have_text("Live", timeout=15_000)
            second.ask("POST /v1/jobs", {"id": "job", "name": "job"}, key=key)
            endpoint = {
                "name": "new",
                "target": {"kind": "http", "url": "http://127.0.0.1:9/"},
                "baseline": {"kind": "every", "interval_ms": 3_600_000},
            }
            second.ask("POST /v1/jobs/job/endpoints", endpoint, key=key)
            expect(page.locator(".figures")).to_contain_text("Endpoints1")
