"""Simulates a scenario by the published prototype's own rules, quirks included."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, NamedTuple

from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.steer import HintRecord
from cadenza.ports.clock import Clock
from cadenza.sim.recording import RecordedRun, Recording, StoreHistory
from cadenza.sim.scenario import DORMANT_UNTIL, Scenario, SimulatedEndpoint
from cadenza.sim.steered_endpoint import SOON_MS, SteeredEndpoint
from cadenza.sim.world import START, Measured, MeasuredSeries, Sample
from cadenza.testing.clock import FakeClock

LOOK_AHEAD = timedelta(seconds=10)
LOCK = timedelta(seconds=10)
CLAIM_LIMIT = 50
ORIGIN = "planner:policy"
DORMANT_DUE = timedelta(seconds=3600)
RANKS = (Source.BASELINE_INTERVAL, Source.AI_INTERVAL, Source.AI_ONESHOT)
"""Which source wins a tie: the first."""

Candidates = list[tuple[datetime, Source]]


@dataclass(slots=True)
class PrototypeEndpoint:
    """An endpoint as the prototype stored it: both hints share one expiry."""

    table: SimulatedEndpoint
    next_run_at: datetime
    paused_until: datetime | None
    locked_until: datetime = START
    last_run_at: datetime | None = None
    hint_interval: timedelta | None = None
    hint_at: datetime | None = None
    hint_expires_at: datetime | None = None
    baseline: timedelta = field(init=False)
    least: timedelta = field(init=False)
    most: timedelta | None = field(init=False)

    def __post_init__(self) -> None:
        self.baseline = timedelta(seconds=self.table.baseline_s)
        self.least = timedelta(seconds=self.table.min_s)
        self.most = None if self.table.max_s is None else timedelta(seconds=self.table.max_s)

    def paused(self, now: datetime) -> bool:
        return self.paused_until is not None and self.paused_until > now

    def hinted(self, now: datetime) -> bool:
        return self.hint_expires_at is not None and self.hint_expires_at > now

    def claimable(self, now: datetime) -> bool:
        """Up to the look-ahead early, which is one of the quirks."""
        return self.next_run_at <= now + LOOK_AHEAD and not self.paused(now) and self.locked_until <= now

    def nudge(self, now: datetime, when: datetime) -> None:
        if self.paused(now):
            return
        when = max(when, now + self.least)
        if self.most is not None:
            when = min(when, now + self.most)
        self.next_run_at = min(self.next_run_at, when)

    def settle(self, now: datetime) -> Source:
        """Plan from the run *before* this one, then move on; a one-shot stays until the shared expiry."""
        self.next_run_at, source = plan(self, now)
        self.last_run_at, self.locked_until = now, START
        if self.hint_expires_at is not None and self.hint_expires_at <= now:
            self.hint_interval = self.hint_at = self.hint_expires_at = None
        return source


def plan(endpoint: PrototypeEndpoint, now: datetime) -> tuple[datetime, Source]:
    """The earliest candidate, not before now, then the two clamps, then the pause."""
    last = endpoint.last_run_at or now
    at, source = min(_candidates(endpoint, now), key=lambda given: (given[0], RANKS.index(given[1])))
    at = max(at, now)
    if at < last + endpoint.least:
        at, source = last + endpoint.least, Source.CLAMPED_MIN
    if endpoint.most is not None and at > last + endpoint.most:
        at, source = last + endpoint.most, Source.CLAMPED_MAX
    if endpoint.paused_until is not None and endpoint.paused(now):
        return endpoint.paused_until, Source.PAUSED
    return at, source


def _candidates(endpoint: PrototypeEndpoint, now: datetime) -> Candidates:
    last = endpoint.last_run_at or now
    candidates: Candidates = [(last + endpoint.baseline, Source.BASELINE_INTERVAL)]
    if endpoint.hinted(now) and endpoint.hint_interval is not None:
        candidates.append((last + endpoint.hint_interval, Source.AI_INTERVAL))
    if endpoint.hinted(now) and endpoint.hint_at is not None:
        candidates.append((endpoint.hint_at, Source.AI_ONESHOT))
    return candidates


class SteeredPrototype(SteeredEndpoint[Sample]):
    """Writes straight into the endpoint, as the prototype's tools did."""

    def __init__(self, endpoint: PrototypeEndpoint, series: MeasuredSeries[Sample], *, clock: Clock) -> None:
        super().__init__(endpoint.table.name, series)
        self._endpoint = endpoint
        self._clock = clock
        self.records: list[HintRecord] = []

    @property
    def now(self) -> datetime:
        return self._clock.now()

    async def next_run_at(self) -> datetime | None:
        return self._endpoint.next_run_at

    async def paused(self) -> bool:
        return self._endpoint.paused(self.now)

    async def interval_ms(self) -> int:
        endpoint = self._endpoint
        hinted = endpoint.hint_interval if endpoint.hinted(self.now) else None
        return (hinted or endpoint.baseline) // timedelta(milliseconds=1)

    async def propose_interval(self, interval_ms: int, *, ttl_minutes: int) -> None:
        """Erases the one-shot."""
        endpoint, interval = self._endpoint, timedelta(milliseconds=interval_ms)
        endpoint.hint_interval, endpoint.hint_at = interval, None
        endpoint.hint_expires_at = self.now + timedelta(minutes=ttl_minutes)
        self._note(HintKind.INTERVAL, endpoint.hint_expires_at, interval_ms=interval_ms)
        endpoint.nudge(self.now, self.now + interval)

    async def propose_next_time(self, in_ms: int, *, ttl_minutes: int) -> None:
        """Erases the interval."""
        endpoint, at = self._endpoint, self.now + timedelta(milliseconds=in_ms)
        endpoint.hint_interval, endpoint.hint_at = None, at
        endpoint.hint_expires_at = self.now + timedelta(minutes=ttl_minutes)
        self._note(HintKind.ONE_SHOT, endpoint.hint_expires_at, at=at)
        endpoint.nudge(self.now, at)

    async def clear_hints(self) -> None:
        endpoint = self._endpoint
        endpoint.hint_interval = endpoint.hint_at = endpoint.hint_expires_at = None
        self._note(HintKind.CLEAR, None)

    async def pause(self, span: timedelta) -> None:
        self._endpoint.paused_until = self.now + span
        self._note(HintKind.PAUSE, self._endpoint.paused_until)

    async def resume(self) -> None:
        self._endpoint.paused_until = None
        self._note(HintKind.RESUME, None)
        self._endpoint.nudge(self.now, self.now + timedelta(milliseconds=SOON_MS))

    def _note(
        self,
        kind: HintKind,
        expires_at: datetime | None,
        *,
        interval_ms: int | None = None,
        at: datetime | None = None,
    ) -> None:
        self.records.append(HintRecord(kind, self.now, ORIGIN, None, expires_at, interval_ms, at))


