"""Limits of runs over REST: who may write them, what they show, and what explains that something waits."""

from typing import Any

import pytest
from tests.surfaces.api_in_process import ApiInProcess

from cadenza.domain.access.audit import AuditFilter
from cadenza.domain.access.key import Scope
from cadenza.testing.contracts.harness import Bench

HOST = "PUT /v1/limits/host/example.com"


@pytest.fixture
async def api() -> ApiInProcess:
    api = ApiInProcess()
    await api.create_endpoint()
    return api


async def run_due(api: ApiInProcess) -> Bench:
    """Let the endpoint be due."""
    assert (await api.ask("POST /v1/endpoints/traffic/run-now")).status == 200
    api.clock.jump(5_000)
    bench = Bench(api.store)
    bench.clock = api.clock
    return bench


async def listed(api: ApiInProcess, **wanted: Any) -> list[dict[str, Any]]:
    answer = await api.ask("GET /v1/limits")
    items: list[dict[str, Any]] = answer.json()["items"]
    return [one for one in items if wanted.items() <= one.items()]


async def test_a_limit_is_written_listed_and_deleted(api: ApiInProcess) -> None:
    written = await api.ask(HOST, {"max_in_flight": 1})
    assert (written.status, written.json()["max_in_flight"]) == (200, 1)
    assert (await api.ask(HOST, {"max_per_minute": 7})).json()["max_in_flight"] is None
    (shown,) = await listed(api)
    assert (shown["kind"], shown["name"], shown["max_per_minute"]) == ("host", "example.com", 7)
    assert (await api.ask("GET /v1/endpoints/traffic")).json()["limited_by"] == ["host:example.com"]
    assert (await api.ask("DELETE /v1/limits/host/Example.COM")).status == 204
    assert (await api.ask("DELETE /v1/limits/host/example.com")).status == 404
    assert await listed(api) == []


@pytest.mark.parametrize("scope", [Scope.READ, Scope.STEER, Scope.WRITE])
async def test_only_an_administrator_writes_limits(api: ApiInProcess, scope: Scope) -> None:
    assert (await api.ask(HOST, {"max_in_flight": 1}, scope=scope)).status == 403
    assert (await api.ask("DELETE /v1/limits/host/example.com", scope=scope)).status == 403
    assert (await api.ask("GET /v1/limits", scope=scope)).status == 200


@pytest.mark.parametrize(
    ("request_", "body"),
    [
        (HOST, {}),
        (HOST, {"max_in_flight": 0}),
        (HOST, {"max_in_flight": 1, "colour": "red"}),
        ("PUT /v1/limits/host/https:%2F%2Fexample.com", {"max_in_flight": 1}),
        ("PUT /v1/limits/planet/earth", {"max_in_flight": 1}),
    ],
)
async def test_what_makes_no_limit_is_refused(api: ApiInProcess, request_: str, body: dict[str, Any]) -> None:
    assert (await api.ask(request_, body)).status in (404, 422)
    assert await listed(api) == []


async def test_limits_are_those_of_the_tenant_of_the_caller(api: ApiInProcess) -> None:
    await api.ask(HOST, {"max_in_flight": 1})
    assert (await api.ask("GET /v1/limits", by="south")).json()["items"] == []
    assert (await api.ask("DELETE /v1/limits/host/example.com", by="south")).status == 404
    assert len(await listed(api)) == 1


async def test_what_is_held_back_is_explained_and_listed(api: ApiInProcess) -> None:
    other = {"id": "other", "name": "other", "target": {"kind": "http", "url": "http://example.com/"}}
    await api.ask("POST /v1/jobs/job/endpoints", other | {"baseline": {"kind": "every", "interval_ms": 1}})
    await api.ask("PUT /v1/limits/job/job", {"max_in_flight": 1, "max_per_minute": 50})
    bench = await run_due(api)
    (claim,) = await bench.claim(limit=1)
    held = ({"traffic", "other"} - {claim.endpoint.id}).pop()
    await bench.claim(limit=1)
    answer = (await api.ask(f"GET /v1/endpoints/{held}/plan")).json()["answer"]
    limit = "job job (at most 1 in flight and 50 a minute)"
    assert f"Held back by the limit for {limit} since " in answer
    assert "it goes on when the run in flight ends." in answer
    (shown,) = await listed(api, holds_back=True)
    assert (shown["in_flight"], shown["started_in_minute"], shown["waiting"]) == (1, 1, 1)
    assert (shown["held_since"], shown["goes_on_at"]) != (None, None)
    await bench.end(claim)
    assert await listed(api, holds_back=True) == []


