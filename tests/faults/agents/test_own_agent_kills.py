"""Agents outside of Cadenza, while worker, API and agent are killed: each firing is answered once."""

import asyncio
import os
import socket
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import pytest
from tests.faults.agents.database_history import EVERYTHING, QUIET, ok
from tests.faults.agents.fork_server import ForkedProcess, ForkServer
from tests.postgres import Cluster, cluster
from tests.surfaces.server_process import Caller

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.access.key import ApiKey, Scope
from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.agents.conversation import ConversationKey, Role
from cadenza.domain.agents.users import UserKey
from cadenza.operations.access.key_tokens import _digest
from cadenza.ports.access import StoredKey
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store
from cadenza.testing.clock import NEW_YEAR

__all__ = ["cluster"]

SOAK = bool(os.environ.get("CADENZA_SOAK"))
KILLS = 200 if SOAK else 3
VICTIMS = ("worker", "api", "pull")
USERS, AGENTS = ("ada", "bob"), ("puller", "service")
DUE_IN_S = 1
TIMEOUT_S = 180.0
EXAMPLES = Path(__file__).parents[3] / "examples"
KEY = f"cad_{'k' * 12}_{'s' * 43}"
SIGNING_KEY = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Processes:
    """A worker, an API, a pull agent and an HTTP agent, as processes of their own."""

    def __init__(self, fork_server: ForkServer, port: int) -> None:
        self._fork_server = fork_server
        self._port = port
        self.address = f"http://127.0.0.1:{port}"
        self._forked: dict[str, ForkedProcess] = {}
        self._agents: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *arguments: str) -> None:
        """Start one of them."""
        if name in ("worker", "api"):
            self._forked[name] = self._fork_server.start(name, CADENZA_PORT=str(self._port))
            return
        program = {"pull": "pull_agent.py", "http": "http_agent.py"}[name]
        given = arguments or (self.address, "puller")
        environment = os.environ | {"CADENZA_KEY": KEY, "SIGNING_KEY": SIGNING_KEY}
        self._agents[name] = subprocess.Popen([sys.executable, EXAMPLES / program, *given], env=environment)

    def kill(self, name: str) -> None:
        """Kill one of them with SIGKILL."""
        if name in self._forked:
            self._forked.pop(name).kill()
        elif name in self._agents:
            process = self._agents.pop(name)
            process.kill()
            process.wait()

    def close(self) -> None:
        for name in (*self._forked, *self._agents):
            self.kill(name)


