"""A mixed household of endpoints, made from a seed, and what must be true of it after any crash."""

from collections import Counter, defaultdict
from datetime import datetime
from random import Random
from typing import Any

from tests.faults.scheduling.crash_injection import Life, Mortal

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


class Household:
    """A store, a world that answers by chance, and schedulers that come and go."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.clock = FakeClock()
        self.cron = CronsimCron()
        self.log = FakeLog()
        self.quota = FakeQuota()
        self.store = MemoryStore(FakeIds())
        self.dispatched: list[Claim] = []
        self.calm = False
        self.steering = Steering(store=self.store.endpoints, clock=self.clock, cron=self.cron, log=self.log)

    async def move_in(self, count: int = 6) -> None:
        for number in range(count):
            await self.store.endpoints.add(self._somebody(number))

    def _somebody(self, number: int) -> Endpoint:
        chance, now = self.chance, self.clock.now()
        baselines: list[Baseline] = [
            Every(chance.choice([5_000, 10_000, 15_000])),
            Cron("* * * * *"),
            Once(now + milliseconds(chance.choice([0, 10_000]))),
        ]
        baseline = baselines[number % 3]
        return an_endpoint(
            f"endpoint-{number}",
            baseline=baseline,
            next_run_at=baseline.at if isinstance(baseline, Once) else now,
            guard=Guard(min_interval_ms=chance.choice([None, 2_000])),
            policy=Policy(
                max_attempts=chance.choice([1, 3]),
                retry_delay_ms=chance.choice([0, 3_000]),
                misfire=chance.choice([Misfire.RUN, Misfire.SKIP]),
                misfire_grace_ms=25_000,
            ),
        )

    def worker(self, life: Life | None = None, *, claim_ahead_ms: int = 0) -> WorkerLoop:
        """A worker that dies with its life, or a healthy one."""

        def port(real: Any) -> Any:
            return real if life is None else Mortal(real, life)

        executor = Executor(dispatcher=port(self), quota=port(self.quota), clock=self.clock)
        return WorkerLoop(
            store=port(self.store),
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
        """The world: mostly well, sometimes not, and sometimes it steers."""
        self.dispatched.append(claim)
        if self.calm:
            return Outcome(RunStatus.SUCCESS)
        if self.chance.random() < 0.2:
            tools = self.steering.tools(claim.key, origin="household")
            await call_tool(tools, "propose_next_time", {"nextRunInMs": self.chance.choice([0, 4_000])})
        status = RunStatus.FAILURE if self.chance.random() < 0.3 else RunStatus.SUCCESS
        return Outcome(status, error="by chance" if status is RunStatus.FAILURE else None)

    async def recover(self, span_ms: int) -> None:
        """Let healthy workers go on for a while, and then as long again in a world that is well."""
        await self._go_on(span_ms)
        self.calm = True
        await self._go_on(span_ms)

    async def _go_on(self, span_ms: int) -> None:
        worker, sweeper = self.worker(), self.sweeper()
        until = self.clock.now() + milliseconds(span_ms)
        while self.clock.now() < until:
            await sweeper.sweep()
            while await worker.run_once():
                pass
            await self.clock.sleep(1_000)

    async def complaints(self) -> list[str]:
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
        found.append(f"{endpoint.id}: somebody still holds it")
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
