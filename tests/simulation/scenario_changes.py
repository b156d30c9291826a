"""Scenarios with one thing changed, and rules of the product with one thing broken."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from cadenza.adapters.stores.memory import tables
from cadenza.domain.scheduling import due, settle, steer
from cadenza.domain.scheduling.endpoint import NO_GUARD, Endpoint, evolve
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.scheduling.run import Completion
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.validation import milliseconds
from cadenza.engine.worker import settle as worker_settle
from cadenza.sim import product_run
from cadenza.sim.catalogue import run_product
from cadenza.sim.checks import Check, CheckRules, run_checks
from cadenza.sim.scenario import Scenario, SteeringPolicy


def with_policy(scenario: Scenario[Any], name: str, policy: SteeringPolicy[Any]) -> Scenario[Any]:
    return replace(scenario, policies={**scenario.policies, name: policy})


def with_endpoint(scenario: Scenario[Any], name: str, **changes: Any) -> Scenario[Any]:
    endpoints = (
        replace(endpoint, **changes) if endpoint.name == name else endpoint for endpoint in scenario.endpoints
    )
    return replace(scenario, endpoints=tuple(endpoints))


def with_creation_order(scenario: Scenario[Any], *names: str) -> Scenario[Any]:
    """The named endpoints first."""
    endpoints = sorted(scenario.endpoints, key=lambda endpoint: endpoint.name not in names)
    return replace(scenario, endpoints=tuple(endpoints))


def ignore_the_guard(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Endpoint, "effective_guard", property(lambda _: NO_GUARD))


def let_no_hint_relax(patch: pytest.MonkeyPatch) -> None:
    """The rule that the earliest candidate wins."""

    def tightening(endpoint: Endpoint, **circumstances: Any) -> Endpoint:
        return steer.plan_first_run(evolve(endpoint, hint_mode=HintMode.TIGHTEN), **circumstances)

    patch.setattr(product_run, "plan_first_run", tightening)


def forget_verdicts(patch: pytest.MonkeyPatch) -> None:
    def undecided(endpoint: Endpoint, completion: Completion, **circumstances: Any) -> SettledRun:
        settled = settle.settle(endpoint, completion, **circumstances)
        return settled._replace(run=settled.run._replace(verdict=False))

    patch.setattr(worker_settle, "settle", undecided)


def claim_too_late(patch: pytest.MonkeyPatch) -> None:
    def later(endpoint: Endpoint) -> Any:
        moment = due.claimable_at(endpoint)
        return None if moment is None else moment + milliseconds(15_000)

    patch.setattr(tables, "claimable_at", later)


async def verdicts(scenario: Scenario[Any], rules: CheckRules) -> Mapping[str, Check]:
    """The checks of a scenario, simulated anew, by their names."""
    recording = await run_product(scenario)
    return {check.name: check for check in run_checks(recording, rules)}
