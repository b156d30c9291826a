"""Each of the eighteen checks fails when its rule is broken and the sale is simulated anew."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.simulation.scenario_changes import (
    claim_too_late,
    forget_verdicts,
    ignore_the_guard,
    let_no_hint_relax,
    verdicts,
    with_creation_order,
    with_endpoint,
    with_policy,
)

from cadenza.sim.flash_sale.checks import CHECKS
from cadenza.sim.flash_sale.policies import (
    ACTIONS,
    CORRECTED,
    INVENTORY,
    SLOW_PAGES,
    TRAFFIC,
    Band,
    Corrections,
    IntervalTable,
    act,
    follow_thresholds,
    investigate,
)
from cadenza.sim.flash_sale.scenario import flash_sale
from cadenza.sim.scenario import Scenario
from cadenza.sim.steered_endpoint import PauseTiming

Break = Callable[[pytest.MonkeyPatch], Scenario[Any]]


def traffic(table: IntervalTable) -> Break:
    policy = follow_thresholds(lambda sale: sale.traffic, table)
    return lambda _: with_policy(flash_sale(), "traffic_monitor", policy)


def inventory(table: IntervalTable) -> Break:
    policy = follow_thresholds(lambda sale: sale.inventory_lag_ms, table)
    return lambda _: with_policy(flash_sale(), "inventory_sync_check", policy)


def slow_pages(band: Band) -> Break:
    policy = investigate(lambda sale: sale.page_load_ms, band)
    return lambda _: with_policy(flash_sale(), "slow_page_analyzer", policy)


def action(name: str, **changes: int) -> Break:
    policy = act(replace(ACTIONS[name], **changes), PauseTiming.WHEN_SETTLED)
    return lambda _: with_policy(flash_sale(), name, policy)


def corrections(**changes: Any) -> Break:
    return lambda _: flash_sale(replace(CORRECTED, **changes))


def broken_rule(break_it: Callable[[pytest.MonkeyPatch], None]) -> Break:
    def apply(patch: pytest.MonkeyPatch) -> Scenario[Any]:
        break_it(patch)
        return flash_sale()

    return apply


def too_eager_without_a_guard(patch: pytest.MonkeyPatch) -> Scenario[Any]:
    ignore_the_guard(patch)
    return traffic(TRAFFIC._replace(thresholds=((4000, 10),)))(patch)


def only_the_inventory_is_watched(_: pytest.MonkeyPatch) -> Scenario[Any]:
    without_traffic = with_endpoint(flash_sale(), "traffic_monitor", dormant=True)
    return with_endpoint(without_traffic, "order_processor_health", dormant=True)


def on_call_is_created_first(_: pytest.MonkeyPatch) -> Scenario[Any]:
    return with_creation_order(flash_sale(), "emergency_oncall_page")


BREAKS: dict[str, Break] = {
    "traffic-tightens-in-surge": traffic(TRAFFIC._replace(thresholds=((6000, 20),))),
    "traffic-tightens-in-critical": traffic(TRAFFIC._replace(thresholds=((4000, 30),))),
    "traffic-returns-in-recovery": traffic(TRAFFIC._replace(calm_below=0)),
    "orders-keep-baseline-before-critical": corrections(widen_from_traffic=0),
    "orders-relax-in-critical": broken_rule(let_no_hint_relax),
    "inventory-tightens-in-strain": inventory(INVENTORY._replace(thresholds=((600, 30),))),
    "inventory-tightens-in-critical": inventory(INVENTORY._replace(thresholds=((400, 60),))),
    "health-returns-in-recovery": inventory(INVENTORY._replace(calm_below=0)),
    "investigators-wake-in-strain": slow_pages(SLOW_PAGES._replace(begin=4000)),
    "investigators-silent-otherwise": slow_pages(SLOW_PAGES._replace(end=0)),
    "actions-act-when-needed": action("cache_warm_up", page_load_over=10_000),
    "actions-keep-their-cooldown": action("slack_operations", cooldown_minutes=2),
    "actions-rest-after-each-run": corrections(pause_timing=PauseTiming.AT_ONCE),
    "alerts-escalate-in-order": on_call_is_created_first,
    "minimum-interval-kept": too_eager_without_a_guard,
    "one-verdict-per-slot": broken_rule(forget_verdicts),
    "runs-on-time": broken_rule(claim_too_late),
    "every-minute-seen": only_the_inventory_is_watched,
}


def test_there_are_eighteen_checks_and_each_is_broken_once() -> None:
    assert len(CHECKS) == 18
    assert set(BREAKS) == set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
async def test_a_check_fails_when_its_rule_is_broken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = (await verdicts(flash_sale(), CHECKS))[name]
    broken = (await verdicts(BREAKS[name](monkeypatch), CHECKS))[name]
    assert sound.passed
    assert not broken.passed
    assert broken.detail != sound.detail


async def test_without_the_guard_the_sale_itself_is_unharmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What breaks the minimum interval is the eager policy that the guard would have held back."""
    eager = traffic(TRAFFIC._replace(thresholds=((4000, 10),)))(monkeypatch)
    assert (await verdicts(eager, CHECKS))["minimum-interval-kept"].passed


async def test_a_missing_alert_is_no_escalation() -> None:
    silent = action("slack_customer_support", orders_below=0)(pytest.MonkeyPatch())
    check = (await verdicts(silent, CHECKS))["alerts-escalate-in-order"]
    assert not check.passed
    assert check.detail == "slack_customer_support never ran"


async def test_the_two_corrections_are_what_the_published_policies_lack() -> None:
    published = Corrections(pause_timing=PauseTiming.AT_ONCE, widen_from_traffic=0)
    failing = {
        name for name, check in (await verdicts(flash_sale(published), CHECKS)).items() if not check.passed
    }
    assert failing == {
        "orders-keep-baseline-before-critical",
        "health-returns-in-recovery",
        "actions-act-when-needed",
        "actions-keep-their-cooldown",
        "actions-rest-after-each-run",
        "alerts-escalate-in-order",
    }
