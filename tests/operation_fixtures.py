"""The application over the memory store, on a clock that tests move."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest
from tests.monitoring.alert_fixtures import Channels

from cadenza.adapters.access.rate_limiter import TrialRateLimiter
from cadenza.adapters.calendars.sources import LibrarySources
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.null import NoLog, NoQuota
from cadenza.adapters.planners.rules.expressions import PROBES, CelExpressions
from cadenza.adapters.stores.memory.store import MemoryStore
from cadenza.domain.access.key import Caller, Scope
from cadenza.engine.steering import Steering
from cadenza.engine.worker.execute import Executor
from cadenza.operations.application import Application
from cadenza.operations.context import Dependencies
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.secrets import SecretEntry, SecretKey
from cadenza.testing.clock import FakeClock
from cadenza.testing.fakes import FakeDispatcher, FakeIds

EVERYTHING = frozenset({Scope.ADMIN})
A_TARGET = {"kind": "http", "url": "https://example.com/health"}
EVERY_MINUTE = {"kind": "every", "interval_ms": 60_000}


class FakeTokens:
    """Secrets that a test can foresee."""

    def __init__(self) -> None:
        self._made = 0

    def secret(self) -> str:
        self._made += 1
        return f"{self._made:040d}"


class SecretNames:
    """Remembers the names of secrets."""

    def __init__(self) -> None:
        self.kept: dict[SecretKey, tuple[str, datetime]] = {}

    async def put(self, key: SecretKey, value: str, *, now: datetime) -> None:
        self.kept[key] = (value, now)

    async def delete(self, key: SecretKey) -> None:
        del self.kept[key]

    async def names(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[SecretEntry]:
        found = sorted((key.name, at) for key, (_, at) in self.kept.items() if key.tenant_id == tenant_id)
        return [SecretEntry(name, at, at) for name, at in found if page.after is None or name > page.after][
            : page.limit
        ]


class ApplicationFixture:
    """Asks the application on behalf of a tenant, and returns the answers as JSON."""

    def __init__(self, *, jitter_ms: int = 0, max_timeout_ms: int | None = None) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(FakeIds())
        self.dispatcher = FakeDispatcher()
        self.channels = Channels()
        self.secrets = SecretNames()
        cron, log = CronsimCron(), NoLog()
        steering = Steering(store=self.store.endpoints, clock=self.clock, cron=cron, jitter_ms=jitter_ms)
        self.application = Application(
            Dependencies(
                calendar_sources=LibrarySources(),
                store=self.store,
                clock=self.clock,
                cron=cron,
                ids=FakeIds(),
                token_generator=FakeTokens(),
                log=log,
                executor=Executor(dispatcher=self.dispatcher, quota=NoQuota(), clock=self.clock),
                secrets=self.secrets,
                steering=steering,
                expressions=CelExpressions(),
                probe_conditions=CelExpressions(PROBES),
                channels=self.channels,
                take_trial=TrialRateLimiter(self.store.rates, self.clock).take,
                jitter_ms=jitter_ms,
                max_timeout_ms=max_timeout_ms,
            )
        )

    async def ask(
        self,
        operation: str,
        /,
        *,
        by: str = "default",
        holding: frozenset[Scope] = EVERYTHING,
        **arguments: Any,
    ) -> Any:
        view = await self.application.ask(operation, arguments, Caller(by, holding, "test"))
        return view.model_dump(mode="json")

    async def job(self, job_id: str = "job", *, by: str = "default") -> Mapping[str, Any]:
        answer: Mapping[str, Any] = await self.ask("create_job", by=by, id=job_id, name=job_id)
        return answer

    async def endpoint(
        self, name: str = "traffic", *, by: str = "default", **fields: Any
    ) -> Mapping[str, Any]:
        given = {"job_id": "job", "id": name, "name": name, "target": A_TARGET, "baseline": EVERY_MINUTE}
        answer: Mapping[str, Any] = await self.ask("create_endpoint", by=by, **(given | fields))
        return answer


@pytest.fixture
def app() -> ApplicationFixture:
    return ApplicationFixture()
