"""Tools of MCP servers as probes: real exchanges on loopback, and the server of this project."""

import asyncio
import json
from typing import Any

import pytest
from tests.integration.http.loopback_server import (
    FakeSecrets,
    Reply,
    Request,
    Server,
    a_claim,
    a_dispatcher,
    a_server,
    answer,
)
from tests.surfaces.api_in_process import ApiInProcess
from tests.surfaces.mcp.mcp_client import serving

from cadenza.adapters.dispatch.mcp_tool import McpDispatcher
from cadenza.domain.job_failure import ErrorClass
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.target import HttpTarget, McpTarget

JSON: dict[str, Any] = {"Content_Type": "application/json"}


def a_text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def a_call(target: McpTarget) -> Claim:
    """A claim as a probe hands it on."""
    claim = a_claim(HttpTarget(target.url), timeout_ms=60_000)
    return claim._replace(endpoint=evolve(claim.endpoint, target=target))


def a_tool_server(result: Any, *, stream: bool = False, session: str | None = "s-1") -> Reply:
    """A server whose tool returns this; it speaks JSON, or streams events."""

    def reply(request: Request, writer: asyncio.StreamWriter) -> None:
        said = json.loads(request.body) if request.body else {}
        if "id" not in said:
            writer.write(answer(status=202 if said else 200))
            return
        found = {"protocolVersion": "2025-03-26"} if said["method"] == "initialize" else result
        message = {
            "jsonrpc": "2.0",
            "id": said["id"],
            **({"result": found} if "error" not in found else found),
        }
        headers: dict[str, Any] = (
            {} if session is None or said["method"] != "initialize" else {"Mcp_Session_Id": session}
        )
        if stream:
            notice = {"jsonrpc": "2.0", "method": "notifications/progress"}
            events = "".join(
                f"event: message\r\ndata: {json.dumps(one)}\r\n\r\n" for one in (notice, message)
            )
            writer.write(answer(events, Content_Type="text/event-stream", **headers))
        else:
            writer.write(answer(json.dumps(message), **JSON, **headers))

    return reply


async def call(reply: Reply, **fields: Any) -> tuple[Outcome, Server]:
    async with a_server(reply) as server, a_dispatcher(FakeSecrets(KEY="hush")) as http:
        target = McpTarget(server.url("/mcp"), "search", **fields)
        return await McpDispatcher(http).execute(a_call(target)), server


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"structuredContent": {"n": 1}, "content": [{"type": "text", "text": "one"}]}, {"n": 1}),
        ({"content": [{"type": "text", "text": '{"n": [1, null]}'}]}, {"n": [1, None]}),
        (
            {"content": [{"type": "text", "text": "two"}, {"type": "image"}, {"type": "text", "text": "x"}]},
            "two\nx",
        ),
        ({"content": []}, ""),
    ],
)
async def test_what_a_tool_returns_is_the_response(result: Any, expected: Any, *, stream: bool) -> None:
    outcome, _ = await call(a_tool_server(result, stream=stream))
    assert (outcome.status, outcome.response) == (RunStatus.SUCCESS, expected)


async def test_the_session_is_opened_used_and_ended_with_a_key_for_each_message() -> None:
    outcome, server = await call(
        a_tool_server({"content": []}),
        arguments={"query": "${secret:KEY}", "most": 3},
        headers={"Authorization": "Bearer ${secret:KEY}"},
    )
    assert outcome.status is RunStatus.SUCCESS
    methods = [json.loads(one.body)["method"] if one.body else one.method for one in server.requests]
    assert methods == ["initialize", "notifications/initialized", "tools/call", "DELETE"]
    asked = json.loads(server.requests[2].body)["params"]
    assert asked == {"name": "search", "arguments": {"query": "hush", "most": 3}}
    assert all(one.headers["authorization"] == "Bearer hush" for one in server.requests)
    assert [one.headers.get("mcp-session-id") for one in server.requests] == [None, "s-1", "s-1", "s-1"]
    assert [one.headers.get("mcp-protocol-version") for one in server.requests][1:] == ["2025-03-26"] * 3
    assert len({one.headers["idempotency-key"] for one in server.requests}) == 4


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (
            {"isError": True, "content": [{"type": "text", "text": "no such shop"}]},
            "the tool failed: no such shop",
        ),
        ({"error": {"code": -1, "message": "unknown tool"}}, "the server refused tools/call: unknown tool"),
    ],
)
async def test_a_tool_that_fails_is_a_failure(result: Any, error: str) -> None:
    outcome, server = await call(a_tool_server(result))
    assert (outcome.status, outcome.error) == (RunStatus.FAILURE, error)
    assert outcome.error_class is ErrorClass.REQ
    assert server.last.method == "DELETE"


@pytest.mark.parametrize("said", ["", "[]", "not JSON", '{"id": 7, "result": {}}'])
async def test_a_server_that_does_not_answer_is_a_failure(said: str) -> None:
    outcome, _ = await call(lambda _, writer: writer.write(answer(said, **JSON)))
    assert (outcome.status, outcome.error) == (RunStatus.FAILURE, "the server did not answer initialize")


async def test_a_private_address_is_refused_as_it_is_for_http_targets() -> None:
    async with a_server() as server, a_dispatcher(allow=()) as http:
        target = McpTarget(server.url("/mcp"), "search")
        outcome = await McpDispatcher(http).execute(a_call(target))
    assert outcome.status is RunStatus.FAILURE
    assert server.connections == 0


async def test_the_official_server_is_understood() -> None:
    api = ApiInProcess()
    headers = {"Authorization": f"Bearer {await api.key()}"}
    async with serving(api) as address, a_dispatcher() as http:
        target = McpTarget(f"{address}/mcp", "list_jobs", {}, headers)
        outcome = await McpDispatcher(http).execute(a_call(target))
    assert (outcome.status, outcome.error) == (RunStatus.SUCCESS, None)
    assert outcome.response == {"items": [], "next_cursor": None}
