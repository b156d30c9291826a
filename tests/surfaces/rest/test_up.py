"""`cadenza up` over a real socket: the first key, the life of an endpoint, and a clean end."""

import asyncio
import os
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import web
from tests.surfaces.server_process import API, UP, Caller, Program, running


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Either kind of database, and a worker that may reach this machine."""
    known = {"CADENZA_ALLOW_TARGETS": "127.0.0.1", "CADENZA_JITTER_MS": "0"}
    if request.param == "sqlite":
        return known
    return known | {"CADENZA_DATABASE_URL": request.getfixturevalue("database_url")}


@asynccontextmanager
async def a_target(answers_after_s: float = 0) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """Something to be called, and whether it was."""
    called = asyncio.Event()

    async def answer(_: web.Request) -> web.Response:
        called.set()
        await asyncio.sleep(answers_after_s)
        return web.json_response({"visitors": 7})

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/", called
    await runner.cleanup()


async def made(caller: Caller, url: str) -> None:
    """A job with an endpoint that calls a URL once an hour."""
    assert (await caller.ask("POST /v1/jobs", {"id": "job", "name": "job"})).status == 201
    endpoint = {
        "id": "traffic",
        "name": "traffic",
        "target": {"kind": "http", "url": url},
        "baseline": {"kind": "every", "interval_ms": 3_600_000},
    }
    answer = await caller.ask("POST /v1/jobs/job/endpoints", endpoint)
    assert answer.status == 201, answer.body


async def test_the_first_start_shows_a_key_and_later_ones_do_not(
    settings: dict[str, str], tmp_path: Path
) -> None:
    with running(tmp_path, UP, **settings) as first:
        key = first.key
        assert first.said.count(key) == 2
        assert f'curl -H "Authorization: Bearer {key}" {first.address}/v1/endpoints' in first.said
        async with first.caller() as caller:
            assert (await caller.ask("GET /v1/keys")).status == 200
        assert first.end() == 0
        assert not any(key in line for line in first.lines)
    with running(tmp_path, UP, **settings) as second:
        assert "This is your first key" not in second.said
        assert f"{second.address}/login#" in second.said
        async with second.caller(key) as caller:
            assert (await caller.ask("GET /v1/keys")).status == 200


async def test_the_life_of_an_endpoint(settings: dict[str, str], tmp_path: Path) -> None:
    async with a_target() as (url, called):
        with running(tmp_path, UP, **settings) as program:
            async with program.caller() as caller:
                await live(caller, url, called)
            assert program.end() == 0


async def live(caller: Caller, url: str, called: asyncio.Event) -> None:
    await made(caller, url)
    tighter = {"intervalMs": 60_000, "reason": "a surge"}
    tightened = await caller.ask("POST /v1/endpoints/traffic/tools/propose_interval", tighter)
    assert tightened.json()["source"] == "ai-interval"
    assert "a surge" in (await caller.ask("GET /v1/endpoints/traffic/plan")).json()["answer"]
    assert (await caller.ask("POST /v1/endpoints/traffic/run-now")).status == 200
    await asyncio.wait_for(called.wait(), 10)
    run = await eventually_run(caller)
    assert run["status"] == "success"
    assert run["response"]["body"] == {"visitors": 7}
    assert (await caller.ask(f"GET /v1/runs/{run['id']}")).json() == run | {"traceback": None}
    usage = (await caller.ask("GET /v1/usage")).json()
    assert (usage["runs"], usage["endpoints"]) == (1, 1)
    assert (await caller.ask("DELETE /v1/jobs/job")).status == 204
    assert (await caller.ask("GET /v1/endpoints/traffic")).status == 404


async def eventually_run(caller: Caller) -> Any:
    for _ in range(100):
        runs = (await caller.ask("GET /v1/endpoints/traffic/runs")).json()["items"]
        if runs:
            return runs[0]
        await asyncio.sleep(0.05)
    raise AssertionError("it was called, and no run was recorded")


async def test_a_request_is_answered_before_the_end(tmp_path: Path) -> None:
    async with a_target(answers_after_s=1) as (url, called):
        with running(tmp_path, UP, CADENZA_ALLOW_TARGETS="127.0.0.1") as program:
            async with program.caller() as caller:
                await made(caller, url)
                asking = asyncio.create_task(caller.ask("POST /v1/endpoints/traffic/test"))
                await asyncio.wait_for(called.wait(), 10)
                program.ask_to_end()
                answer = await asking
                assert (answer.status, answer.json()["status"]) == (200, "success")
            assert program.ended() == 0
            assert "cadenza has stopped" in program.lines[-1]


async def test_a_trial_that_outlasts_the_grace_is_refused_without_a_traceback(tmp_path: Path) -> None:
    settings = {"CADENZA_ALLOW_TARGETS": "127.0.0.1", "CADENZA_GRACE_MS": "1000"}
    async with a_target(answers_after_s=60) as (url, called):
        with running(tmp_path, UP, **settings) as program:
            async with program.caller() as caller:
                await made(caller, url)
                asking = asyncio.create_task(caller.ask("POST /v1/endpoints/traffic/test"))
                await asyncio.wait_for(called.wait(), 10)
                program.ask_to_end()
                answer = await asking
                assert (answer.status, answer.problem) == (503, "unavailable")
            assert program.ended() == 0
            assert [line for line in program.lines if "Traceback" in line or "Exception" in line] == []


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def odd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """A program with a job for odd endpoints; nothing that is sent to it may be a bug."""
    folder = tmp_path_factory.mktemp("odd")
    databases = request.getfixturevalue("newest_databases") if request.param == "postgres" else None
    url = databases.new() if databases else "sqlite:///odd.db"
    with running(folder, UP, CADENZA_DATABASE_URL=url) as program:
        asyncio.run(create_endpoint(program))
        yield program
        assert program.end() == 0
        assert [line for line in program.lines if "unexpectedly" in line] == []
    if databases:
        databases.drop(url)


async def create_endpoint(program: Program) -> None:
    async with program.caller() as caller:
        assert (await caller.ask("POST /v1/jobs", {"id": "odd", "name": "odd"})).status == 201


@pytest.mark.parametrize(
    "text", ["\x00", "\ud800", "\U0001f600\u202e", "\x85\u2028"], ids=["nul", "half", "bidi", "lines"]
)
async def test_odd_text_is_kept_or_refused(text: str, odd: Program) -> None:
    target = {"kind": "http", "url": "https://example.com", "body": {"deep": [text, {f"a{text}": text}]}}
    endpoint = {"name": "x", "target": target, "baseline": {"kind": "every", "interval_ms": 60_000}}
    async with odd.caller() as caller:
        job = await caller.ask("POST /v1/jobs", {"name": f"a{text}", "description": f"b{text}"})
        kept = await caller.ask("POST /v1/jobs/odd/endpoints", endpoint)
        assert {job.status, kept.status} <= {201, 400, 422}
        if kept.status == 201:
            found = await caller.ask(f"GET /v1/endpoints/{kept.json()['id']}")
            assert found.json()["target"]["body"] == target["body"]


@pytest.mark.parametrize(
    "body",
    ["1e400", "-0.0", "1" * 400, "[" * 300 + "]" * 300, '{"a": 1, "a": 2}', "18446744073709551616"],
    ids=["endless", "minus-zero", "long", "deep", "twice", "2**64"],
)
async def test_odd_json_is_kept_or_refused(body: str, odd: Program) -> None:
    whole = (
        '{"name": "x", "baseline": {"kind": "every", "interval_ms": 60000}, "target": '
        f'{{"kind": "http", "url": "https://example.com", "body": {body}}}}}'
    )
    async with odd.caller() as caller:
        assert (await caller.ask("POST /v1/jobs/odd/endpoints", whole)).status in (201, 400, 413, 422)
        listed = await caller.ask("GET /v1/endpoints")
        assert listed.status == 200
        listed.json()


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"])
async def test_moments_at_the_edge_of_the_calendar_are_kept_or_refused(moment: str, odd: Program) -> None:
    once = {"name": "x", "target": {"kind": "callable"}, "baseline": {"kind": "once", "at": moment}}
    edge = quote(moment)
    async with odd.caller() as caller:
        asked = [
            await caller.ask("POST /v1/keys", {"name": "x", "expires_at": moment}),
            await caller.ask("POST /v1/jobs/odd/endpoints", once),
            await caller.ask(f"GET /v1/runs?since={edge}&until={edge}"),
            await caller.ask("POST /v1/endpoints/pause", {"job_id": "odd", "untilIso": moment}),
        ]
    assert {answer.status for answer in asked} <= {200, 201, 422}


def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            UP,
            cwd=tmp_path,
            env=os.environ | {"CADENZA_PORT": port},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 6
    assert len(done.stderr.splitlines()) == 1
    assert f"Port {port}" in done.stderr
    assert "CADENZA_PORT" in done.stderr
    assert not (tmp_path / "cadenza.db").exists()


async def test_the_api_alone_serves_what_a_worker_elsewhere_runs(database_url: str, tmp_path: Path) -> None:
    settings = {"CADENZA_DATABASE_URL": database_url, "CADENZA_ALLOW_TARGETS": "127.0.0.1"}
    async with a_target() as (url, called):
        with running(tmp_path, UP, **settings) as up, running(tmp_path, API, **settings) as api:
            assert api.said == ""
            async with api.caller(up.key) as caller:
                await live(caller, url, called)
                assert (await caller.ask("GET /readyz")).status == 200
            assert api.end() == 0


async def test_processes_share_rates_and_idempotency_keys(database_url: str, tmp_path: Path) -> None:
    settings = {"CADENZA_DATABASE_URL": database_url, "CADENZA_RATE_PER_MINUTE": "600"}
    with running(tmp_path, UP, **settings) as up, running(tmp_path, API, **settings) as api:
        async with up.caller() as one, api.caller(up.key) as other:
            both = [one, other]
            sent = [
                caller.ask("POST /v1/jobs", {"name": "one"}, idempotency_key="once") for caller in both * 10
            ]
            answers = await asyncio.gather(*sent)
            assert {answer.status for answer in answers} <= {201, 409}
            assert len({answer.body for answer in answers if answer.status == 201}) == 1
            assert len((await other.ask("GET /v1/jobs")).json()["items"]) == 1
            asked = await asyncio.gather(*(caller.ask("GET /v1/jobs") for caller in both * 150))
            statuses = [answer.status for answer in asked]
            # A minute's 600 are 100 in each ten seconds; these may reach into a second such window.
            assert statuses.count(200) <= 200
            assert statuses.count(429) >= 100
            waits = {int(answer.headers["retry-after"]) for answer in asked if answer.status == 429}
            assert min(waits) >= 1
            assert max(waits) <= 10


async def test_a_persons_hint_survives_the_rules_of_the_demo(tmp_path: Path) -> None:
    monitor = "/v1/endpoints/traffic_monitor"
    with running(tmp_path, [*UP, "--demo", "--speed", "300"], CADENZA_DEMO_PORT="0") as program:
        async with program.caller() as caller:
            page = (await caller.ask("GET /v1/endpoints")).json()
            assert {one["job_id"] for one in page["items"]}
            wanted = {"intervalMs": 25_000, "ttlMinutes": 300}
            assert (await caller.ask(f"POST {monitor}/tools/propose_interval", wanted)).status == 200
            refused = await eventually_not_applied(caller, monitor)
            assert refused["origin"].startswith("rule:")
            endpoint = (await caller.ask(f"GET {monitor}")).json()
            assert endpoint["interval_hint"]["interval_ms"] == 25_000
            assert "not applied, because" in (await caller.ask(f"GET {monitor}/plan")).json()["answer"]
        assert program.end() == 0


async def eventually_not_applied(caller: Caller, endpoint: str) -> Any:
    for _ in range(300):
        for one in (await caller.ask(f"GET {endpoint}/hints")).json()["items"]:
            if one["not_applied"]:
                return one
        await asyncio.sleep(0.1)
    raise AssertionError("no rule was outranked")
