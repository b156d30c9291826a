"""MCP over HTTP: who is admitted, and what is checked before a tool is called."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from mcp import MCPError
from tests.surfaces.api_in_process import ApiInProcess
from tests.surfaces.cli.cli_fixtures import CliTarget
from tests.surfaces.mcp.mcp_client import ACCEPTED, MODES, PING, Mode, call, client_at, names, post, serving
from tests.surfaces.server_process import UP, running

from cadenza.domain.access.key import Scope

WITHOUT = "import sys; sys.modules['mcp'] = None; from cadenza.roots.api import launch; sys.exit(launch())"


@pytest.fixture
def api() -> ApiInProcess:
    return ApiInProcess()


async def shown(api: ApiInProcess, scope: Scope = Scope.READ) -> str:
    return f"Bearer {await api.key(scope=scope)}"


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("mode", MODES)
async def test_both_paths_serve_both_protocols(api: ApiInProcess, path: str, mode: Mode) -> None:
    key = await api.key()
    async with serving(api) as address, client_at(address, key, mode=mode, path=path) as client:
        assert client.protocol_version == {"legacy": "2025-11-25", "auto": "2026-07-28"}[mode]
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("cadenza", "1.2.3")
        assert "propose_interval" in (client.instructions or "")


async def test_a_path_is_not_redirected(api: ApiInProcess) -> None:
    async with serving(api) as address:
        answers = [
            await post(address, path=path, authorization=await shown(api)) for path in ("/mcp", "/mcp/")
        ]
    assert [answer.status for answer in answers] == [200, 200]
    assert answers[0].json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


async def test_answers_have_the_headers_of_data(api: ApiInProcess) -> None:
    async with serving(api) as address:
        answer = await post(address, authorization=await shown(api), x_request_id="mine")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-request-id"] == "mine"
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("header", [None, "Bearer cad_wrong_key", "Bearer ", "Basic eDp5"])
async def test_without_a_good_key_nobody_gets_in(api: ApiInProcess, header: str | None) -> None:
    given = {} if header is None else {"authorization": header}
    async with serving(api) as address:
        answer = await post(address, **given)
    assert (answer.status, answer.problem) == (401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer ")


@pytest.mark.parametrize("mode", MODES)
async def test_an_agent_with_a_bad_key_cannot_begin(api: ApiInProcess, mode: Mode) -> None:
    async with serving(api) as address:
        with pytest.raises(ExceptionGroup) as caught:
            async with client_at(address, "cad_wrong_key", mode=mode):
                pass
    assert [type(leaf) for leaf in leaves(caught.value)] == [MCPError]
    assert (await api.ask("GET /v1/jobs")).status == 200, "nothing else is wrong"


def leaves(problem: BaseException) -> Any:
    if isinstance(problem, BaseExceptionGroup):
        for one in problem.exceptions:
            yield from leaves(one)
    else:
        yield problem


async def test_a_key_that_was_taken_back_opens_nothing_more(api: ApiInProcess) -> None:
    key = await api.key(scope=Scope.READ)
    async with serving(api) as address:
        assert (await post(address, authorization=f"Bearer {key}")).status == 200
        assert (await api.ask(f"DELETE /v1/keys/{key.split('_')[1]}")).status == 204
        assert (await post(address, authorization=f"Bearer {key}")).status == 401


async def test_whoever_asks_too_often_waits() -> None:
    api = ApiInProcess(per_minute=6)
    async with serving(api) as address:
        answers = [await post(address, authorization=await shown(api)) for _ in range(20)]
    assert {answer.status for answer in answers} == {200, 429}
    assert int(answers[-1].headers["retry-after"]) >= 1


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "HEAD"])
async def test_one_can_only_post(api: ApiInProcess, method: str) -> None:
    async with (
        serving(api) as address,
        aiohttp.ClientSession(headers={"Authorization": await shown(api)} | ACCEPTED) as session,
        session.request(method, f"{address}/mcp") as answer,
    ):
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:8700", "http://localhost"]
)
async def test_pages_that_nobody_knows_are_refused_whatever_key_they_have(
    api: ApiInProcess, origin: str
) -> None:
    async with serving(api) as address:
        answer = await post(address, authorization=await shown(api), origin=origin)
    assert (answer.status, answer.problem) == (403, "not-allowed")


async def test_a_name_that_was_pointed_here_does_not_help_its_page(api: ApiInProcess) -> None:
    async with serving(api) as address:
        answer = await post(
            address, authorization=await shown(api), origin="http://evil.example", host="evil.example"
        )
    assert answer.status == 403


async def test_pages_that_are_known_may_ask() -> None:
    api = ApiInProcess(cors_origins=["https://agents.example"])
    known = {"origin": "https://agents.example"}
    async with serving(api) as address:
        answer = await post(address, authorization=await shown(api), **known)
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "mcp-method"}
        async with (
            aiohttp.ClientSession() as session,
            session.options(f"{address}/mcp", headers=known | asked) as before,
        ):
            assert before.status == 200
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == "https://agents.example"


async def test_a_body_that_is_too_large_is_refused(api: ApiInProcess) -> None:
    async with serving(api) as address:
        answer = await post(
            address, PING | {"params": {"x": "x" * (1 << 20)}}, authorization=await shown(api)
        )
    assert answer.status == 413


@pytest.mark.parametrize("body", [[], [PING], "words", {"jsonrpc": "2.0"}, {"method": 3}])
async def test_what_is_no_request_is_refused(api: ApiInProcess, body: Any) -> None:
    async with serving(api) as address:
        answer = await post(address, body, authorization=await shown(api))
    assert answer.status == 400


async def test_agents_with_different_keys_do_not_get_into_each_others_way(api: ApiInProcess) -> None:
    await api.create_endpoint("north")
    keys = [await api.key("north", Scope.STEER), await api.key("south", Scope.READ)]

    async def looked(address: str, key: str) -> list[tuple[bool, int]]:
        async with client_at(address, key) as client:
            return [
                ("run_now" in await names(client), len((await call(client, "list_endpoints"))["items"]))
                for _ in range(5)
            ]

    async with serving(api) as address:
        north, south = await asyncio.gather(*(looked(address, key) for key in keys))
    assert (set(north), set(south)) == ({(True, 1)}, {(False, 0)})


async def test_requests_are_counted(api: ApiInProcess) -> None:
    async with serving(api) as address:
        await post(address, authorization=await shown(api))
    figures = (await api.send("GET /metrics")).body.decode()
    assert 'cadenza_requests_total{operation="mcp",status="200"} 1.0' in figures


async def test_up_serves_agents_and_ends_when_asked(tmp_path: Path) -> None:
    with running(tmp_path, UP) as program:
        async with client_at(program.address, program.key) as client:
            assert (await call(client, "create_job", {"id": "job", "name": "job"}))["id"] == "job"
        async with program.caller() as caller:
            assert (await caller.ask("GET /v1/jobs/job")).status == 200
        assert program.end() == 0


def test_the_library_is_not_loaded_before_somebody_asks() -> None:
    program = "import sys, cadenza.roots.up; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


async def test_without_the_extra_one_sentence_says_so(tmp_path: Path) -> None:
    cli = CliTarget(tmp_path)
    await asyncio.to_thread(cli.said, "migrate")
    key = await asyncio.to_thread(cli.said, "keys", "create", "--name", "agent")
    with running(tmp_path, [sys.executable, "-c", WITHOUT]) as program:
        answer = await post(program.address, authorization=f"Bearer {key['key']}")
        assert (answer.status, answer.problem) == (503, "unavailable")
        assert answer.json()["detail"] == "MCP takes the extra mcp, which is not installed."
        assert program.end() == 0
