"""What holds for every operation that has a route, whoever adds it."""

import json
from pathlib import Path

import pytest
from tests.surfaces.api_in_process import Answered, ApiInProcess
from tests.surfaces.operation_requests import NAMES, SERVED, body_of, request_of
from tests.surfaces.tenant_with_everything import create_everything

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.access.key import RANK, Scope
from cadenza.domain.validation import milliseconds
from cadenza.operations.operation import AnyOperation, Route

everyone = pytest.mark.parametrize(("operation", "route"), SERVED, ids=NAMES)
READING = [(operation, route) for operation, route in SERVED if not operation.writes]
WITH_IDS = [(operation, route) for operation, route in SERVED if "{" in route.path]
WITH_BODIES = [(operation, route) for operation, route in SERVED if route.has_body]
NO_OBJECTS = {
    b"{": 400,
    b"\xff\xfe": 400,
    b'{"name": "\xc3"}': 400,
    b'{"name": NaN}': 400,
    b"[]": 422,
    b'"text"': 422,
    b"null": 422,
}
OTHER_TYPES = ("text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", "")
NEVER_MISSING = {
    "put_secret",
    "set_limit",
    "put_calendar",
    "put_user",
    "put_agent",
    "put_daily_user",
    "put_programme",
    "get_day",
}
"""Writes what is not there, or tells of a day that everybody has."""


@everyone
async def test_it_works_for_who_may(api: ApiInProcess, operation: AnyOperation, route: Route) -> None:
    ids = await create_everything(api, "north")
    asked = request_of(route, **ids)
    answer = await api.ask(asked, body_of(operation, route), scope=operation.scope)
    assert answer.status == route.status, answer.body
    if route.status == 204:
        assert answer.body == b""
        assert "content-type" not in answer.headers
    else:
        assert answer.headers["content-type"] == "application/json"
        operation.view.model_validate_json(answer.body)


async def test_what_only_reads_answers_while_nothing_can_be_written(tmp_path: Path) -> None:
    await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
    store = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), TimeOrderedIds())
    api = ApiInProcess(store)
    ids = await create_everything(api, "north")
    for operation, _ in READING:
        await api.key(scope=operation.scope)
    await store._file.write(lambda file: file.execute("PRAGMA query_only = ON"))
    api.clock.jump(60_000)
    refused = await api.ask("POST /v1/jobs", {"name": "new"})
    assert (refused.status, refused.problem) == (503, "unavailable")
    assert (await api.ask("GET /readyz")).json() == {"status": refused.json()["detail"]}
    answers = {
        operation.name: (
            (
                await api.ask(request_of(route, **ids), body_of(operation, route), scope=operation.scope)
            ).status,
            route.status,
        )
        for operation, route in READING
    }
    assert {name: status for name, (status, expected) in answers.items() if status != expected} == {}
    await store.close()


@everyone
async def test_without_a_good_key_nobody_gets_in(
    api: ApiInProcess, operation: AnyOperation, route: Route
) -> None:
    for key in (None, "Bearer cad_nobody_knows", "Basic dXNlcjpwYXNz", "Bearer", ""):
        headers = {} if key is None else {"authorization": key}
        answer = await api.ask(request_of(route), body_of(operation, route), by=None, **headers)
        assert (answer.status, answer.problem) == (401, "unauthorized"), key
        assert answer.headers["www-authenticate"].startswith('Bearer realm="cadenza"')


@everyone
async def test_a_smaller_scope_is_not_enough(
    api: ApiInProcess, operation: AnyOperation, route: Route
) -> None:
    ids = await create_everything(api, "north")
    for scope in Scope:
        if RANK[scope] < RANK[operation.scope]:
            answer = await api.ask(request_of(route, **ids), body_of(operation, route), scope=scope)
            assert (answer.status, answer.problem) == (403, "not-allowed")


