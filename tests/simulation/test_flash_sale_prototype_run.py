from dataclasses import replace
from datetime import timedelta

import pytest
from tests.simulation.scenario_changes import with_endpoint

from cadenza.domain.scheduling.plan import Source
from cadenza.sim.catalogue import run_prototype, simulate
from cadenza.sim.checks import run_checks
from cadenza.sim.flash_sale.policies import AS_PUBLISHED
from cadenza.sim.flash_sale.reference import CHECKS
from cadenza.sim.flash_sale.scenario import flash_sale
from cadenza.sim.prototype_run import PrototypeEndpoint, plan
from cadenza.sim.scenario import SimulatedEndpoint
from cadenza.sim.world import START

RUNS = {
    "traffic_monitor": 201,
    "order_processor_health": 43,
    "inventory_sync_check": 67,
    "slow_page_analyzer": 27,
    "database_query_trace": 27,
    "cache_warm_up": 24,
    "scale_checkout_workers": 27,
    "slack_operations": 24,
    "slack_customer_support": 27,
    "emergency_oncall_page": 0,
}
SOURCES = {"baseline-interval": 224, "ai-interval": 189, "clamped-min": 54}


def a_published_endpoint() -> PrototypeEndpoint:
    table = SimulatedEndpoint(name="endpoint", tier="health", baseline_s=60, min_s=5, max_s=300)
    return PrototypeEndpoint(table, START, None)


async def test_the_published_rules_give_the_published_counts() -> None:
    recording = await run_prototype(flash_sale(AS_PUBLISHED))
    assert recording.counts() == RUNS
    assert recording.sources() == SOURCES
    assert len(recording.runs) == 467
    assert recording.tiers() == {"health": 311, "investigation": 54, "recovery": 51, "alert": 51}


async def test_the_published_checks_pass_and_there_are_eighteen() -> None:
    report = await simulate("flash-sale", as_published=True)
    assert [check for check in report.checks if not check.passed] == []
    assert len(report.checks) == 18
    assert report.passed


async def test_in_strain_the_traffic_is_looked_at_again_after_15_s() -> None:
    recording = await run_prototype(flash_sale(AS_PUBLISHED))
    assert {snapshot.row["nextCheck"] for snapshot in recording.snapshots[9:13]} == {15}


async def test_two_simulations_are_equal() -> None:
    first, second = [await run_prototype(flash_sale(AS_PUBLISHED)) for _ in range(2)]
    assert (first.runs, first.snapshots) == (second.runs, second.snapshots)


async def test_the_published_checks_can_fail() -> None:
    quiet = replace(flash_sale(AS_PUBLISHED), policies={})
    for name in ("order_processor_health", "inventory_sync_check"):
        quiet = with_endpoint(quiet, name, dormant=True)
    recording = await run_prototype(with_endpoint(quiet, "traffic_monitor", baseline_s=300))
    failing = {check.name for check in run_checks(recording, CHECKS) if not check.passed}
    assert failing == set(CHECKS) - {
        "next-check-relaxes",
        "oncall-at-most-twice",
        "operations-with-support",
        "health-outruns-investigation",
        "forty-snapshots",
    }


@pytest.mark.parametrize("later_s", [0, 30, 60])
def test_the_published_governor_plans_from_the_run_before(later_s: int) -> None:
    endpoint, now = a_published_endpoint(), START + timedelta(seconds=later_s)
    endpoint.last_run_at = START
    assert endpoint.settle(now) is Source.BASELINE_INTERVAL
    assert endpoint.next_run_at == START + timedelta(seconds=60)
    assert endpoint.last_run_at == now


def test_a_published_one_shot_is_not_consumed() -> None:
    endpoint = a_published_endpoint()
    endpoint.hint_at, endpoint.hint_expires_at = START, START + timedelta(minutes=2)
    later = START + timedelta(seconds=30)
    endpoint.last_run_at = START + timedelta(seconds=10)
    assert plan(endpoint, later) == (later, Source.AI_ONESHOT)
    assert endpoint.settle(later) is Source.AI_ONESHOT
    assert plan(endpoint, later) == (later + timedelta(seconds=5), Source.CLAMPED_MIN)


def test_a_published_nudge_is_ignored_while_paused_and_only_moves_earlier() -> None:
    endpoint, soon = a_published_endpoint(), START + timedelta(seconds=30)
    endpoint.next_run_at, endpoint.paused_until = START + timedelta(seconds=60), START + timedelta(hours=1)
    endpoint.nudge(START, soon)
    assert endpoint.next_run_at == START + timedelta(seconds=60)
    endpoint.paused_until = None
    endpoint.nudge(START, soon)
    assert endpoint.next_run_at == soon
    endpoint.nudge(START, START + timedelta(seconds=45))
    assert endpoint.next_run_at == soon
    endpoint.nudge(START, START)
    assert endpoint.next_run_at == START + timedelta(seconds=5)