@pytest.fixture(params=["sqlite", "postgres"] if SOAK else ["sqlite"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with a key, and without a limit of firings."""
    url = f"sqlite:///{tmp_path / 'cadenza.db'}"
    if request.param == "postgres":
        server: Cluster = request.getfixturevalue("cluster")
        url = server.url
    await migrate(url)
    async with open_store(Settings(database_url=url), ids=TimeOrderedIds(), log=NoLog()) as store:
        await store.tenants.put_tenant(
            Tenant(id="default", name="default", limits=Limits(schedule_fires_per_day=None))
        )
        scopes = frozenset({Scope.WRITE})
        key = ApiKey(id="k" * 12, tenant_id="default", name="test", scopes=scopes, created_at=NEW_YEAR)
        await store.keys.add_key(StoredKey(key, _digest("s" * 43)))
    return url


@contextmanager
def processes(url: str, folder: Path) -> Iterator[Processes]:
    settings = QUIET | {
        "CADENZA_LEASE_MS": "1000",
        "CADENZA_RATE_PER_MINUTE": "600000",
        "CADENZA_ALLOW_PRIVATE_TARGETS": "true",
        "CADENZA_DATABASE_URL": url,
        "TURN_LEASE_MS": "1000",
        "CADENZA_SECRET_ENV": "SIGNING_KEY",
        "SIGNING_KEY": SIGNING_KEY,
    }
    with closing(ForkServer(folder, **settings)) as fork_server:
        running = Processes(fork_server, free_port())
        with closing(running):
            yield running


async def reachable(caller: Caller) -> None:
    """Return when the API answers."""
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            with suppress(aiohttp.ClientError):
                if (await caller.ask("GET /v1/users")).status == 200:
                    return
            await asyncio.sleep(0.05)


async def burst(caller: Caller, number: int) -> list[str]:
    """Make schedules of all users with both agents that come due together; their ids."""
    wishes = [
        {
            "user_id": user,
            "agent_id": agent,
            "name": f"life {number}",
            "prompt": f"{word} {number}",
            "schedule_type": "one-shot",
            "delay_seconds": DUE_IN_S,
        }
        for user in USERS
        for agent, word in zip(AGENTS, ("soon", "later" if number % 2 else "soon"), strict=True)
    ]
    return [(await ok(caller, "POST /v1/schedules", wish))["id"] for wish in wishes]


async def told(url: str) -> tuple[dict[str, list[str]], list[str]]:
    """What each firing told its user, in order, by schedule; and what is wrong with the order."""
    firings: dict[str, list[str]] = defaultdict(list)
    wrong: list[str] = []
    async with open_store(Settings(database_url=url), ids=TimeOrderedIds(), log=NoLog()) as store:
        for user in USERS:
            owed = await store.deliveries.deliveries(UserKey("default", user), after=0, limit=10_000)
            if [one.seq for one in owed] != list(range(1, len(owed) + 1)):
                wrong.append(f"numbers of {user}")
            for one in owed:
                firings[str(one.schedule_id)].append(str(getattr(one.message, "text", "")))
            for agent in AGENTS:
                said = await store.conversations.messages(ConversationKey("default", user, agent), EVERYTHING)
                answers = [one.text for one in reversed(said) if one.role is Role.AGENT]
                texts = [getattr(one.message, "text", "") for one in owed if one.agent_id == agent]
                if answers != texts:
                    wrong.append(f"order of {user} with {agent}: {answers} {texts}")
    return firings, wrong


@pytest.mark.timeout(3_600 if SOAK else 300)
async def test_each_firing_is_answered_once_while_processes_are_killed(url: str, tmp_path: Path) -> None:
    chance, made, agent_port = Random(18), list[str](), free_port()
    with processes(url, tmp_path) as running:
        running.start("http", str(agent_port))
        for name in ("worker", "api"):
            running.start(name)
        headers = {"Authorization": f"Bearer {KEY}"}
        async with aiohttp.ClientSession(running.address, headers=headers) as session:
            caller = Caller(session)
            await reachable(caller)
            await create_agents(caller, agent_port)
            running.start("pull")
            for number in range(KILLS):
                made += await burst(caller, number)
                await asyncio.sleep(DUE_IN_S + chance.uniform(-0.2, 1.0))
                victim = VICTIMS[number % len(VICTIMS)]
                running.kill(victim)
                running.start(victim)
                await reachable(caller)
            async with asyncio.timeout(TIMEOUT_S):
                while set((await told(url))[0]) != set(made):  # noqa: ASYNC110 - Other processes write it.
                    await asyncio.sleep(0.5)
    firings, wrong = await told(url)
    assert wrong == []
    assert Counter({one: len(texts) for one, texts in firings.items()}) == dict.fromkeys(made, 1)
    answered = sum(texts[0].startswith("You asked for this") for texts in firings.values())
    assert answered >= len(made) * 0.9, firings
    sys.stdout.write(f"{KILLS} kills, {len(made)} firings, {answered} answered, the others told as failed\n")


async def create_agents(caller: Caller, port: int) -> None:
    """A pull agent, an HTTP agent and the users."""
    target: dict[str, Any] = {"url": f"http://127.0.0.1:{port}", "signing": ["${env:SIGNING_KEY}"]}
    await ok(caller, "PUT /v1/agents/puller", {"name": "Puller", "runtime": "pull"})
    await ok(caller, "PUT /v1/agents/service", {"name": "Service", "runtime": "http", "target": target})
    for user in USERS:
        await ok(caller, f"PUT /v1/users/{user}", {"timezone": "Europe/Berlin"})