@pytest.mark.parametrize(("operation", "route"), WITH_IDS, ids=[one.name for one, _ in WITH_IDS])
async def test_what_another_tenant_has_is_not_there(
    api: ApiInProcess, operation: AnyOperation, route: Route
) -> None:
    ids = await create_everything(api, "north")
    body = body_of(operation, route)
    foreign = await api.ask(request_of(route, **ids), body, by="south", x_request_id="same")
    other = ApiInProcess()
    other.clock.jump((api.clock.now() - other.clock.now()) / milliseconds(1))
    missing = await other.ask(request_of(route, **ids), body, by="south", x_request_id="same")
    assert foreign == missing
    assert foreign.status == (route.status if operation.name in NEVER_MISSING else 404)


@everyone
async def test_what_it_does_not_know_is_refused(
    api: ApiInProcess, operation: AnyOperation, route: Route
) -> None:
    ids = await create_everything(api, "north")
    request = request_of(route, **ids)
    if route.has_body:
        answer = await api.ask(request, (body_of(operation, route) or {}) | {"nonsense": 1})
    else:
        answer = await api.ask(f"{request}?nonsense=1")
    assert (answer.status, answer.problem) == (422, "invalid-request")
    assert [error["field"] for error in answer.json()["errors"]] == ["nonsense"]


@pytest.mark.parametrize(("operation", "route"), WITH_BODIES, ids=[one.name for one, _ in WITH_BODIES])
async def test_a_body_that_is_no_object_is_refused(
    api: ApiInProcess, operation: AnyOperation, route: Route
) -> None:
    for body, status in NO_OBJECTS.items():
        answer = await api.ask(request_of(route), body)
        assert answer.status == status, body
        assert answer.problem == ("bad-request" if status == 400 else "invalid-request")


@pytest.mark.parametrize(("operation", "route"), WITH_BODIES, ids=[one.name for one, _ in WITH_BODIES])
async def test_a_body_of_another_type_is_refused(
    api: ApiInProcess, operation: AnyOperation, route: Route
) -> None:
    for media_type in OTHER_TYPES:
        answer = await api.ask(request_of(route), b'{"name": "x"}', content_type=media_type)
        assert (answer.status, answer.problem) == (415, "unsupported-media-type"), media_type


@pytest.mark.parametrize(("operation", "route"), WITH_BODIES, ids=[one.name for one, _ in WITH_BODIES])
async def test_a_write_takes_no_query(api: ApiInProcess, operation: AnyOperation, route: Route) -> None:
    answer = await api.ask(f"{request_of(route)}?name=x", body_of(operation, route))
    assert answer.status == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["name"]


@pytest.mark.parametrize(("operation", "route"), WITH_IDS, ids=[one.name for one, _ in WITH_IDS])
async def test_the_path_has_the_last_word(api: ApiInProcess, operation: AnyOperation, route: Route) -> None:
    """An id in the rest of the request cannot turn it to another thing."""
    ids = await create_everything(api, "north")
    name = next(name for name in route.path.split("/") if name.startswith("{")).strip("{}")
    if route.has_body:
        answer = await api.ask(
            request_of(route, **ids), (body_of(operation, route) or {}) | {name: "another"}
        )
    else:
        answer = await api.ask(f"{request_of(route, **ids)}?{name}=another")
    assert answer.status == 422
    assert [error["field"] for error in answer.json()["errors"]] == [name]


@everyone
async def test_every_answer_says_how_to_be_treated(
    api: ApiInProcess, operation: AnyOperation, route: Route
) -> None:
    for answer in (
        await api.ask(request_of(route), body_of(operation, route), by=None),
        await api.ask(request_of(route), body_of(operation, route)),
    ):
        guarded(answer)


def guarded(answer: Answered) -> None:
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-request-id"]
    if answer.status >= 400:
        said = json.loads(answer.body)
        assert said["status"] == answer.status
        assert said["request_id"] == answer.headers["x-request-id"]
        assert said["detail"].endswith(".")