class PrototypeSimulation(Generic[Sample]):
    """The prototype's scheduler: it claims ahead, locks, and runs one after the other."""

    def __init__(self, scenario: Scenario[Sample]) -> None:
        self.clock: Clock = FakeClock(START)
        self.series: MeasuredSeries[Sample] = MeasuredSeries()
        self.runs: list[RecordedRun] = []
        self._scenario = scenario
        self._endpoints = [_new(endpoint) for endpoint in scenario.endpoints]
        self._steered_endpoints = {
            endpoint.table.name: SteeredPrototype(endpoint, self.series, clock=self.clock)
            for endpoint in self._endpoints
        }
        self.steered: Mapping[str, SteeredEndpoint[Sample]] = self._steered_endpoints

    async def open(self) -> None:
        """The endpoints exist already."""

    async def tick(self) -> None:
        for endpoint in self._claim():
            self._run(endpoint, self.clock.now())

    async def drain(self) -> None:
        """What this claims, its own tick finds locked: it runs when the lock has passed."""
        while self._claim():
            await self.tick()

    async def history(self) -> StoreHistory:
        return StoreHistory(
            hints={
                name: tuple(reversed(endpoint.records)) for name, endpoint in self._steered_endpoints.items()
            }
        )

    def _claim(self) -> Sequence[PrototypeEndpoint]:
        now = self.clock.now()
        ready = [endpoint for endpoint in self._endpoints if endpoint.claimable(now)]
        claimed = sorted(ready, key=lambda endpoint: endpoint.next_run_at)[:CLAIM_LIMIT]
        for endpoint in claimed:
            endpoint.locked_until = now + LOCK
        return claimed

    def _run(self, endpoint: PrototypeEndpoint, now: datetime) -> None:
        if endpoint.table.measures:
            self.series.add(endpoint.table.name, Measured(now, self._scenario.world.sample(now)))
        source = endpoint.settle(now)
        self.runs.append(RecordedRun(now, endpoint.table.name, source, endpoint.next_run_at))


def _new(table: SimulatedEndpoint) -> PrototypeEndpoint:
    if table.dormant:
        return PrototypeEndpoint(table, START + DORMANT_DUE, DORMANT_UNTIL)
    return PrototypeEndpoint(table, START, None)


class Reference(NamedTuple):
    """Published counts, by endpoint and by the governor's answer after each run."""

    runs: Mapping[str, int]
    sources: Mapping[str, int]


class Parity(NamedTuple):
    """The counts of the prototype's simulation, and the published ones, if there are any."""

    runs: Mapping[str, int]
    sources: Mapping[str, int]
    reference: Reference | None
    broken: Sequence[str] = ()
    """The checks that the published rules fail, where they are only measured by them."""

    @property
    def equal(self) -> bool | None:
        """Are all counts the published ones? None where none were published."""
        if self.reference is None:
            return None
        return (self.runs, self.sources) == (self.reference.runs, self.reference.sources)

    @property
    def sentence(self) -> str:
        """The comparison as one line of text."""
        total = sum(self.runs.values())
        if self.reference is None:
            line = f"as published: {total} runs; no counts were published to compare them with"
            return f"{line}; fails {', '.join(self.broken)}" if self.broken else line
        line = f"as published: {total} runs of {sum(self.reference.runs.values())}"
        differing = [*_differences(self.runs, self.reference.runs)]
        differing += _differences(self.sources, self.reference.sources)
        if differing:
            return f"{line}, differing in {', '.join(differing)}"
        return f"{line}, per endpoint and per source equal"


def compared(recording: Recording, reference: Reference | None, broken: Sequence[str] = ()) -> Parity:
    """The counts of the prototype's recording beside the published ones."""
    return Parity(recording.counts(), recording.sources(), reference, broken)


def _differences(found: Mapping[str, int], published: Mapping[str, int]) -> list[str]:
    return [
        f"{name} ({found.get(name, 0)} instead of {published.get(name, 0)})"
        for name in {**published, **found}
        if found.get(name, 0) != published.get(name, 0)
    ]
