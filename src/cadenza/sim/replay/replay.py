"""Replays recorded history under another policy, on the product's own worker and a clock that jumps."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.null import NoLog, NoQuota, NoTelemetry
from cadenza.adapters.planners.change_detection import fingerprint, was_executed
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.planner_settings import Learning
from cadenza.domain.scheduling.baseline import Baseline
from cadenza.domain.scheduling.calendars.rules import CalendarRules
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.domain.scheduling.run import Claim, Outcome, Run, RunStatus
from cadenza.domain.scheduling.steer import DEFINITION_FIELDS, plan_first_run
from cadenza.domain.validation import milliseconds
from cadenza.engine.planning.planner_runner import PlannerDependencies
from cadenza.engine.steering import Steering
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.loop import WorkerLoop
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.ports.store import Store
from cadenza.sim.analyst_steps import PlannerFactory, StepwiseAnalyst
from cadenza.sim.product_run import Ports
from cadenza.testing.clock import FakeClock
from cadenza.testing.fakes import FakeIds


class UnnoticedChange(NamedTuple):
    """A change after one recorded run, and by the next."""

    after: datetime
    by: datetime


class Delay(NamedTuple):
    """How long a change went unnoticed, in seconds: at least, if it fell anywhere alike likely, at most."""

    least_s: float
    even_s: float
    most_s: float


class DelayStatistics(NamedTuple):
    """A mean, and what 95 in 100 do not exceed; None if there is nothing to measure."""

    mean_s: float | None
    p95_s: float | None


def delay_of(change: UnnoticedChange, run_times: Sequence[datetime]) -> Delay:
    """The bounds of one change's delay with runs at these times, in their order.

    1. A change is noticed by the first run at or after it; the last run is at or after `by`.
    2. At least: nothing, if a run falls where the change may; otherwise from `by` to the next run.
    3. At most: the longest wait between two runs, or from `after` to the first.
    4. Evenly: the mean wait over all moments from `after` to `by`.
    """
    first, past = bisect_right(run_times, change.after), bisect_left(run_times, change.by)
    assert past < len(run_times), "a run has to notice it"
    points = [change.after, *run_times[first:past], run_times[past]]
    waits = [(later - earlier).total_seconds() for earlier, later in pairwise(points)]
    rest_s = (run_times[past] - change.by).total_seconds()
    span_s = (change.by - change.after).total_seconds()
    area = (sum(wait**2 for wait in waits) - rest_s**2) / 2
    least_s = 0.0 if past > first else rest_s
    return Delay(least_s, area / span_s if span_s else rest_s, max(waits))


def delay_statistics(values: Sequence[float]) -> DelayStatistics:
    """Mean and 95th percentile."""
    if not values:
        return DelayStatistics(None, None)
    ordered = sorted(values)
    return DelayStatistics(sum(ordered) / len(ordered), ordered[(len(ordered) * 95 - 1) // 100])


FEWEST_RUNS = 2
MOST_RUNS = 200_000
"""A replay with more runs is refused."""
LEAST_STEP = milliseconds(1)


@dataclass(frozen=True, slots=True)
class RecordedHistory:
    """The executed runs of one endpoint, oldest first; each shows its state at that moment."""

    endpoint: Endpoint
    runs: Sequence[Run]
    times: Sequence[datetime]

    def at(self, moment: datetime) -> Run:
        """The run that a run at this moment repeats: the last one recorded by then."""
        return self.runs[max(bisect_right(self.times, moment) - 1, 0)]

    def changes(self) -> list[UnnoticedChange]:
        """The changes, each between two recorded runs."""
        seen = [
            (run_at, fingerprint(self.endpoint, run))
            for run_at, run in zip(self.times, self.runs, strict=True)
        ]
        return [UnnoticedChange(after, by) for (after, before), (by, now) in pairwise(seen) if before != now]


def recorded_history(endpoint: Endpoint, runs: Sequence[Run]) -> RecordedHistory | None:
    """The record of an endpoint, from its runs in any order; None if there are too few to compare."""
    executed = sorted((run for run in runs if was_executed(run)), key=_started_at)
    times = [_started_at(run) for run in executed]
    return RecordedHistory(endpoint, executed, times) if len(set(times)) >= FEWEST_RUNS else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPolicy:
    """What steers in the replay: another baseline, or planners, or neither."""

    name: str
    baseline: Baseline | None = None
    make_planners: PlannerFactory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """The number of runs under a policy, and how soon they noticed changes."""

    policy: str
    runs: int
    delays: Sequence[Delay]
    unnoticed: int = 0
    """Changes that no run noticed until the end of the replay; counted as that late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """The recorded runs, and the results of the policies over the same span."""

    since: datetime
    until: datetime
    endpoints: Sequence[str]
    changes: int
    recorded: ReplayResult
    others: Sequence[ReplayResult] = field(default_factory=tuple)


async def replay(records: Sequence[RecordedHistory], policies: Sequence[ReplayPolicy]) -> ReplayReport:
    """Replay the span of the records under each policy."""
    since, until = min(one.times[0] for one in records), max(one.times[-1] for one in records)
    run_times = {one.endpoint.id: list(one.times) for one in records}
    return ReplayReport(
        since=since,
        until=until,
        endpoints=[one.endpoint.name for one in records],
        changes=sum(len(one.changes()) for one in records),
        recorded=_result("recorded", records, run_times),
        others=[await _replay_policy(policy, records, until=until) for policy in policies],
    )


async def _replay_policy(
    policy: ReplayPolicy, records: Sequence[RecordedHistory], *, until: datetime
) -> ReplayResult:
    simulation = ReplaySimulation(policy, records)
    await simulation.open()
    run_times = await simulation.run(until)
    return _result(policy.name, records, run_times)


