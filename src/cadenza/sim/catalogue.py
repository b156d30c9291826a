"""The scenarios by their names, and how one is simulated."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.sim.analyst_steps import PlannerFactory
from cadenza.sim.checks import CheckRules, run_checks
from cadenza.sim.flash_sale import checks as sale_checks
from cadenza.sim.flash_sale import reference as sale_reference
from cadenza.sim.flash_sale.policies import AS_PUBLISHED
from cadenza.sim.flash_sale.scenario import flash_sale
from cadenza.sim.loop import STEP_S, run_simulation
from cadenza.sim.planner_run import run_planner
from cadenza.sim.product_run import ProductSimulation
from cadenza.sim.prototype_run import PrototypeSimulation, Reference, compared
from cadenza.sim.recording import Recording
from cadenza.sim.report import Mode, Report
from cadenza.sim.scenario import Scenario
from cadenza.sim.system_resources import checks as host_checks
from cadenza.sim.system_resources.scenario import system_resources

STEPS_S = (1, 2, 5, 10)
"""Every moment of a scenario falls on a multiple of 5 s; these steps meet them all in the same order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """A scenario for the product and for the prototype, with the checks of each."""

    corrected: Callable[[], Scenario[Any]]
    checks: CheckRules
    published: Callable[[], Scenario[Any]]
    published_checks: CheckRules = field(default_factory=dict)
    published_judged: bool = True
    """Do the published rules have to pass their checks, or are they only measured by them?"""
    reference: Reference | None = None


CATALOGUE = {
    "flash-sale": CatalogueEntry(
        corrected=flash_sale,
        checks=sale_checks.CHECKS,
        published=lambda: flash_sale(AS_PUBLISHED),
        published_checks=sale_reference.CHECKS,
        reference=sale_reference.REFERENCE,
    ),
    "system-resources": CatalogueEntry(
        corrected=system_resources,
        checks=host_checks.CHECKS,
        published=lambda: system_resources(as_published=True),
        published_checks=host_checks.SEED_ASSERTIONS,
        published_judged=False,
    ),
}


class Planners(NamedTuple):
    """The planners that steer instead of a scenario's policies."""

    name: str
    make_planners: PlannerFactory


async def simulate(
    name: str, *, as_published: bool = False, step_s: int = STEP_S, planners: Planners | None = None
) -> Report:
    """Simulate a scenario and check it; the prototype is always simulated too, for comparison."""
    if name not in CATALOGUE:
        raise NotFound(f"Scenario {name!r} not found; available are {', '.join(CATALOGUE)}.")
    _check_step(step_s, as_published=as_published)
    if as_published and planners is not None:
        raise InvalidRequest("The published rules have no planner but their own.", "planner")
    entry = CATALOGUE[name]
    published = await run_prototype(entry.published())
    measured = run_checks(published, entry.published_checks)
    broken = [] if entry.published_judged else [check.name for check in measured if not check.passed]
    if as_published:
        mode, recording, rules = Mode.AS_PUBLISHED, published, entry.published_checks
    elif planners is not None:
        recording = await run_planner(entry.corrected(), planners.make_planners, step_s=step_s)
        mode, rules = Mode.PLANNED, entry.checks
    else:
        recording = await run_product(entry.corrected(), step_s=step_s)
        mode, rules = Mode.CORRECTED, entry.checks
    return Report(
        mode=mode,
        step_s=step_s,
        recording=recording,
        checks=run_checks(recording, rules),
        parity=compared(published, entry.reference, broken),
        judged=entry.published_judged if as_published else planners is None,
        planner=None if planners is None else planners.name,
    )


async def run_product(scenario: Scenario[Any], *, step_s: int = STEP_S) -> Recording:
    """Simulate a scenario on the product's own worker."""
    return await run_simulation(ProductSimulation(scenario), scenario, step_s=step_s)


async def run_prototype(scenario: Scenario[Any]) -> Recording:
    """Simulate a scenario by the rules of the published prototype, which know one step."""
    return await run_simulation(PrototypeSimulation(scenario), scenario)


def _check_step(step_s: int, *, as_published: bool) -> None:
    if as_published and step_s != STEP_S:
        raise InvalidRequest(f"The published rules step {STEP_S} seconds at a time.", "step_seconds")
    if step_s not in STEPS_S:
        choices = ", ".join(map(str, STEPS_S))
        raise InvalidRequest(f"A step must be one of {choices} seconds, not {step_s}.", "step_seconds")
