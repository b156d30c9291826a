"""The flash sale under its rules file: in the simulator, and on the real worker over real HTTP."""

from collections.abc import Sequence
from datetime import datetime

import pytest
from tests.planning.rules.flash_sale_rules import under_rules

from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.steer import HintRecord
from cadenza.ports.planning import Planner
from cadenza.ports.store import Store
from cadenza.sim.catalogue import run_product
from cadenza.sim.checks import run_checks
from cadenza.sim.flash_sale.checks import CHECKS
from cadenza.sim.flash_sale.scenario import flash_sale, unsteered_sale
from cadenza.sim.planner_run import run_planner
from cadenza.sim.product_run import TENANT
from cadenza.sim.recording import Recording

HEALTH = ("traffic_monitor", "order_processor_health", "inventory_sync_check")
INVESTIGATION = ("slow_page_analyzer", "database_query_trace")
ALERTS = ("slack_operations", "slack_customer_support", "emergency_oncall_page")
ACTIONS = ("cache_warm_up", "scale_checkout_workers", *ALERTS)
Event = tuple[str, str]
LEFT_OUT = ("health-1-traffic-critical", "recover-1-cache", "rest-1-cache", "investigate-3-pages-fine")


def events(name: str, newest_first: Sequence[HintRecord]) -> list[tuple[datetime, Event]]:
    """What was asked of an endpoint, oldest first; a one-shot and a resumption are one waking."""
    told = []
    for hint in reversed(newest_first):
        if hint.kind is HintKind.INTERVAL:
            told.append((hint.written_at, (name, f"every {hint.interval_ms}")))
        elif hint.kind is not HintKind.ONE_SHOT:
            word = "wake" if hint.kind is HintKind.RESUME else str(hint.kind)
            told.append((hint.written_at, (name, word)))
    return told


def steering(recording: Recording) -> list[tuple[datetime, Event]]:
    """All steering of a simulation; what happens at one moment stands in the order of the endpoints."""
    told = [event for name, hints in recording.history.hints.items() for event in events(name, hints)]
    return sorted(told, key=lambda event: event[0])


async def test_in_the_simulator_the_rules_steer_as_the_policies_do() -> None:
    policies = await run_product(flash_sale())
    rules = await run_planner(unsteered_sale(), under_rules)
    assert steering(rules) == steering(policies)
    expected = policies.counts()
    assert rules.counts().keys() == expected.keys()
    for name, count in rules.counts().items():
        assert abs(count - expected[name]) <= expected[name] / 10, (name, count, expected[name])
    assert rules.order() == policies.order()


def failing(recording: Recording) -> list[str]:
    """The checks of the sale that fail, but for the one that asks runs to pause themselves: rules do that."""
    found = [check.name for check in run_checks(recording, CHECKS) if not check.passed]
    return [name for name in found if name != "actions-rest-after-each-run"]


async def test_in_the_simulator_the_checks_of_the_sale_pass_under_rules() -> None:
    assert failing(await run_planner(unsteered_sale(), under_rules)) == []


@pytest.mark.parametrize("left_out", LEFT_OUT)
async def test_without_a_rule_the_story_is_another_one(left_out: str) -> None:
    async def make_planners(store: Store) -> list[Planner]:
        planners = await under_rules(store)
        await store.rules.remove_rule(TENANT, left_out)
        return planners

    assert failing(await run_planner(unsteered_sale(), make_planners)) != []
