"""Whatever a tenant asks, guesses or names: it learns nothing of another."""

from typing import Any

import pytest
from tests.surfaces.api_in_process import AN_ENDPOINT, ApiInProcess
from tests.surfaces.operation_requests import SERVED

LISTS = [route.path for operation, route in SERVED if "cursor" in operation.schema.get("properties", {})]
ALL = [path for path in LISTS if "{" not in path]


async def both(api: ApiInProcess) -> None:
    """Two tenants with the same ids and different things under them."""
    for tenant in ("north", "south"):
        await api.ask("POST /v1/jobs", {"id": "job", "name": f"job of {tenant}"}, by=tenant)
        made = AN_ENDPOINT | {"name": f"endpoint of {tenant}", "labels": {"team": "web"}}
        assert (await api.ask("POST /v1/jobs/job/endpoints", made, by=tenant)).status == 201
        await api.ask("PUT /v1/secrets/TOKEN", {"value": f"secret of {tenant}"}, by=tenant)


async def only_north(api: ApiInProcess) -> None:
    await api.create_endpoint("north")
    await api.ask("PATCH /v1/endpoints/traffic", {"labels": {"team": "web"}}, by="north")
    await api.ask("PUT /v1/secrets/TOKEN", {"value": "secret"}, by="north")
    await api.ask("POST /v1/keys", {"name": "key of north"}, by="north")


@pytest.mark.parametrize("path", ALL)
@pytest.mark.parametrize("query", ["", "?cursor=job", "?cursor=0", "?limit=500"])
async def test_lists_hold_nothing_of_others(api: ApiInProcess, path: str, query: str) -> None:
    await only_north(api)
    answer = await api.ask(f"GET {path}{query}", by="south")
    empty = await ApiInProcess().ask(f"GET {path}{query}", by="south")
    assert answer.status == empty.status
    if answer.status == 200 and path not in ("/v1/keys", "/v1/audit"):  # Of the key that asks.
        assert answer.body == empty.body
    assert b"north" not in answer.body


@pytest.mark.parametrize(
    "query",
    [
        "/v1/endpoints?job_id=job",
        "/v1/endpoints?label=team=web",
        "/v1/runs?endpoint_id=traffic",
        "/v1/runs?job_id=job",
    ],
)
async def test_filters_find_nothing_of_others(api: ApiInProcess, query: str) -> None:
    await only_north(api)
    answer = await api.ask(f"GET {query}", by="south")
    assert answer.json() == {"items": [], "next_cursor": None}


async def test_the_same_ids_are_different_things(api: ApiInProcess) -> None:
    await both(api)
    for tenant in ("north", "south"):
        job = (await api.ask("GET /v1/jobs/job", by=tenant)).json()
        endpoint = (await api.ask("GET /v1/endpoints/traffic", by=tenant)).json()
        assert (job["name"], endpoint["name"]) == (f"job of {tenant}", f"endpoint of {tenant}")


@pytest.mark.parametrize(
    ("request_line", "body"),
    [
        ("DELETE /v1/jobs/job", None),
        ("PATCH /v1/jobs/job", {"name": "changed"}),
        ("POST /v1/jobs/job/pause", None),
        ("DELETE /v1/endpoints/traffic", None),
        ("PATCH /v1/endpoints/traffic", {"name": "changed"}),
        ("POST /v1/endpoints/pause", {"job_id": "job", "untilIso": "2025-02-01T00:00:00Z"}),
        ("POST /v1/endpoints/pause", {"label": ["team=web"], "untilIso": "2025-02-01T00:00:00Z"}),
        ("POST /v1/endpoints/traffic/tools/propose_interval", {"intervalMs": 1_000}),
        ("POST /v1/apply", {"version": 1, "prune": True, "jobs": [{"id": "job", "endpoints": []}]}),
        ("DELETE /v1/secrets/TOKEN", None),
    ],
)
async def test_what_a_tenant_does_to_its_own_leaves_others_alone(
    api: ApiInProcess, request_line: str, body: Any
) -> None:
    await both(api)
    before = await seen(api, "north")
    answer = await api.ask(request_line, body, by="south")
    assert answer.status in (200, 204), answer.body
    assert await seen(api, "north") == before


async def seen(api: ApiInProcess, tenant_id: str) -> list[Any]:
    paths = (
        "/v1/jobs",
        "/v1/endpoints",
        "/v1/secrets",
        "/v1/endpoints/traffic/plan",
        "/v1/endpoints/traffic/hints",
    )
    return [(await api.ask(f"GET {path}", by=tenant_id)).json() for path in paths]


async def test_an_endpoint_cannot_be_moved_into_the_job_of_another(api: ApiInProcess) -> None:
    await api.ask("POST /v1/jobs", {"id": "theirs", "name": "theirs"}, by="north")
    await api.create_endpoint("south")
    moved = await api.ask(
        "PATCH /v1/endpoints/traffic", {"job_id": "theirs"}, by="south", x_request_id="same"
    )
    nowhere = await api.ask(
        "PATCH /v1/endpoints/traffic", {"job_id": "nowhere"}, by="south", x_request_id="same"
    )
    assert (moved.status, moved.body) == (404, nowhere.body.replace(b"nowhere", b"theirs"))


async def test_usage_is_counted_for_oneself(api: ApiInProcess) -> None:
    await only_north(api)
    usage = (await api.ask("GET /v1/usage", by="south")).json()
    assert (usage["tenant_id"], usage["endpoints"]) == ("south", 0)