def _result(
    name: str, records: Sequence[RecordedHistory], run_times: Mapping[str, list[datetime]]
) -> ReplayResult:
    """Count the runs within each record's span, and measure the delays of its changes."""
    count, unnoticed, delays = 0, 0, []
    for record in records:
        first, last = record.times[0], record.times[-1]
        own = run_times[record.endpoint.id]
        count += sum(first < at <= last for at in own)
        changes = record.changes()
        unnoticed += sum(not own or own[-1] < change.by for change in changes)
        noticed = own if own and own[-1] >= last else [*own, _replay_end(first, last)]
        delays += [delay_of(change, noticed) for change in changes]
    return ReplayResult(policy=name, runs=count, delays=delays, unnoticed=unnoticed)


def _replay_end(first: datetime, last: datetime) -> datetime:
    """The end of a replay: the record's span once more after its end."""
    return last + (last - first)


class ReplaySimulation:
    """Worker, store, tools and planners as a root would wire them; responses come from the record."""

    def __init__(self, policy: ReplayPolicy, records: Sequence[RecordedHistory]) -> None:
        self._policy = policy
        self._records = {record.endpoint.key: record for record in records}
        self._clock = FakeClock(min(record.times[0] for record in records))
        self._store: Store = MemoryStore(FakeIds())
        self._cron = CronsimCron()
        ports = Ports(store=self._store.endpoints, clock=self._clock, cron=self._cron, log=NoLog())
        executor = Executor(dispatcher=self, quota=NoQuota(), clock=self._clock)
        self._worker = WorkerLoop(
            executor=executor, sweeper=Sweeper(**ports), telemetry=NoTelemetry(), **ports
        )
        self._steering = Steering(store=self._store.endpoints, clock=self._clock, cron=self._cron)
        self._analyst: StepwiseAnalyst | None = None
        self._left = MOST_RUNS
        self._run_times: dict[str, list[datetime]] = {record.endpoint.id: [] for record in records}

    async def open(self) -> None:
        """Add every endpoint, due at its first recorded run, and its job; and make the planners."""
        jobs = [_job_of(record.endpoint) for record in self._records.values()]
        for job in {(one.tenant_id, one.id): one for one in jobs}.values():
            await self._store.catalog.add_job(job)
        for record in self._records.values():
            await self._store.endpoints.add(self._as_new(record))
        make_planners = self._policy.make_planners
        planners = [] if make_planners is None else await make_planners(self._store)
        dependencies = PlannerDependencies(
            store=self._store,
            clock=self._clock,
            ids=FakeIds("analysis"),
            quota=NoQuota(),
            steering=self._steering,
            log=NoLog(),
            telemetry=NoTelemetry(),
            fingerprint=fingerprint,
        )
        self._analyst = StepwiseAnalyst(planners, dependencies)
        await self._analyst.open()

    async def execute(self, claim: Claim) -> Outcome:
        """The outcome that was recorded."""
        now = self._clock.now()
        self._run_times[claim.endpoint.id].append(now)
        self._left -= 1
        run = self._records[claim.key].at(now)
        return Outcome(run.status or RunStatus.SUCCESS, run.duration_ms, run.error, run.response)

    async def run(self, until: datetime) -> Mapping[str, list[datetime]]:
        """When each endpoint ran, until each has run once after its record's end."""
        assert self._analyst is not None, "open() comes first"
        replay_end = _replay_end(self._clock.now(), until)
        while True:
            while await self._worker.run_once():
                await self._analyst.analyze_pending()
            await self._analyst.analyze_pending()
            moment = await self._next_moment()
            if moment is None or moment > replay_end or self._done():
                return self._run_times
            if self._left <= 0:
                raise InvalidRequest(
                    f"{self._policy.name} would look more than {MOST_RUNS:,} times; choose a shorter span.",
                    "policy",
                )
            self._clock.jump((moment - self._clock.now()) / milliseconds(1))

    async def _next_moment(self) -> datetime | None:
        assert self._analyst is not None, "open() comes first"
        moments = (await self._store.endpoints.next_due(), self._analyst.next_analysis_at)
        soonest = min((moment for moment in moments if moment is not None), default=None)
        return None if soonest is None else max(soonest, self._clock.now() + LEAST_STEP)

    def _done(self) -> bool:
        ends = {record.endpoint.id: record.times[-1] for record in self._records.values()}
        return all(run_times and run_times[-1] >= ends[name] for name, run_times in self._run_times.items())

    def _as_new(self, record: RecordedHistory) -> Endpoint:
        """The endpoint as its owner defined it, with its state reset."""
        endpoint, first, last = record.endpoint, record.times[0], record.times[-1]
        written = {field: getattr(endpoint, field) for field in DEFINITION_FIELDS}
        changed = {
            "baseline": self._policy.baseline or endpoint.baseline,
            "planning": replace(endpoint.planning, learning=Learning.ON),
            "paused_until": endpoint.paused_until if endpoint.paused(last) else None,
        }
        fresh = Endpoint(id=endpoint.id, tenant_id=endpoint.tenant_id, **(written | changed))
        return plan_first_run(fresh, now=first, cron=self._cron, start_now=True)


def _job_of(endpoint: Endpoint) -> Job:
    """The job of an endpoint, as far as it counts here: its calendars, which the endpoint follows."""
    rules = endpoint.calendar_rules
    kept = CalendarRules(only_during=rules.job_only_during, never_during=rules.job_never_during)
    return Job(id=endpoint.job_id, name=endpoint.job_id, tenant_id=endpoint.tenant_id, calendar_rules=kept)


def _started_at(run: Run) -> datetime:
    """When it started."""
    assert run.started_at is not None, "an executed run has started"
    return run.started_at