async def test_a_minute_that_is_used_up_says_when_it_goes_on(api: ApiInProcess) -> None:
    await api.ask("PUT /v1/limits/job/job", {"max_per_minute": 1})
    bench = await run_due(api)
    await bench.end(*await bench.claim())
    bench = await run_due(api)
    assert await bench.claim() == []
    (shown,) = await listed(api, holds_back=True)
    answer = (await api.ask("GET /v1/endpoints/traffic/plan")).json()["answer"]
    assert f"it is expected to go on at {shown['goes_on_at']}" in answer.replace(".000000", "")


async def test_a_change_is_recorded_with_what_was_before(api: ApiInProcess) -> None:
    await api.ask(HOST, {"max_in_flight": 1})
    await api.ask(HOST, {"max_in_flight": 2})
    await api.ask("DELETE /v1/limits/host/example.com")
    records = await api.store.audit.records("north", wanted=AuditFilter(subject_kind="limit"))
    assert [(one.operation, one.subject_id) for one in records] == [
        ("delete_limit", "host:example.com"),
        ("set_limit", "host:example.com"),
        ("set_limit", "host:example.com"),
    ]
    (changed,) = [one for one in records[1].changes if one.field == "max_in_flight"]
    assert (changed.before, changed.after) == (1, 2)


async def test_an_endpoint_names_a_key_and_a_priority_and_gives_them_up(api: ApiInProcess) -> None:
    await api.ask("PUT /v1/limits/key/billing", {"max_in_flight": 1})
    named = await api.ask("PATCH /v1/endpoints/traffic", {"limit_key": "billing", "priority": 7})
    assert (named.json()["limited_by"], named.json()["priority"]) == (["key:billing"], 7)
    given_up = await api.ask("PATCH /v1/endpoints/traffic", {"limit_key": None, "priority": 0})
    assert (given_up.json()["limit_key"], given_up.json()["limited_by"]) == (None, [])
    assert (await api.ask("PATCH /v1/endpoints/traffic", {"priority": 101})).status == 422


def a_file(*limits: dict[str, Any], **given: Any) -> dict[str, Any]:
    return {"version": 1, "limits": list(limits), "jobs": [], **given}


A_LIMIT = {"kind": "job", "name": "job", "max_in_flight": 3}


async def test_a_file_of_limits_is_applied_exported_and_pruned(api: ApiInProcess) -> None:
    await api.ask("PUT /v1/limits/key/old", {"max_in_flight": 1})
    tried = (await api.ask("POST /v1/apply", a_file(A_LIMIT, dry_run=True))).json()
    assert [(one["action"], one["id"]) for one in tried["changes"]] == [("create", "job:job")]
    assert [one["name"] for one in await listed(api)] == ["old"]
    await api.ask("POST /v1/apply", a_file(A_LIMIT))
    exported = (await api.ask("GET /v1/export")).json()
    assert exported["limits"] == [A_LIMIT, {"kind": "key", "name": "old", "max_in_flight": 1}]
    again = (await api.ask("POST /v1/apply", exported)).json()
    assert again["changes"] == []
    pruned = await api.ask("POST /v1/apply", a_file(A_LIMIT | {"max_in_flight": 4}, prune=True))
    assert [(one["action"], one["id"]) for one in pruned.json()["changes"]] == [
        ("update", "job:job"),
        ("delete", "key:old"),
    ]
    assert [(one["name"], one["max_in_flight"]) for one in await listed(api)] == [("job", 4)]


async def test_a_file_without_limits_leaves_them_also_when_it_prunes(api: ApiInProcess) -> None:
    await api.ask(HOST, {"max_in_flight": 1})
    await api.ask("POST /v1/apply", {"version": 1, "jobs": [], "prune": True})
    assert len(await listed(api)) == 1


async def test_a_file_changes_limits_only_for_an_administrator(api: ApiInProcess) -> None:
    refused = await api.ask("POST /v1/apply", a_file(A_LIMIT), scope=Scope.WRITE)
    assert (refused.status, await listed(api)) == (403, [])
    await api.ask("POST /v1/apply", a_file(A_LIMIT))
    assert (await api.ask("POST /v1/apply", a_file(A_LIMIT), scope=Scope.WRITE)).status == 200


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ([{"kind": "job", "name": "a"}], "limits.0.max_in_flight"),
        ([{"kind": "host", "name": "a/b", "max_in_flight": 1}], "limits.0.name"),
        ([A_LIMIT, A_LIMIT], "limits.0.name"),
    ],
)
async def test_faults_of_limits_in_a_file_are_located(
    api: ApiInProcess, limits: list[dict[str, Any]], field: str
) -> None:
    refused = await api.ask("POST /v1/apply", a_file(*limits))
    assert refused.status == 422
    assert field in refused.body.decode()
