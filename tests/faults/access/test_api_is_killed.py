"""A server killed with a real signal: what is sent again under its key is carried out once."""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import aiohttp
import pytest
from tests.faults.agents.database_history import EVERYTHING, QUIET, create_users, ok
from tests.faults.agents.fork_server import ForkServer, ServerProcess
from tests.postgres import Cluster, cluster
from tests.surfaces.server_process import Caller
from tests.surfaces.websocket.socket_client import connect_with_token
from websockets.exceptions import WebSocketException

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.agents.conversation import ConversationKey, Role
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.ports.store import Store
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store

__all__ = ["cluster"]

SOAK = bool(os.environ.get("CADENZA_SOAK"))
KILLS = 60 if SOAK else 2
TIMEOUT_S = 60.0
USERS = ("ada", "bob")
AN_ENDPOINT = {
    "target": {"kind": "http", "url": "http://127.0.0.1:9/"},
    "baseline": {"kind": "every", "interval_ms": 864_000_000},
}
"""Its target is refused at once, which is a run like any other."""
GONE = (aiohttp.ClientError, WebSocketException, OSError)


class Request(NamedTuple):
    """A write under a key."""

    kind: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.kind} {self.number}"

    @property
    def user(self) -> str:
        return USERS[self.number % len(USERS)]

    @property
    def rest(self) -> tuple[str, Any]:
        """The request and its body."""
        if self.kind == "job":
            return "POST /v1/jobs", {"name": self.name}
        if self.kind == "endpoint":
            return "POST /v1/jobs/base/endpoints", AN_ENDPOINT | {"name": self.name}
        if self.kind == "run-now":
            return f"POST /v1/endpoints/ready-{self.number}/run-now", {}
        return "POST /v1/agents/helper/messages", {"user_id": self.user, "text": self.name}


class Client:
    """Sends writes until the server is gone, and sends again what was not answered."""

    def __init__(self, key: str, tokens: dict[str, str]) -> None:
        self._key = key
        self._tokens = tokens
        self._numbers = count()
        self.answers: dict[Request, object] = {}
        self.unanswered: list[Request] = []
        self.repeated = 0

    async def send_until_killed(self, up: ServerProcess, *, seconds: float) -> None:
        """Send one write of each kind after the other, and kill the server meanwhile."""
        async with up.caller(self._key) as caller:
            kinds = ("job", "endpoint", "run-now", "message", "socket")
            sending = [asyncio.create_task(self._keep_sending(up, caller, kind)) for kind in kinds]
            await asyncio.sleep(seconds)
            up.kill()
            await asyncio.gather(*sending)

    async def repeat(self, up: ServerProcess) -> None:
        """Send again what was not answered, twice; and some of what was."""
        lost, self.unanswered = self.unanswered, []
        self.repeated += len(lost)
        async with up.caller(self._key) as caller:
            for again in (lost, [*lost, *list(self.answers)[-10:]]):
                answers = await asyncio.gather(*(self._send(up, caller, one) for one in again))
                for request, answer in zip(again, answers, strict=True):
                    assert self.answers.setdefault(request, answer) == answer, request

    async def _keep_sending(self, up: ServerProcess, caller: Caller, kind: str) -> None:
        while True:
            request = Request(kind, next(self._numbers))
            with suppress(*GONE):
                if kind == "run-now":
                    endpoint = AN_ENDPOINT | {"id": f"ready-{request.number}", "name": "ready"}
                    await ok(caller, "POST /v1/jobs/base/endpoints", endpoint)
                self.unanswered.append(request)
                self.answers[request] = await self._send(up, caller, request)
                self.unanswered.remove(request)
                continue
            return

    async def _send(self, up: ServerProcess, caller: Caller, request: Request) -> object:
        send: Callable[..., Awaitable[object]] = self._say if request.kind == "socket" else self._ask
        async with asyncio.timeout(TIMEOUT_S):
            return await send(up, caller, request)

    async def _ask(self, _: ServerProcess, caller: Caller, request: Request) -> object:
        answer = await caller.ask(*request.rest, idempotency_key=f"key-{request.number}")
        assert answer.status < 300, (request, answer)
        return answer.body

    async def _say(self, up: ServerProcess, _: Caller, request: Request) -> object:
        """The number of the answer to a message."""
        async with connect_with_token(up.address, self._tokens[request.user]) as client:
            await client.say(request.name, idempotency_key=f"key-{request.number}")
            while (frame := await client.receive())["type"] != "answered":
                assert frame["type"] != "error", frame
            return frame["seq"]


async def effects(store: Store, requests: Collection[Request]) -> Counter[str]:
    """How often each write has been carried out."""
    found = Counter(job.name for job in await store.catalog.jobs("default", EVERYTHING))
    found += Counter(one.name for one in await store.catalog.find("default", page=EVERYTHING))
    for user in USERS:
        key = ConversationKey("default", user, "helper")
        said = await store.conversations.messages(key, EVERYTHING)
        found += Counter(one.text for one in said if one.role is Role.USER)
    for request in requests:
        if request.kind == "run-now":
            runs = await store.runs.runs(EndpointKey("default", f"ready-{request.number}"), EVERYTHING)
            found[request.name] = len({run.slot for run in runs})
    return Counter({request.name: found[request.name] for request in requests})


@pytest.fixture(params=["sqlite", "postgres"])
async def settings(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    url = f"sqlite:///{tmp_path / 'cadenza.db'}"
    if request.param == "postgres":
        server: Cluster = request.getfixturevalue("cluster")
        url = server.url
    await migrate(url)
    return QUIET | {
        "CADENZA_LEASE_MS": "1000",
        "TURN_LEASE_MS": "500",
        "CADENZA_RATE_PER_MINUTE": "600000",
        "CADENZA_DATABASE_URL": url,
    }


async def test_what_is_sent_again_after_a_kill_is_carried_out_once_and_answered_the_same(
    settings: dict[str, str], tmp_path: Path
) -> None:
    chance = Random(4)
    with closing(ForkServer(tmp_path, **settings)) as fork_server:
        with fork_server.up() as up:
            key = up.key
            async with up.caller() as caller:
                tokens = await create_users(caller, *USERS)
                await ok(caller, "POST /v1/jobs", {"id": "base", "name": "base"})
            up.end()
        client = Client(key, tokens)
        for _ in range(KILLS):
            with fork_server.up() as up:
                await client.repeat(up)
                await client.send_until_killed(up, seconds=chance.uniform(0.05, 0.6))
        opening = open_store(
            Settings(database_url=settings["CADENZA_DATABASE_URL"]), ids=TimeOrderedIds(), log=NoLog()
        )
        with fork_server.up() as up:
            await client.repeat(up)
            async with opening as store, asyncio.timeout(TIMEOUT_S):
                once = Counter(request.name for request in client.answers)
                while min((found := await effects(store, client.answers)).values()) < 1:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
                assert found == once
            up.end()
    assert client.repeated >= KILLS, "the kills came while requests were being carried out"
    sys.stdout.write(f"{KILLS} kills, {len(once)} writes, {client.repeated} of them sent again\n")
