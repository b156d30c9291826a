"""A store under test, with time and the rules at hand."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import pytest

from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.null import NoLog
from cadenza.domain.access.places import NO_BOUNDS
from cadenza.domain.agents.users import Agent, User
from cadenza.domain.scheduling.baseline import Cron
from cadenza.domain.scheduling.due import Recheck, recheck
from cadenza.domain.scheduling.endpoint import Endpoint, Job, evolve
from cadenza.domain.scheduling.run import Claim, Completion, Outcome, Run, RunStatus
from cadenza.domain.scheduling.settle import SettledRun, settle
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.domain.validation import milliseconds
from cadenza.engine.steering import Steering, call_tool
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.ports.scheduling import Wakeup
from cadenza.ports.store import Store
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import FakeClock

MINUTE = 60_000
LEASE_MS = 30_000
NOTIFY_TIMEOUT_S, MOST_CALLS = 30, 300


class Bench:
    """Drives a store the way the engine does, one step at a time."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = FakeClock()
        self.cron = CronsimCron()
        log = NoLog()
        self.steering = Steering(store=store.endpoints, clock=self.clock, cron=self.cron)
        self._sweeper = Sweeper(store=store.endpoints, clock=self.clock, cron=self.cron, log=log)

    async def add(self, name: str = "endpoint", **fields: Any) -> Endpoint:
        """Add an endpoint that is due now, unless `fields` say otherwise; prompts with user and agent."""
        target = fields.get("target")
        if isinstance(target, PromptTarget):
            tenant_id = fields.get("tenant_id", "default")
            await self.store.users.put_user(User(tenant_id=tenant_id, id=target.user_id))
            agent = Agent(tenant_id=tenant_id, id=target.agent_id, name=target.agent_id)
            await self.store.agents.put_agent(agent)
            fields = {"baseline": Cron("* * * * *")} | fields
        endpoint = an_endpoint(name, **({"next_run_at": self.clock.now()} | fields))
        await self.store.endpoints.add(endpoint)
        return endpoint

    async def claim(
        self,
        *,
        limit: int = 100,
        within_ms: int = 0,
        store: Store | None = None,
        can_run: Collection[str] | None = None,
        bounds: Mapping[str, int] = NO_BOUNDS,
    ) -> list[Claim]:
        """Claim what is due now."""
        now = self.clock.now()
        return await (store or self.store).endpoints.claim_due(
            now=now,
            within=milliseconds(within_ms),
            lease_until=now + milliseconds(LEASE_MS),
            limit=limit,
            bounds=bounds,
            can_run=can_run,
        )

    async def claim_one(self, *, within_ms: int = 0) -> Claim:
        """Claim the only endpoint that is due."""
        (claim,) = await self.claim(within_ms=within_ms)
        return claim

    async def start(self, *claims: Claim) -> list[Recheck | None]:
        """Look again at claims that waited."""
        now = self.clock.now()
        return await self.store.endpoints.start(claims, lambda endpoint, claim: recheck(endpoint, claim, now))

    async def end(
        self, *claims: Claim, status: RunStatus = RunStatus.SUCCESS, **seen: Any
    ) -> list[SettledRun | None]:
        """Settle claims with one and the same outcome."""
        return await self.finalize([(claim, Outcome(status, **seen)) for claim in claims])

    async def finalize(self, ended: Sequence[tuple[Claim, Outcome]]) -> list[SettledRun | None]:
        """Settle claims, each with its outcome."""
        now = self.clock.now()
        return await self.store.endpoints.finalize(
            [Completion(claim, outcome, now) for claim, outcome in ended],
            lambda endpoint, completion: settle(endpoint, completion, now=now, cron=self.cron),
        )

    async def run_once(self, status: RunStatus = RunStatus.SUCCESS, **seen: Any) -> Run:
        """Claim the only endpoint that is due, and settle it."""
        (settled,) = await self.end(await self.claim_one(), status=status, **seen)
        assert settled is not None, "its lease was lost"
        return settled.run

    async def sweep(self) -> list[SettledRun]:
        """Abandon runs whose lease ran out."""
        return await self._sweeper.sweep()

    async def tool(self, endpoint: Endpoint, name: str, **arguments: Any) -> ChangedEndpoint:
        """Call one of the three tools."""
        tools = self.steering.tools(endpoint.key, origin="contract")
        return await call_tool(tools, name, arguments)

    async def switch(self, job_id: str, *, active: bool, tenant_id: str = "default") -> Job:
        """Switch a job on or off."""
        return await self.store.catalog.amend_job(tenant_id, job_id, lambda job: replace(job, active=active))

    @asynccontextmanager
    async def wakes_workers(self) -> AsyncIterator[None]:
        """Workers are not woken before, and are woken by what is done within."""
        wakeup = self.store.endpoints.listen()
        await self._until_notified(wakeup)
        assert not await _was_notified(wakeup, within_s=0.05), "workers were woken too early"
        yield
        assert await _was_notified(wakeup, within_s=NOTIFY_TIMEOUT_S), "workers were not woken"

    async def _until_notified(self, wakeup: Wakeup) -> None:
        """Move an endpoint of another tenant until a notification arrives: listening may have to connect."""
        moved = await self.add("moved", tenant_id="bystander", next_run_at=self.ms(MINUTE))
        for step in range(MOST_CALLS):
            if await _was_notified(wakeup, within_s=0.1):
                break
            await self.store.endpoints.amend(moved.key, partial(_move, self.ms(MINUTE + step)))
        while await _was_notified(wakeup, within_s=0.1):
            pass

    async def fresh(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint as it is stored now."""
        return await self.store.endpoints.get(endpoint.key)

    async def runs(self, endpoint: Endpoint) -> list[Run]:
        """Its runs, oldest first."""
        return (await self.store.runs.runs(endpoint.key))[::-1]

    def ms(self, span_ms: float) -> Any:
        """The moment so many milliseconds from now."""
        return self.clock.now() + milliseconds(1) * span_ms

    def pass_ms(self, span_ms: float) -> None:
        """Let time pass."""
        self.clock.jump(span_ms)


class Contract:
    """Fixtures that every contract uses."""

    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def bench(self, store: Store) -> Bench:
        return Bench(store)

    @pytest.fixture
    def peers(self, store: Store) -> Sequence[Store]:
        """Stores that share one set of data, as the workers of one database do."""
        return [store] * 4


async def _was_notified(wakeup: Wakeup, *, within_s: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(wakeup.wait(), within_s)
        return True
    return False


def _move(at: datetime, endpoint: Endpoint) -> ChangedEndpoint:
    return ChangedEndpoint(evolve(endpoint, next_run_at=at))
