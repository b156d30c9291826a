"""Agents and their schedules from the first look to the last message, over real sockets and processes."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from llmock.pytest_plugin import LLMock
from tests.faults.agents.database_history import QUIET, create_users, ok, wait_until_fired
from tests.faults.agents.test_channel_kills import change, plan
from tests.faults.agents.test_own_agent_kills import EXAMPLES
from tests.integration.http.loopback_server import Server, a_server, answer, says, until
from tests.surfaces.server_process import UP, Caller, Program, running
from tests.surfaces.websocket.socket_client import SocketClient, connect_with_token

MODEL = "openai-chat:gpt-4o"
A_WHILE_S = 60.0
HOUR_S, TEN_MINUTES_S = 3_600, 600
WHY = "The parcel is at the border."
ASKED = {"intervalMs": TEN_MINUTES_S * 1_000, "ttlMinutes": 60, "reason": WHY}
QUOTED = '\\"place\\": \\"border\\"'
SETTINGS = QUIET | {
    "CADENZA_ALLOW_TARGETS": "127.0.0.1",
    "CADENZA_CHANNEL_DELAY_MS": "100",
    "CADENZA_LLM_MODELS": MODEL,
}
AGENT_THAT_HANGS = """
import pull_agent, sys, time
def think(turn, call):
    print(turn["words"], flush=True)
    time.sleep(3600)
pull_agent.think = think
pull_agent.main(*sys.argv[1:])
"""
PULL_AGENT = str(EXAMPLES / "pull_agent.py")


class Site(NamedTuple):
    """A running `cadenza up`, with a user and agents of each kind."""

    up: Program
    tenant: Caller
    ada: Caller
    """Asks with the user's own token."""
    token: str


async def create_site(up: Program, tenant: Caller, ada: aiohttp.ClientSession, service: Server) -> Site:
    """Create ada, and the agents that she is reminded by."""
    await ok(tenant, "PUT /v1/tenants/default/limits", {"schedule_min_interval_ms": 1_000})
    token = (await create_users(tenant, "ada"))["ada"]
    ada.headers["Authorization"] = f"Bearer {token}"
    target = {"url": service.url()}
    await ok(tenant, "PUT /v1/agents/watcher", {"name": "Watcher", "model": MODEL})
    await ok(tenant, "PUT /v1/agents/puller", {"name": "Puller", "runtime": "pull"})
    await ok(tenant, "PUT /v1/agents/service", {"name": "Service", "runtime": "http", "target": target})
    return Site(up, tenant, Caller(ada), token)


def page(place: str) -> bytes:
    """What the probe looks at."""
    return answer(json.dumps({"place": place}), Content_Type="application/json")


async def schedule(site: Site, agent: str, prompt: str, **times: Any) -> str:
    """A schedule of ada, in a second unless another time is given; its id."""
    wanted = {"user_id": "ada", "agent_id": agent, "name": prompt, "prompt": prompt}
    once = {"schedule_type": "one-shot", "delay_seconds": 1}
    return str((await ok(site.tenant, "POST /v1/schedules", wanted | (times or once)))["id"])


async def received(socket: SocketClient, count: int) -> list[str]:
    """Wait until so many messages came over a socket, acknowledge them; their texts."""
    while len(socket.inbox) < count:
        await socket.receive(A_WHILE_S)
    await socket.ack()
    return socket.texts


async def seconds_ahead(site: Site, schedule_id: str) -> tuple[float, Any]:
    """How far ahead a schedule fires next, and the explanation."""
    why = await ok(site.ada, f"GET /v1/schedules/{schedule_id}/plan")
    now, then = (datetime.fromisoformat(why[name]) for name in ("now", "next_run_at"))
    return (then - now).total_seconds(), why


async def find_nothing_new(site: Site, shop: Server) -> str:
    """Step 1: looks that find nothing new are verdicts; the id of the schedule."""
    probe = {"target": {"kind": "http", "url": shop.url()}, "changed": ["$.place"]}
    often = {"interval_seconds": 1, "min_interval_seconds": 1, "max_interval_seconds": HOUR_S}
    words = "Where is the parcel?"
    watch = await schedule(site, "watcher", words, schedule_type="recurring", probe=probe, **often)
    await until(lambda: len(shop.requests) > 2)
    runs = (await ok(site.ada, f"GET /v1/schedules/{watch}/runs"))["items"]
    ended = {(run["status"], run["reason"]) for run in runs if run["status"] is not None}
    assert ended == {("skipped", "nothing new")}
    return watch


async def wake_the_model(site: Site, watch: str, socket: SocketClient) -> None:
    """Steps 2 and 3: the model's answer to a change reaches the user, and its interval counts."""
    assert await received(socket, 1) == ["It is at the border."]
    await wait_until_fired(site.tenant, watch)
    ahead, why = await seconds_ahead(site, watch)
    assert TEN_MINUTES_S - A_WHILE_S < ahead <= TEN_MINUTES_S
    assert (why["source"], why["by"], why["reason"]) == ("ai-interval", "agent: watcher", WHY)
    assert WHY in why["answer"]


