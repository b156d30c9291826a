"""The scenarios by their names, and how one is simulated."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.sim.analyst_steps import Seating
from cadenza.sim.checks import Judges, examine
from cadenza.sim.flash_sale import checks as sale_checks
from cadenza.sim.flash_sale import reference as sale_reference
from cadenza.sim.flash_sale.policies import AS_PUBLISHED
from cadenza.sim.flash_sale.scenario import flash_sale
from cadenza.sim.loop import STEP_S, play
from cadenza.sim.planner_run import play_planned
from cadenza.sim.product_run import EngineStage
from cadenza.sim.prototype_run import PublishedStage, Reference, compared
from cadenza.sim.recording import Recording
from cadenza.sim.report import Mode, Report
from cadenza.sim.scenario import Scenario
from cadenza.sim.system_resources import checks as host_checks
from cadenza.sim.system_resources.scenario import system_resources

STEPS_S = (1, 2, 5, 10)
"""Every moment of a scenario falls on a multiple of 5 s; these steps meet them all in the same order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A scenario in both modes, with what is asked of each."""

    corrected: Callable[[], Scenario[Any]]
    checks: Judges
    published: Callable[[], Scenario[Any]]
    published_checks: Judges = field(default_factory=dict)
    reference: Reference | None = None


CATALOGUE = {
    "flash-sale": Entry(
        corrected=flash_sale,
        checks=sale_checks.CHECKS,
        published=lambda: flash_sale(AS_PUBLISHED),
        published_checks=sale_reference.CHECKS,
        reference=sale_reference.REFERENCE,
    ),
    "system-resources": Entry(
        corrected=system_resources, checks=host_checks.CHECKS, published=system_resources
    ),
}


class Planners(NamedTuple):
    """Who steers in the place of a scenario's policies."""

    name: str
    seating: Seating


async def simulate(
    name: str, *, as_published: bool = False, step_s: int = STEP_S, planners: Planners | None = None
) -> Report:
    """Play a scenario and judge it; the published model is always played, and held against its reference."""
    if name not in CATALOGUE:
        raise NotFound(f"There is no scenario {name!r}; there are {', '.join(CATALOGUE)}.")
    _check_step(step_s, as_published=as_published)
    if as_published and planners is not None:
        raise InvalidRequest("The published rules have no planner but their own.", "planner")
    entry = CATALOGUE[name]
    published = await play_published(entry.published())
    if as_published:
        mode, recording, judges = Mode.AS_PUBLISHED, published, entry.published_checks
    elif planners is not None:
        recording = await play_planned(entry.corrected(), planners.seating, step_s=step_s)
        mode, judges = Mode.PLANNED, entry.checks
    else:
        recording = await play_corrected(entry.corrected(), step_s=step_s)
        mode, judges = Mode.CORRECTED, entry.checks
    return Report(
        mode=mode,
        step_s=step_s,
        recording=recording,
        checks=examine(recording, judges),
        parity=compared(published, entry.reference),
        planner=None if planners is None else planners.name,
    )


async def play_corrected(scenario: Scenario[Any], *, step_s: int = STEP_S) -> Recording:
    """Play a scenario on the product's own scheduler."""
    return await play(EngineStage(scenario), scenario, step_s=step_s)


async def play_published(scenario: Scenario[Any]) -> Recording:
    """Play a scenario by the published rules, which know one step."""
    return await play(PublishedStage(scenario), scenario)


def _check_step(step_s: int, *, as_published: bool) -> None:
    if as_published and step_s != STEP_S:
        raise InvalidRequest(f"The published rules step {STEP_S} seconds at a time.", "step_seconds")
    if step_s not in STEPS_S:
        choices = ", ".join(map(str, STEPS_S))
        raise InvalidRequest(f"A step must be one of {choices} seconds, not {step_s}.", "step_seconds")
