"""Simulates a scenario on product and prototype, for the dashboard."""

import asyncio
from threading import Lock
from typing import Any

from cadenza.domain.scheduling.steer import HintRecord
from cadenza.ports.simulations import (
    Simulated,
    SimulatedCheck,
    SimulatedCourse,
    SimulatedLane,
    SimulatedPhase,
    SimulatedRun,
    SimulatedSteering,
)
from cadenza.sim.catalogue import CATALOGUE, run_product, run_prototype
from cadenza.sim.checks import CheckRules, run_checks
from cadenza.sim.recording import Recording
from cadenza.sim.report import Mode
from cadenza.sim.scenario import Scenario
from cadenza.sim.world import END_S, MINUTES, elapsed_s


class Playback:
    """Simulates each scenario once, in a thread, and caches the result, which is always the same."""

    def __init__(self) -> None:
        self._known: dict[str, Simulated] = {}
        self._lock = Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """The scenarios there are."""
        return tuple(CATALOGUE)

    async def played(self, name: str) -> Simulated:
        """A scenario, simulated on product and prototype."""
        known = self._known.get(name)
        return known if known is not None else await asyncio.to_thread(self._play, name)

    def _play(self, name: str) -> Simulated:
        with self._lock:
            if name not in self._known:
                self._known[name] = asyncio.run(_both(name))
            return self._known[name]


async def _both(name: str) -> Simulated:
    entry = CATALOGUE[name]
    corrected = await run_product(entry.corrected())
    published = await run_prototype(entry.published())
    scenario = corrected.scenario
    return Simulated(
        scenario=name,
        minutes=MINUTES,
        phases=_phases(scenario),
        lanes=tuple(
            SimulatedLane(one.name, one.tier, one.baseline_s, one.min_s, one.max_s)
            for one in scenario.endpoints
        ),
        units={column.name: column.unit for column in scenario.columns if column.name != "minute"},
        corrected=_course(Mode.CORRECTED, corrected, entry.checks),
        as_published=_course(Mode.AS_PUBLISHED, published, entry.published_checks),
    )


def _phases(scenario: Scenario[Any]) -> tuple[SimulatedPhase, ...]:
    world = scenario.world
    return tuple(SimulatedPhase(one.name, *world.span_s(one.name)) for one in world.phases)


def _course(mode: Mode, recording: Recording, rules: CheckRules) -> SimulatedCourse:
    return SimulatedCourse(
        mode=mode,
        runs=_runs(recording),
        steering=_steering(recording),
        minutes=tuple(snapshot.row for snapshot in recording.snapshots),
        checks=tuple(SimulatedCheck(*check) for check in run_checks(recording, rules)),
    )


def _runs(recording: Recording) -> tuple[SimulatedRun, ...]:
    """Each with its cause; where the rules do not say, with what they answered after the run before."""
    answers: dict[str, str] = {}
    runs = []
    for one in recording.runs:
        cause = str(one.cause) if one.cause is not None else answers.get(one.endpoint, "first")
        answers[one.endpoint] = str(one.source)
        runs.append(SimulatedRun(elapsed_s(one.at), one.endpoint, cause))
    return tuple(runs)


def _steering(recording: Recording) -> tuple[SimulatedSteering, ...]:
    steering = [
        _steering_of(name, record)
        for name, records in recording.history.hints.items()
        for record in reversed(records)
    ]
    return tuple(sorted(steering, key=lambda one: (one.second, one.lane)))


def _steering_of(lane: str, record: HintRecord) -> SimulatedSteering:
    until = None if record.expires_at is None else elapsed_s(record.expires_at)
    return SimulatedSteering(
        second=elapsed_s(record.written_at),
        lane=lane,
        kind=str(record.kind),
        interval_s=None if record.interval_ms is None else record.interval_ms // 1_000,
        at_s=None if record.at is None else elapsed_s(record.at),
        until_s=None if until is None or until > END_S else until,
    )
