"""Simulations to look at: a scenario, played by the product's rules and by the published ones."""

from typing import Self

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Name
from cadenza.operations.operation import Command, View, operation
from cadenza.ports.simulations import Simulated, SimulatedCourse, Value


class GetSimulation(Command):
    """Which scenario."""

    scenario: Name = "flash-sale"


class PhaseView(View):
    """A stretch of the world, in seconds from the start."""

    name: str
    begin_s: int
    end_s: int


class LaneView(View):
    """An endpoint of the scenario."""

    name: str
    tier: str
    baseline_s: int
    min_s: int
    max_s: int | None


class SimulatedRunView(View):
    """A run, and what set its moment; by the published rules, what their governor said before it."""

    second: int
    lane: str
    cause: str


class SteeringView(View):
    """A hint, a pause or a resume."""

    second: int
    lane: str
    kind: str
    interval_s: int | None
    at_s: int | None
    until_s: int | None
    """When it ends; null if it does not end within the simulation."""


class CheckView(View):
    """Something that must hold, and whether it does."""

    name: str
    passed: bool
    detail: str


class PlayedView(View):
    """What happened under one set of rules."""

    mode: str
    runs: list[SimulatedRunView]
    steering: list[SteeringView]
    minutes: list[dict[str, Value]]
    """What was known of the world at the end of each."""
    checks: list[CheckView]

    @classmethod
    def of(cls, course: SimulatedCourse) -> Self:
        """The view of a course."""
        return cls(
            mode=course.mode,
            runs=[SimulatedRunView(**one._asdict()) for one in course.runs],
            steering=[SteeringView(**one._asdict()) for one in course.steering],
            minutes=[dict(row) for row in course.minutes],
            checks=[CheckView(**one._asdict()) for one in course.checks],
        )


class SimulationView(View):
    """A scenario, played both ways."""

    scenario: str
    scenarios: list[str]
    """All that there are."""
    minutes: int
    phases: list[PhaseView]
    lanes: list[LaneView]
    units: dict[str, str]
    corrected: PlayedView
    as_published: PlayedView

    @classmethod
    def of(cls, played: Simulated, scenarios: tuple[str, ...]) -> Self:
        """The view of a simulation."""
        return cls(
            scenario=played.scenario,
            scenarios=list(scenarios),
            minutes=played.minutes,
            phases=[PhaseView(**one._asdict()) for one in played.phases],
            lanes=[LaneView(**one._asdict()) for one in played.lanes],
            units=dict(played.units),
            corrected=PlayedView.of(played.corrected),
            as_published=PlayedView.of(played.as_published),
        )


@operation("GET /v1/simulation", Scope.READ, agent=False)
async def get_simulation(context: RequestContext, command: GetSimulation) -> SimulationView:
    """Simulate a scenario with both sets of rules: every run and what steered it."""
    simulations = context.dependencies.simulations
    if simulations is None:
        raise Unavailable("Simulations are not available here.")
    if command.scenario not in simulations.names:
        known = ", ".join(simulations.names)
        raise InvalidRequest(f"scenario must be one of {known}.", "scenario")
    return SimulationView.of(await simulations.played(command.scenario), simulations.names)


SIMULATIONS = (get_simulation,)
