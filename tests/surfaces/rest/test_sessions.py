"""Sessions over HTTP: the same operations by cookie as by key, and nothing for who forges or guesses."""

from datetime import timedelta
from typing import Any

import pytest
from tests.surfaces.api_in_process import Answered, ApiInProcess

from cadenza.domain.access.key import Caller, Scope
from cadenza.operations.access.sessions import LINK_LASTS, SESSION_LASTS, new_link
from cadenza.surfaces.http.auth import MOST_FAILURES

ADMIN = Caller("north", frozenset({Scope.ADMIN}), "up")
MS = timedelta(milliseconds=1)


class BrowserSession:
    """A browser of somebody: it keeps its cookie, and shows its token if asked to."""

    def __init__(self, api: ApiInProcess) -> None:
        self._house = api
        self.cookie = ""
        self.csrf = ""

    async def log_in(self, **credentials: str) -> Answered:
        answer = await self._house.ask("POST /v1/session", credentials, by=None)
        if answer.status == 201:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
            self.csrf = answer.json()["csrf"]
        return answer

    async def ask(self, request: str, body: Any = None, *, csrf: str | None = None) -> Answered:
        shown = {} if csrf is None else {"x_csrf_token": csrf}
        return await self._house.ask(request, body, by=None, cookie=f"theme=dark; {self.cookie}", **shown)


@pytest.fixture
def browser(api: ApiInProcess) -> BrowserSession:
    return BrowserSession(api)


async def test_a_link_opens_one_session(api: ApiInProcess, browser: BrowserSession) -> None:
    code = (await new_link(api.application.dependencies, ADMIN)).secret
    entered = await browser.log_in(code=code)
    assert entered.status == 201
    assert entered.json()["scopes"] == ["admin"]
    assert entered.json()["now"] == entered.json()["wall"] == "2025-01-01T00:00:00Z"
    assert (await browser.ask("GET /v1/keys")).status == 200
    again = await BrowserSession(api).log_in(code=code)
    assert (again.status, again.json()["errors"][0]["field"]) == (422, "code")


async def test_a_link_lasts_an_hour_and_a_session_two_weeks(
    api: ApiInProcess, browser: BrowserSession
) -> None:
    code = (await new_link(api.application.dependencies, ADMIN)).secret
    api.clock.jump(LINK_LASTS / MS)
    assert (await browser.log_in(code=code)).status == 422
    await browser.log_in(key=await api.key())
    api.clock.jump(SESSION_LASTS / MS - 1)
    assert (await browser.ask("GET /v1/session")).status == 200
    api.clock.jump(1)
    assert (await browser.ask("GET /v1/session")).status == 401
    assert (await browser.ask("GET /v1/jobs")).status == 401


async def test_neither_secret_is_good_for_what_the_other_is(
    api: ApiInProcess, browser: BrowserSession
) -> None:
    code = (await new_link(api.application.dependencies, ADMIN)).secret
    await browser.log_in(key=await api.key())
    secret = browser.cookie.partition("=")[2]
    assert (await BrowserSession(api).log_in(code=secret)).status == 422
    browser.cookie = browser.cookie.replace(secret, code)
    assert (await browser.ask("GET /v1/jobs")).status == 401
    for word in (secret, code):
        assert (await api.ask("GET /v1/jobs", by=None, authorization=f"Bearer {word}")).status == 401


async def test_a_session_may_what_its_key_may_and_acts_in_its_name(
    api: ApiInProcess, browser: BrowserSession
) -> None:
    await api.create_endpoint()
    entered = await browser.log_in(key=await api.key(scope=Scope.STEER))
    assert entered.json()["scopes"] == ["steer"]
    tool = "POST /v1/endpoints/traffic/tools/propose_interval"
    assert (await browser.ask(tool, {"intervalMs": 30_000}, csrf=browser.csrf)).status == 200
    (hint,) = (await browser.ask("GET /v1/endpoints/traffic/hints")).json()["items"]
    key_id = (await api.key(scope=Scope.STEER)).split("_")[1]
    assert hint["origin"] == f"key:{key_id}"
    assert (await browser.ask("POST /v1/jobs", {"name": "new"}, csrf=browser.csrf)).status == 403


