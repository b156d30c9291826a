"""Who may not: cookies without their token, tokens of users, strangers with ids; on every operation."""

from typing import Any

import pytest
from tests.surfaces.api_in_process import Answered, ApiInProcess
from tests.surfaces.rest.test_server_sent_events import listening
from tests.surfaces.rest.test_sessions import BrowserSession

from cadenza.domain.access.key import Scope
from cadenza.operations.operation import AnyOperation
from cadenza.operations.table import OPERATIONS
from cadenza.surfaces.dashboard import events

ROUTED = [one for one in OPERATIONS if one.route is not None]
OF_USERS = {
    "create_schedule",
    "list_schedules",
    "update_schedule",
    "pause_schedule",
    "resume_schedule",
    "snooze_schedule",
    "run_schedule",
    "list_schedule_runs",
    "explain_schedule",
    "delete_schedule",
    "get_user",
    "get_user_channels",
    "put_user_channels",
    "test_user_channel",
    "send_message",
}
"""All that somebody may ask for who speaks for one user alone."""


def request_for(operation: AnyOperation) -> str:
    assert operation.route is not None
    path = operation.route.path
    for name in operation.command.model_fields:
        path = path.replace(f"{{{name}}}", "2026-11-16" if name == "date" else "ada")
    return f"{operation.route.method} {path}"


async def peopled() -> ApiInProcess:
    api = ApiInProcess()
    for tenant_id in ("north", "south"):
        for user_id in ("ada", f"of-{tenant_id}"):
            await api.ask(f"PUT /v1/users/{user_id}", {}, by=tenant_id)
        await api.ask("PUT /v1/agents/helper", {"name": "Helper"}, by=tenant_id)
    return api


async def for_ada(api: ApiInProcess, request: str, body: Any = None) -> Answered:
    """Ask with a token that speaks for ada of the north."""
    token = (await api.ask("POST /v1/users/ada/token", {})).json()["token"]
    return await api.ask(request, body, by=None, authorization=f"Bearer {token}")


async def test_every_write_by_cookie_must_show_the_sessions_token() -> None:
    api = ApiInProcess()
    browser = BrowserSession(api)
    await browser.log_in(key=await api.key())
    for operation in ROUTED:
        request = request_for(operation)
        if request.startswith("GET"):
            assert not operation.writes, f"{request} changes something, and a cookie alone opens it"
            continue
        answer = await browser.ask(request, {} if not request.startswith("DELETE") else None)
        assert (answer.status, "X-Csrf-Token" in answer.json()["detail"]) == (403, True), request


async def test_a_users_token_opens_what_is_for_users_and_nothing_else() -> None:
    api = await peopled()
    assert {one.name for one in OPERATIONS if one.user} == OF_USERS
    for operation in ROUTED:
        request = request_for(operation)
        answer = await for_ada(api, request, {} if operation.route and operation.route.has_body else None)
        if operation.name not in OF_USERS:
            assert answer.status == 403, request


@pytest.mark.parametrize("other", ["of-north", "of-south", "nobody"])
async def test_for_a_users_token_there_is_nobody_else(other: str) -> None:
    api = await peopled()
    a_schedule = {
        "name": "Pizza",
        "prompt": "take it out",
        "schedule_type": "one-shot",
        "delay_seconds": 60,
        "agent_id": "helper",
    }
    theirs = await api.ask("POST /v1/schedules", {**a_schedule, "user_id": "of-north"})
    for request, body in (
        (f"GET /v1/users/{other}", None),
        (f"GET /v1/users/{other}/channels", None),
        (f"PUT /v1/users/{other}/channels", {"channels": []}),
        (f"GET /v1/schedules?user_id={other}", None),
        (f"DELETE /v1/schedules/{theirs.json()['id']}", None),
        ("POST /v1/schedules", {**a_schedule, "user_id": other}),
        ("POST /v1/agents/helper/messages", {"text": "hi", "user_id": other}),
    ):
        answer = await for_ada(api, request, body)
        assert (answer.status, "agent" in answer.json()["detail"]) == (404, False), request


async def test_events_are_not_for_who_speaks_for_one_user() -> None:
    api = await peopled()
    assert (await for_ada(api, "GET /v1/events")).status == 403


async def test_a_place_that_nobody_was_told_is_no_bug(api: ApiInProcess) -> None:
    async with listening(api) as stream:
        await stream.next("reset")
        edition = stream.last_id.partition(".")[0]
        async with listening(api, last_event_id=f"{edition}.{'9' * 5_000}") as other:
            await other.next("now")
    assert not api.log.events("warning")


async def test_one_tenant_does_not_take_the_place_of_all(
    api: ApiInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_OF_A_TENANT", 1)
    async with listening(api) as stream:
        await stream.next("reset")
        assert (await api.ask("GET /v1/events")).status == 429
        async with listening(api, by="south") as other:
            await other.next("reset")


async def test_a_read_key_makes_no_token_and_a_token_makes_no_token() -> None:
    api = await peopled()
    assert (await api.ask("POST /v1/users/ada/token", {}, scope=Scope.STEER)).status == 403
    assert (await for_ada(api, "POST /v1/users/ada/token", {})).status == 403


async def test_neither_a_session_nor_a_key_is_taken_for_the_other_also_not_a_moment_later(
    api: ApiInProcess,
) -> None:
    browser = BrowserSession(api)
    await browser.log_in(key=await api.key())
    assert (await browser.ask("GET /v1/jobs")).status == 200
    name, _, secret = browser.cookie.partition("=")
    as_key = await api.ask("GET /v1/jobs", by=None, authorization=f"Bearer {secret}")
    assert (await api.ask("GET /v1/jobs")).status == 200
    as_cookie = await api.ask("GET /v1/jobs", by=None, cookie=f"{name}={await api.key()}")
    assert (as_key.status, as_cookie.status) == (401, 401)
