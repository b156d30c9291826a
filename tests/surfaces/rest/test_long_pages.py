"""A page of long things ends before it takes too much, and the pages after it hold the rest."""

import threading
from typing import Any

import pytest
from tests.surfaces.api_in_process import AN_ENDPOINT, ApiInProcess
from tests.surfaces.mcp.mcp_client import open_client

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.memory.store import MemoryStore
from cadenza.operations.config import apply
from cadenza.operations.long_pages import LONGEST_PAGE
from cadenza.surfaces.http.documents import openapi
from cadenza.surfaces.mcp.caller import LONGEST_ANSWER
from cadenza.testing.contracts.harness import MINUTE, Bench

COUNT = 30
BESIDE = 40_000
"""What a page has beside what is long in it."""


def a_long_endpoint(number: int) -> tuple[str, dict[str, Any]]:
    target = {"kind": "http", "url": "https://example.com/", "method": "POST", "body": "x" * 60_000}
    return "POST /v1/jobs/job/endpoints", AN_ENDPOINT | {"id": f"e{number:02}", "target": target}


def a_long_job(number: int) -> tuple[str, dict[str, Any]]:
    return "POST /v1/jobs", {"id": f"j{number:02}", "name": "job", "metadata": {"text": "x" * 16_000}}


def a_long_agent(number: int) -> tuple[str, dict[str, Any]]:
    return f"PUT /v1/agents/a{number:02}", {"name": "agent", "instructions": "x" * 40_000}


async def pages(api: ApiInProcess, path: str, *, by: str = "north") -> list[list[Any]]:
    """The items of every page of a list."""
    found, cursor = [], ""
    while True:
        answer = await api.ask(f"GET {path}?limit=500{cursor}", by=by)
        page = answer.json()
        assert len(answer.body) < LONGEST_PAGE + BESIDE
        found.append(page["items"])
        if page["next_cursor"] is None or not page.get("more", True):
            return found
        cursor = f"&cursor={page['next_cursor']}"


@pytest.mark.parametrize(
    ("path", "long"),
    [("/v1/endpoints", a_long_endpoint), ("/v1/jobs", a_long_job), ("/v1/agents", a_long_agent)],
)
async def test_a_list_of_long_things_comes_in_pages_that_none_is_missing_from(
    api: ApiInProcess, path: str, long: Any
) -> None:
    await api.ask("POST /v1/jobs", {"id": "job", "name": "job"})
    for number in range(COUNT):
        request, body = long(number)
        assert (await api.ask(request, body)).status < 300
    found = await pages(api, path)
    ids = [item["id"] for page in found for item in page if item["id"] != "job"]
    assert ids == [f"{ids[0][0]}{number:02}" for number in range(COUNT)]
    assert len(found) > 1
    assert all(found)


@pytest.mark.parametrize("path", ["/v1/runs", "/v1/endpoints/endpoint/runs", "/v1/runs/feed"])
async def test_runs_with_long_responses_come_in_pages_that_none_is_missing_from(path: str) -> None:
    bench = Bench(MemoryStore(TimeOrderedIds()))
    api = ApiInProcess(bench.store)
    beginning = (await api.ask("GET /v1/runs/feed", by="default")).json()["next_cursor"]
    await bench.add()
    ran = []
    for _ in range(COUNT):
        ran.append((await bench.run_once(response={"body": "x" * 60_000})).id)
        bench.pass_ms(MINUTE)
    if path.endswith("feed"):
        found, cursor, more = [], beginning, True
        while more:
            page = (await api.ask(f"GET {path}?limit=500&cursor={cursor}", by="default")).json()
            found.append(page["items"])
            cursor, more = page["next_cursor"], page["more"]
        assert [run["id"] for page in found for run in page] == ran
    else:
        found = await pages(api, path, by="default")
        assert [run["id"] for page in found for run in page] == ran[::-1]
    assert max(map(len, found)) < COUNT
    assert all(run["response"] for page in found for run in page)


async def test_one_thing_that_is_longer_than_a_page_is_a_page(api: ApiInProcess) -> None:
    await api.ask("POST /v1/jobs", {"id": "job", "name": "job"})
    for number in range(2):
        headers = {f"X-{name}": "x" * 8_000 for name in range(40)}
        target = {"kind": "http", "url": "https://example.com/", "headers": headers}
        made = await api.ask(
            "POST /v1/jobs/job/endpoints", AN_ENDPOINT | {"id": f"e{number}", "target": target}
        )
        assert made.status == 201
    first = (await api.ask("GET /v1/endpoints")).json()
    second = (await api.ask(f"GET /v1/endpoints?cursor={first['next_cursor']}")).json()
    assert [[one["id"] for one in page["items"]] for page in (first, second)] == [["e0"], ["e1"]]
    assert second["next_cursor"] is None


async def test_an_agent_is_told_to_ask_for_less_than_nobody_would_read(api: ApiInProcess) -> None:
    await api.ask("POST /v1/jobs", {"id": "job", "name": "job"})
    for number in range(LONGEST_ANSWER // 60_000 + 1):
        await api.ask(*a_long_endpoint(number))
    async with open_client(api) as client:
        refused = await client.call_tool("export_config", {})
        listed = await client.call_tool("list_endpoints", {"limit": 500})
    assert refused.is_error
    assert "ask for less" in str(refused.content)
    assert not listed.is_error


async def test_what_is_too_long_for_a_file_is_not_exported(
    api: ApiInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply, "LONGEST_FILE", 100_000)
    await api.ask("POST /v1/jobs", {"id": "job", "name": "job"})
    await api.ask(*a_long_endpoint(1))
    assert (await api.ask("GET /v1/export")).status == 200
    await api.ask(*a_long_endpoint(2))
    refused = await api.ask("GET /v1/export")
    assert refused.status == 422
    assert "100,000 bytes" in refused.json()["detail"]


async def test_the_first_who_asks_for_the_document_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    built_in: list[int] = []

    def document(*_: object) -> dict[str, Any]:
        built_in.append(threading.get_ident())
        return {}

    monkeypatch.setattr(openapi, "document", document)
    assert (await ApiInProcess().ask("GET /openapi.json")).status == 200
    assert built_in
    assert threading.get_ident() not in built_in
