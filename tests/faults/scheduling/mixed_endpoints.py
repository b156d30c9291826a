"""Endpoints of every kind, made from a seed, and what must be true of them after any crash."""

from collections import Counter, defaultdict
from datetime import datetime
from random import Random
from typing import Any

from tests.faults.scheduling.crash_injection import CrashingPort, CrashPoint

from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.null import NoTelemetry
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.scheduling.baseline import Baseline, Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.policy import Guard, Misfire, Policy
from cadenza.domain.scheduling.run import Claim, Outcome, Run, RunStatus
from cadenza.domain.validation import milliseconds
from cadenza.engine.steering import Steering, call_tool
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.loop import WorkerLoop, WorkerSettings
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.testing import FakeClock, FakeIds, FakeLog, FakeQuota, an_endpoint

LEASE_MS = 20_000
TENANT = "default"


class MixedEndpoints:
    """A store, a dispatcher with random outcomes, and workers that may crash."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.clock = FakeClock()
        self.cron = CronsimCron()
        self.log = FakeLog()
        self.quota = FakeQuota()
        self.store = MemoryStore(FakeIds())
        self.dispatched: list[Claim] = []
        self.always_succeeds = False
        self.steering = Steering(store=self.store.endpoints, clock=self.clock, cron=self.cron)

    async def add_endpoints(self, count: int = 6) -> None:
        for number in range(count):
            await self.store.endpoints.add(self._new_endpoint(number))

    def _new_endpoint(self, number: int) -> Endpoint:
        random, now = self.random, self.clock.now()
        baselines: list[Baseline] = [
            Every(random.choice([5_000, 10_000, 15_000])),
            Cron("* * * * *"),
            Once(now + milliseconds(random.choice([0, 10_000]))),
        ]
        baseline = baselines[number % 3]
        return an_endpoint(
            f"endpoint-{number}",
            baseline=baseline,
            next_run_at=baseline.at if isinstance(baseline, Once) else now,
            guard=Guard(min_interval_ms=random.choice([None, 2_000])),
            policy=Policy(
                max_attempts=random.choice([1, 3]),
                retry_delay_ms=random.choice([0, 3_000]),
                misfire=random.choice([Misfire.RUN, Misfire.SKIP]),
                misfire_grace_ms=25_000,
            ),
        )

    def worker(self, crash_point: CrashPoint | None = None, *, claim_ahead_ms: int = 0) -> WorkerLoop:
        """A worker that crashes at a given await, or one that does not."""

        def port(real: Any) -> Any:
            return real if crash_point is None else CrashingPort(real, crash_point)

        executor = Executor(dispatcher=port(self), quota=port(self.quota), clock=self.clock)
        return WorkerLoop(
            store=port(self.store.endpoints),
            executor=executor,
            sweeper=self.sweeper(),
            clock=self.clock,
            cron=self.cron,
            telemetry=NoTelemetry(),
            log=self.log,
            settings=WorkerSettings(lease_ms=LEASE_MS, claim_ahead_ms=claim_ahead_ms, concurrency=3),
        )

    def sweeper(self) -> Sweeper:
        return Sweeper(store=self.store.endpoints, clock=self.clock, cron=self.cron, log=self.log)

    async def execute(self, claim: Claim) -> Outcome:
        """Mostly succeed, sometimes fail, and sometimes steer the endpoint."""
        self.dispatched.append(claim)
        if self.always_succeeds:
            return Outcome(RunStatus.SUCCESS)
        if self.random.random() < 0.2:
            tools = self.steering.tools(claim.key, origin="test")
            await call_tool(tools, "propose_next_time", {"nextRunInMs": self.random.choice([0, 4_000])})
        status = RunStatus.FAILURE if self.random.random() < 0.3 else RunStatus.SUCCESS
        return Outcome(status, error="by chance" if status is RunStatus.FAILURE else None)

    async def recover(self, span_ms: int) -> None:
        """Run workers that do not crash for a while, and then as long again with runs that all succeed."""
        await self._run_workers(span_ms)
        self.always_succeeds = True
        await self._run_workers(span_ms)

    async def _run_workers(self, span_ms: int) -> None:
        worker, sweeper = self.worker(), self.sweeper()
        until = self.clock.now() + milliseconds(span_ms)
        while self.clock.now() < until:
            await sweeper.sweep()
            while await worker.run_once():
                pass
            await self.clock.sleep(1_000)

    async def violations(self) -> list[str]:
        """Everything that is not as promised."""
        found: list[str] = []
        for endpoint in await self.store.catalog.find(TENANT):
            runs = (await self.store.runs.runs(EndpointKey(TENANT, endpoint.id)))[::-1]
            found += _unended(endpoint, runs, self.clock.now())
            found += _verdicts(endpoint, runs)
            found += _doubles(endpoint, runs, Counter(claim.run_id for claim in self.dispatched))
        return found


def _unended(endpoint: Endpoint, runs: list[Run], now: datetime) -> list[str]:
    found = [f"{endpoint.id}: run {run.id} is still open" for run in runs if run.status is None]
    if endpoint.lease is not None or endpoint.open_slot is not None:
        found.append(f"{endpoint.id}: it is still leased")
    overdue = endpoint.next_run_at is not None and now - endpoint.next_run_at > milliseconds(2_000)
    return [*found, f"{endpoint.id}: its slot {endpoint.next_run_at} is overdue"] if overdue else found


def _verdicts(endpoint: Endpoint, runs: list[Run]) -> list[str]:
    """Each slot has exactly one verdict, and the regular ones have no gap that no run accounts for."""
    verdicts: dict[datetime, int] = defaultdict(int)
    for run in runs:
        verdicts[run.slot] += run.verdict
    found = [
        f"{endpoint.id}: slot {slot} has {count} verdicts" for slot, count in verdicts.items() if count != 1
    ]
    if isinstance(endpoint.baseline, Once) and endpoint.baseline.at not in verdicts:
        found.append(f"{endpoint.id}: its one moment was never served")
    return found


def _doubles(endpoint: Endpoint, runs: list[Run], dispatched: Counter[str]) -> list[str]:
    """A slot is dispatched again only after a failure that is retried, or after a loss that is marked."""
    found = []
    by_slot: dict[datetime, list[Run]] = defaultdict(list)
    for run in runs:
        if dispatched[run.id] > 1:
            found.append(f"{endpoint.id}: run {run.id} was dispatched twice")
        if dispatched[run.id]:
            by_slot[run.slot].append(run)
    for slot, attempts in by_slot.items():
        for earlier in attempts[:-1]:
            lost = earlier.status is RunStatus.ABANDONED and earlier.started_at is not None
            if not lost and earlier.status is not RunStatus.FAILURE:
                found.append(f"{endpoint.id}: slot {slot} ran again after {earlier.status}")
    return found
