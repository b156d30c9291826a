"""Killed with a real signal while schedules fire: each fires, each answer comes, and none comes twice."""

import asyncio
import os
import sys
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.faults.agents.database_history import QUIET, create_users, ok, read_history
from tests.faults.agents.fork_server import ForkServer, ServerProcess
from tests.postgres import Cluster, cluster
from tests.surfaces.websocket.socket_client import SocketClient, connect_with_token
from websockets.exceptions import ConnectionClosed

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store

__all__ = ["cluster"]

SOAK = bool(os.environ.get("CADENZA_SOAK"))
KILLS = 100 if SOAK else 2
USERS = ("ada", "bob", "cyd")
BURST = 4
"""So many schedules of each user come due at the same moment."""
DUE_IN_S = 1
TIMEOUT_S = 120.0


class Client:
    """A user's program: it remembers what it has, and acknowledges some of it."""

    def __init__(self, user: str, token: str) -> None:
        self.user = user
        self._token = token
        self._acked = 0
        self.seen: dict[int, dict[str, Any]] = {}

    async def listen(self, address: str, chance: Random, *, until: int | None = None) -> None:
        """Take what comes until the server is gone, or there is a message with this number."""
        with suppress(ConnectionClosed, OSError):
            async with connect_with_token(address, self._token) as client:
                while until is None or len(self.seen) < until:
                    self._take(await client.receive(TIMEOUT_S), chance)
                    if chance.random() < 0.3:
                        await self._acknowledge(client)
                await self._acknowledge(client)

    async def has_everything(self, address: str) -> None:
        """Nothing that it acknowledged comes again."""
        async with connect_with_token(address, self._token, last_seq=max(self.seen)) as client:
            await client.expect_silence()
            assert client.welcome["last_seq"] == max(self.seen) == len(self.seen)

    def _take(self, frame: dict[str, Any], chance: Random) -> None:
        if frame["type"] != "notification":
            assert frame["type"] == "subtitle", frame
            assert self.seen.setdefault(frame["seq"], frame) == frame, "a number stands for one message"

    async def _acknowledge(self, client: SocketClient) -> None:
        if client.inbox:
            await client.ack()


async def burst(up: ServerProcess, key: str, number: int) -> list[str]:
    """Make schedules that come due together; their ids."""
    async with up.caller(key) as caller:
        wishes = [
            {
                "user_id": user,
                "agent_id": "helper",
                "name": f"life {number}, {place}",
                "prompt": "look up",
                "schedule_type": "one-shot",
                "delay_seconds": DUE_IN_S,
            }
            for user in USERS
            for place in range(BURST)
        ]
        made = await asyncio.gather(*(ok(caller, "POST /v1/schedules", wish) for wish in wishes))
    return [one["id"] for one in made]


async def caught_up(clients: list[Client], each: int) -> None:
    """Wait until everybody has everything: what is lost three times in a row is paused, and rightly so."""
    async with asyncio.timeout(TIMEOUT_S):
        while any(len(one.seen) < each for one in clients):  # noqa: ASYNC110 - Many sockets tell.
            await asyncio.sleep(0.01)


async def fire_until_killed(
    up: ServerProcess, key: str, clients: list[Client], *, number: int, chance: Random
) -> list[str]:
    """Make a burst, and kill the process about when it fires."""
    listening = [asyncio.create_task(one.listen(up.address, Random(number))) for one in clients]
    if number % 2 == 0:
        await caught_up(clients, number * BURST)
    ids = await burst(up, key, number)
    around_due = chance.random() < 0.7
    await asyncio.sleep(DUE_IN_S + chance.uniform(-0.1, 0.3) if around_due else chance.uniform(0, 2))
    up.kill()
    await asyncio.gather(*listening)
    return ids


@pytest.fixture(params=["sqlite", "postgres"] if SOAK else ["sqlite"])
async def settings(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Where everything is kept, and leases that run out soon."""
    url = f"sqlite:///{tmp_path / 'cadenza.db'}"
    if request.param == "postgres":
        server: Cluster = request.getfixturevalue("cluster")
        url = server.url
    await migrate(url)
    async with open_store(Settings(database_url=url), ids=TimeOrderedIds(), log=NoLog()) as store:
        await store.tenants.put_tenant(
            Tenant(id="default", name="default", limits=Limits(schedule_fires_per_day=None))
        )
    return QUIET | {
        "CADENZA_LEASE_MS": "1000",
        "CADENZA_RATE_PER_MINUTE": "600000",
        "CADENZA_DATABASE_URL": url,
    }


async def test_killed_while_firing_everything_fires_once_and_reaches_its_user_once(
    settings: dict[str, str], tmp_path: Path
) -> None:
    with closing(ForkServer(tmp_path, **settings)) as fork_server:
        with fork_server.up() as up:
            key = up.key
            async with up.caller() as caller:
                tokens = await create_users(caller, *USERS)
            chance, clients = Random(6), [Client(user, token) for user, token in tokens.items()]
            made = await fire_until_killed(up, key, clients, number=0, chance=chance)
        for number in range(1, KILLS):
            with fork_server.up() as up:
                made += await fire_until_killed(up, key, clients, number=number, chance=chance)
        each = len(made) // len(USERS)
        with fork_server.up() as up:
            await asyncio.gather(*(one.listen(up.address, chance, until=each) for one in clients))
            await asyncio.gather(*(one.has_everything(up.address) for one in clients))
            up.end()
    history, once = await read_history(settings, USERS), dict.fromkeys(made, 1)
    assert (history.verdicts, history.prompts, history.answers, history.deliveries) == (
        once,
        once,
        once,
        once,
    )
    assert [len({frame["id"] for frame in one.seen.values()}) for one in clients] == [each] * len(USERS)
    assert not SOAK or history.lost.total() > KILLS, "the kills came while schedules fired"
    sys.stdout.write(
        f"{KILLS} kills, {len(made)} schedules, {history.lost.total()} runs lost and run again\n"
    )
