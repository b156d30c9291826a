"""A request costs others little: large bodies are refused unread, and requests take turns."""

import asyncio
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.surfaces.api_in_process import ApiInProcess

from cadenza.domain.access.key import OPERATOR
from cadenza.domain.json_values import DEEPEST_DOCUMENT, Json, certainly_more_values, too_much_json
from cadenza.operations.arguments import MOST_EXAMINED
from cadenza.operations.operation import AnyOperation
from cadenza.operations.table import OPERATIONS
from cadenza.surfaces.dashboard.login import LARGEST_LOGIN
from cadenza.surfaces.http import request
from cadenza.surfaces.http.request import MOST_VALUES, MOST_VALUES_IN_BULK
from cadenza.surfaces.http.service import MOST_AT_ONCE

WITH_BODY = [one for one in OPERATIONS if one.route is not None and one.route.has_body]
A_SMALL_ANSWER = 2_000


def unknown_fields(count: int) -> dict[str, int]:
    return {f"f{number}": 1 for number in range(count)}


def path_of(operation: AnyOperation) -> str:
    assert operation.route is not None
    return f"{operation.route.method} {operation.route.path.replace('{', '').replace('}', '')}"


@pytest.mark.parametrize("operation", WITH_BODY, ids=lambda one: one.name)
async def test_too_many_unknown_fields_are_refused_unread(api: ApiInProcess, operation: AnyOperation) -> None:
    most = MOST_VALUES_IN_BULK if operation.bulk else MOST_VALUES
    body = orjson.dumps(dict.fromkeys(map(str, range(most + 1)), 1))
    answer = await api.ask(path_of(operation), body, by=OPERATOR if operation.operator else "north")
    assert answer.status == 413
    assert f"{most:,} values" in answer.json()["detail"]


async def test_of_many_faults_few_are_told(api: ApiInProcess) -> None:
    answer = await api.ask("POST /v1/jobs", unknown_fields(MOST_VALUES - 1))
    assert answer.status == 422
    assert len(answer.json()["errors"]) == 10
    assert len(answer.body) < A_SMALL_ANSWER


async def test_a_bulk_document_with_thousands_of_faults_is_refused_with_their_number(
    api: ApiInProcess,
) -> None:
    answer = await api.ask("POST /v1/apply", {"version": 1, **unknown_fields(MOST_EXAMINED + 1)})
    assert answer.status == 422
    assert f"{MOST_EXAMINED + 1:,} faults" in answer.json()["detail"]


async def test_a_large_configuration_is_applied_and_exported(api: ApiInProcess) -> None:
    endpoints: list[Any] = [
        {"id": f"e{number}", "target": "https://example.com", "baseline": "every 1m"}
        for number in range(3_000)
    ]
    document = {"version": 1, "jobs": [{"id": "shop", "endpoints": endpoints}]}
    assert (await api.ask("POST /v1/apply", document)).status == 200
    exported = (await api.ask("GET /v1/export")).json()
    assert {one["id"] for one in exported["jobs"][0]["endpoints"]} == {one["id"] for one in endpoints}


async def test_agents_cannot_send_more_either(api: ApiInProcess) -> None:
    call = {"name": "create_job", "arguments": unknown_fields(MOST_VALUES)}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answer = await api.ask("POST /mcp", body)
    assert answer.status == 413


DEEP_LISTS = b"[" + b",".join([b"[" * 79 + b"]" * 79] * 6_500) + b"]"


@pytest.mark.parametrize("path", ["/v1/apply", "/v1/jobs", "/v1/session", "/mcp"])
async def test_too_many_lists_are_refused_before_they_are_built(
    api: ApiInProcess, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_parser = SimpleNamespace(JSONDecodeError=orjson.JSONDecodeError)
    monkeypatch.setattr(request, "orjson", no_parser)
    answer = await api.ask(f"POST {path}", DEEP_LISTS)
    assert answer.status == 413


async def test_who_logs_in_sends_little(api: ApiInProcess) -> None:
    answer = await api.ask("POST /v1/session", {"key": "x" * LARGEST_LOGIN}, by=None)
    assert (answer.status, answer.headers["connection"]) == (413, "close")


async def test_brackets_and_commas_in_texts_are_no_values(api: ApiInProcess) -> None:
    text = ', [{ "\\' * 2 * MOST_VALUES
    answer = await api.ask("POST /v1/jobs", {"name": "x", "description": text})
    assert "values" not in answer.json()["detail"]
    assert answer.status == 422


letters = some.text('[]{},"\\a', max_size=4)
documents = some.recursive(
    some.none() | some.booleans() | some.integers(-9, 9) | letters,
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(letters, inner, max_size=4),
    max_leaves=40,
)


def count_values(value: Json) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count_values, parts))


@given(documents, some.integers(1, 40))
def test_a_document_is_too_much_just_when_it_has_more_values(document: Json, most: int) -> None:
    raw = orjson.dumps(document)
    assert (too_much_json(raw, document, most=most) is not None) == (count_values(document) > most)


@given(documents, some.integers(1, 40))
def test_without_parsing_a_document_is_refused_only_if_it_has_more_values(document: Json, most: int) -> None:
    values = count_values(document)
    if certainly_more_values(orjson.dumps(document), most=most):
        assert values > most
    else:
        assert values <= 2 * most + 1


@pytest.mark.parametrize("wrap", [lambda one: [one], lambda one: {"a": one}])
def test_a_document_may_have_so_many_levels(wrap: Any) -> None:
    document: Json = 1
    for _ in range(DEEPEST_DOCUMENT):
        document = wrap(document)
    assert too_much_json(orjson.dumps(document), document, most=1_000) is None
    document = wrap(document)
    assert too_much_json(orjson.dumps(document), document, most=1_000) == f"{DEEPEST_DOCUMENT} levels"


async def test_requests_take_turns_but_those_that_wait_for_others_do_not(
    api: ApiInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    await api.create_endpoint()
    most, now, all_began, may_end = 0, 0, asyncio.Event(), asyncio.Event()
    jobs = api.store.catalog.jobs

    async def slow_jobs(*given: Any) -> Any:
        nonlocal most, now
        now += 1
        most = max(most, now)
        if now == MOST_AT_ONCE:
            all_began.set()
        await may_end.wait()
        now -= 1
        return await jobs(*given)

    monkeypatch.setattr(api.store.catalog, "jobs", slow_jobs)
    asking = [asyncio.create_task(api.ask("GET /v1/jobs")) for _ in range(MOST_AT_ONCE + 5)]
    await all_began.wait()
    trial = await api.ask("POST /v1/endpoints/traffic/test", {})
    assert trial.status == 200
    may_end.set()
    assert {(await one).status for one in asking} == {200}
    assert most == MOST_AT_ONCE
