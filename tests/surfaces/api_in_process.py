"""The application in one process, over the memory store, and a caller who needs no socket."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import unquote

from tests.monitoring.alert_fixtures import Channels

from cadenza.adapters.access.rate_limiter import RequestRateLimiter, TrialRateLimiter
from cadenza.adapters.access.secret_keys import ConfiguredKeys
from cadenza.adapters.access.stored_secrets import StoredSecrets
from cadenza.adapters.agents.offline.agent import OfflineAgent
from cadenza.adapters.calendars.sources import LibrarySources
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.ids import RandomTokens, TimeOrderedIds
from cadenza.adapters.null import NoQuota
from cadenza.adapters.planners.rules.expressions import PROBES, CelExpressions
from cadenza.adapters.stores.memory.access.keys_tenants import MemorySealed
from cadenza.adapters.stores.memory.store import MemoryStore
from cadenza.domain.access.key import Caller, Scope
from cadenza.engine.agents.conversation import Conversations
from cadenza.engine.agents.turn_lock import TurnLock
from cadenza.engine.steering import Steering
from cadenza.engine.worker.execute import Executor
from cadenza.operations.access.keys import NewKeyView
from cadenza.operations.agents.agent_tools import AgentTools
from cadenza.operations.application import Application
from cadenza.operations.context import Dependencies
from cadenza.ports.store import Store
from cadenza.sim.playback import Playback
from cadenza.surfaces.http.app import ApiOptions, http_app
from cadenza.testing import FakeClock, FakeLog
from cadenza.testing.fakes import FakeDispatcher

PLAYBACK = Playback()
"""One for all houses: a scenario is played once."""
SEALING_KEY = "A" * 43 + "="
A_TARGET = {"kind": "http", "url": "https://example.com/health"}
EVERY_MINUTE = {"kind": "every", "interval_ms": 60_000}
A_HEARTBEAT = {
    "id": "backup",
    "name": "backup",
    "target": {"kind": "heartbeat", "grace_ms": 60_000},
    "baseline": EVERY_MINUTE,
}
AN_ENDPOINT = {"id": "traffic", "name": "traffic", "target": A_TARGET, "baseline": EVERY_MINUTE}


class Answered(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> str:
        """The last part of its type."""
        assert self.headers["content-type"] == "application/problem+json"
        return str(self.json()["type"].removeprefix("/problems/"))


class ApiInProcess:
    """An application, the HTTP application in front of it, and keys for both."""

    def __init__(
        self,
        store: Store | None = None,
        *,
        per_minute: int = 600_000,
        of_tenant_per_minute: int | None = None,
        **options: Any,
    ) -> None:
        self.clock = FakeClock(manual=True)  # What looks after sockets sleeps beside the requests.
        self.store = store or MemoryStore(TimeOrderedIds())
        self.log = FakeLog()
        self.dispatcher = FakeDispatcher()
        self.channels = Channels()
        self.secrets = StoredSecrets(MemorySealed(), ConfiguredKeys(SEALING_KEY))
        cron = CronsimCron()
        dependencies = Dependencies(
            calendar_sources=LibrarySources(),
            store=self.store,
            clock=self.clock,
            cron=cron,
            ids=TimeOrderedIds(),
            token_generator=RandomTokens(),
            log=self.log,
            executor=Executor(dispatcher=self.dispatcher, quota=NoQuota(), clock=self.clock),
            secrets=self.secrets,
            steering=Steering(store=self.store.endpoints, clock=self.clock, cron=cron),
            expressions=CelExpressions(),
            probe_conditions=CelExpressions(PROBES),
            channels=self.channels,
            take_trial=TrialRateLimiter(self.store.rates, self.clock).take,
            simulations=PLAYBACK,
        )
        self.application = Application(replace(dependencies, conversations=agents(dependencies)))
        rates = RequestRateLimiter(
            self.store.rates, self.clock, per_minute=per_minute, of_tenant_per_minute=of_tenant_per_minute
        )
        self.app = http_app(
            self.application, ApiOptions(version="1.2.3", **({"rate_limit": rates.take} | options))
        )
        self._keys: dict[tuple[str, Scope], str] = {}

    async def key(self, tenant_id: str = "north", scope: Scope = Scope.ADMIN) -> str:
        """A key of a tenant with a scope, the same every time."""
        if (tenant_id, scope) not in self._keys:
            everything = Caller(tenant_id, frozenset({Scope.ADMIN}), "test")
            made = await self.application.ask("create_key", {"name": "key", "scopes": [scope]}, everything)
            assert isinstance(made, NewKeyView)
            self._keys[tenant_id, scope] = made.key
        return self._keys[tenant_id, scope]

    async def ask(
        self,
        request: str,
        body: Any = None,
        *,
        by: str | None = "north",
        scope: Scope | str = Scope.ADMIN,
        **headers: str,
    ) -> Answered:
        """Ask with a key: `GET /v1/jobs`. Header names are written with underscores."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if by is not None:
            given = {"authorization": f"Bearer {await self.key(by, Scope(scope))}"} | given
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        if body is not None:
            given = {"content-type": "application/json", "content-length": str(len(raw))} | given
        return await self.send(request, [raw], given.items())

    async def send(
        self,
        request: str,
        parts: Iterable[bytes] = (b"",),
        headers: Iterable[tuple[str, str]] = (),
        client: str = "192.0.2.1",
    ) -> Answered:
        """Send a request as it is, its body in parts."""
        method, target = request.split(" ", 1)
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
            "client": (client, 1),
            "server": ("127.0.0.1", 80),
        }
        waiting = list(parts)
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if not waiting:
                await asyncio.Event().wait()  # It stays connected.
            part = waiting.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(waiting)}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        return _answered(sent)

    async def create_endpoint(self, tenant_id: str = "north") -> None:
        """A job with an endpoint."""
        assert (await self.ask("POST /v1/jobs", {"id": "job", "name": "job"}, by=tenant_id)).status == 201
        made = await self.ask("POST /v1/jobs/job/endpoints", AN_ENDPOINT, by=tenant_id)
        assert made.status == 201, made.body

    async def create_heartbeat(self, tenant_id: str = "north") -> None:
        """An endpoint in that job that waits for heartbeats."""
        made = await self.ask("POST /v1/jobs/job/endpoints", A_HEARTBEAT, by=tenant_id)
        assert made.status == 201, made.body


def agents(dependencies: Dependencies) -> Conversations:
    """Offline agents, whose turns run out by the clock on the wall: here time stands still."""
    turn_lock = TurnLock(store=dependencies.store.conversations, clock=SystemClock(), ids=dependencies.ids)
    return Conversations(
        store=dependencies.store,
        runtime=OfflineAgent(),
        tools=AgentTools(Application(dependencies)),
        turn_lock=turn_lock,
        clock=dependencies.clock,
        ids=dependencies.ids,
    )


def _answered(sent: list[dict[str, Any]]) -> Answered:
    start, *rest = sent
    assert start["type"] == "http.response.start"
    headers: Mapping[bytes, bytes] = dict(start["headers"])
    assert len(headers) == len(start["headers"]), "no header stands there twice"
    body = b"".join(message.get("body", b"") for message in rest)
    return Answered(start["status"], {name.decode(): value.decode() for name, value in headers.items()}, body)