@pytest.mark.parametrize("forged", [None, "", "0" * 64, "äöü"])
async def test_a_write_must_show_the_sessions_own_token(
    api: ApiInProcess, browser: BrowserSession, forged: str | None
) -> None:
    await browser.log_in(key=await api.key())
    for request, body in (("POST /v1/jobs", {"name": "new"}), ("DELETE /v1/session", None)):
        answer = await browser.ask(request, body, csrf=forged)
        assert (answer.status, answer.problem) == (403, "not-allowed")
    other = BrowserSession(api)
    await other.log_in(key=await api.key())
    assert (await browser.ask("POST /v1/jobs", {"name": "new"}, csrf=other.csrf)).status == 403
    assert (await browser.ask("GET /v1/jobs")).json()["items"] == []
    assert (await browser.ask("POST /v1/jobs", {"name": "new"}, csrf=browser.csrf)).status == 201


async def test_who_leaves_is_gone_at_once(api: ApiInProcess, browser: BrowserSession) -> None:
    await browser.log_in(key=await api.key())
    assert (await browser.ask("GET /v1/jobs")).status == 200
    left = await browser.ask("DELETE /v1/session", csrf=browser.csrf)
    assert left.status == 204
    assert "Max-Age=0" in left.headers["set-cookie"]
    assert (await browser.ask("GET /v1/jobs")).status == 401


async def test_a_session_ends_with_its_key_here_at_once(api: ApiInProcess, browser: BrowserSession) -> None:
    await browser.log_in(key=await api.key(scope=Scope.READ))
    assert (await browser.ask("GET /v1/jobs")).status == 200
    key_id = (await api.key(scope=Scope.READ)).split("_")[1]
    await api.ask(f"DELETE /v1/keys/{key_id}")
    assert (await browser.ask("GET /v1/jobs")).status == 401
    assert (await browser.ask("GET /v1/session")).status == 401


async def test_a_key_in_the_header_is_asked_before_a_cookie(
    api: ApiInProcess, browser: BrowserSession
) -> None:
    await browser.log_in(key=await api.key("south"))
    await api.create_endpoint("north")
    shown = await api.ask("GET /v1/jobs", cookie=browser.cookie)
    assert [job["id"] for job in shown.json()["items"]] == ["job"]
    wrong = await api.ask("GET /v1/jobs", by=None, cookie=browser.cookie, authorization="Bearer cad_x_y")
    assert wrong.status == 401


@pytest.mark.parametrize("field", ["key", "code"])
async def test_an_address_that_guesses_is_told_to_wait_and_may_still_log_in(
    api: ApiInProcess, browser: BrowserSession, field: str
) -> None:
    for _ in range(MOST_FAILURES):
        assert (await browser.log_in(**{field: "cad_wrong_key"})).status == 422
    refused = await browser.log_in(**{field: "cad_wrong_key"})
    assert (refused.status, refused.problem) == (429, "too-many-requests")
    link = await new_link(api.application.dependencies, ADMIN)
    right = {"key": await api.key(), "code": link.secret}
    assert (await browser.log_in(**{field: right[field]})).status == 201
    api.clock.jump(60_000)
    assert (await browser.log_in(**{field: "cad_wrong_key"})).status == 422


@pytest.mark.parametrize(
    "body", [{}, {"key": 1}, {"key": "a", "code": "b"}, {"name": "x"}, {"key": "x" * 201}]
)
async def test_credentials_are_one_of_two(api: ApiInProcess, body: dict[str, Any]) -> None:
    answer = await api.ask("POST /v1/session", body, by=None)
    assert (answer.status, answer.problem) == (422, "invalid-request")


async def test_the_cookie_is_for_this_server_alone(api: ApiInProcess, browser: BrowserSession) -> None:
    entered = await browser.log_in(key=await api.key())
    name, *attributes = entered.headers["set-cookie"].split("; ")
    assert name.startswith("cadenza_session_80=")
    assert attributes == ["Max-Age=1209600", "Path=/", "HttpOnly", "SameSite=Strict"]