async def snooze(site: Site, watch: str) -> None:
    """Step 4: the user puts off what the agent asked for."""
    await ok(site.ada, f"POST /v1/schedules/{watch}/snooze", {"for_seconds": HOUR_S})
    ahead, why = await seconds_ahead(site, watch)
    assert HOUR_S - A_WHILE_S < ahead <= HOUR_S
    assert why["by"] != "agent: watcher"


async def answer_by_callback(site: Site, service: Server, socket: SocketClient) -> None:
    """Step 5: a service accepts a turn with 202, and answers it later, twice: the first answer counts."""
    fired = await schedule(site, "service", "water the plants")
    await until(lambda: bool(service.requests))
    sent = json.loads(service.last.body)
    assert sent["turn"]["origin"]["schedule_id"] == fired
    headers = {"Authorization": f"Bearer {sent['callback']['token']}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        for text, status in (("The plants are thirsty.", 200), ("Again.", 409)):
            body = {"messages": [text]}
            async with session.post(f"{sent['callback']['url']}/answer", json=body) as response:
                assert response.status == status, await response.text()
    assert (await received(socket, 2))[1:] == ["The plants are thirsty."]


@contextmanager
def pull_agent(site: Site, *program: str) -> Iterator[subprocess.Popen[str]]:
    """A process that takes turns, killed with SIGKILL at the end of the block."""
    environment = os.environ | {"CADENZA_KEY": site.up.key, "PYTHONPATH": str(EXAMPLES)}
    command = [sys.executable, *program, site.up.address, "puller"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


async def kill_the_agent_in_mid_turn(site: Site, socket: SocketClient) -> None:
    """Step 6: a process dies with a turn, and another one takes it, before what came due meanwhile."""
    with pull_agent(site, "-c", AGENT_THAT_HANGS) as process:
        assert process.stdout is not None
        await schedule(site, "puller", "feed the cat")
        async with asyncio.timeout(A_WHILE_S):
            assert await asyncio.to_thread(process.stdout.readline) == "feed the cat\n"
        await schedule(site, "puller", "let the cat in")
    with pull_agent(site, PULL_AGENT):
        texts = (await received(socket, 4))[2:]
    assert texts == [f"You asked for this: {words}" for words in ("feed the cat", "let the cat in")]


async def reach_the_user_by_channel(site: Site, hook: Server) -> None:
    """Step 7: without a socket a message goes to the webhook, which refuses it first.

    The half minute that a user is left to a socket that has just been there is cut short in the database.
    """
    channels = [{"id": "hook", "type": "webhook", "url": hook.url()}]
    await ok(site.ada, "PUT /v1/users/ada/channels", {"channels": channels})
    fired = await schedule(site, "helper", "pizza")
    await wait_until_fired(site.tenant, fired)
    assert change(site.up.folder, "UPDATE user_channels SET due_at = 1") == 1
    await until(lambda: len(hook.requests) > 1)
    shown = "GET /v1/users/ada/channels"
    async with asyncio.timeout(A_WHILE_S):
        while (await ok(site.ada, shown))["channels"][0]["problem"]:  # noqa: ASYNC110 - Another process.
            await asyncio.sleep(0.05)
    bodies = [json.loads(one.body)["data"] for one in hook.requests]
    assert [(body["text"], body["seq"]) for body in bodies] == [("Reminder: pizza", 5)] * 2
    assert len({one.headers["idempotency-key"] for one in hook.requests}) == 1


async def come_back(site: Site) -> None:
    """Step 8: what the channel accepted is on no socket, and everything else is there once."""
    async with connect_with_token(site.up.address, site.token) as socket:
        await plan(site.tenant, "bread")
        assert await received(socket, 1) == ["Reminder: bread"]
        assert socket.notification is None
    async with connect_with_token(site.up.address, site.token, last_seq=0) as other_device:
        await received(other_device, 5)
    assert [frame["seq"] for frame in other_device.inbox] == [1, 2, 3, 4, 6]
    assert other_device.welcome["last_seq"] == 6


async def test_agents_look_pace_themselves_and_reach_their_user_whatever_dies(
    tmp_path: Path, llmock: LLMock
) -> None:
    """The whole story, with one process of Cadenza on an SQLite file and a model that follows a script.

    A channel that is down for an hour is shown on a jumping clock: `tests/agents/test_channel_delivery.py`.
    """
    llmock.call_tool("set_interval", ASKED).reply("It is at the border.")
    items, statuses = ["depot"], iter([503, 204])
    async with (
        a_server(lambda _, out: out.write(page(items[0]))) as shop,
        a_server(says(status=202)) as service,
        a_server(lambda _, out: out.write(answer(status=next(statuses, 503)))) as hook,
    ):
        with running(tmp_path, UP, **SETTINGS) as up:
            async with up.caller() as tenant, aiohttp.ClientSession(up.address) as session:
                site = await create_site(up, tenant, session, service)
                async with connect_with_token(up.address, site.token) as socket:
                    watch = await find_nothing_new(site, shop)
                    assert llmock.requests == []
                    items[0] = "border"
                    await wake_the_model(site, watch, socket)
                    await snooze(site, watch)
                    await answer_by_callback(site, service, socket)
                    await kill_the_agent_in_mid_turn(site, socket)
                await reach_the_user_by_channel(site, hook)
                await come_back(site)
    assert len(llmock.requests) == 2
    assert QUOTED in json.dumps(llmock.requests[0].body)
