"""How each endpoint of the flash sale is steered. The first rule that matches wins."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from typing import NamedTuple

from cadenza.sim.scenario import SteeringPolicy
from cadenza.sim.steered_endpoint import LONG_PAUSE, ActionTiming, PauseTiming, SteeredEndpoint


class Sale(NamedTuple):
    """What a run of any endpoint measures."""

    traffic: int
    orders: int
    page_load_ms: int
    inventory_lag_ms: int
    db_query_ms: int


SalePolicy = SteeringPolicy[Sale]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrections:
    """The two ways in which the policies depart from the published ones."""

    pause_timing: PauseTiming
    """When an action is paused again."""
    widen_from_traffic: int
    """The traffic from which few orders widen the order check; below it, few orders are a quiet shop."""


AS_PUBLISHED = Corrections(pause_timing=PauseTiming.AT_ONCE, widen_from_traffic=0)
CORRECTED = Corrections(pause_timing=PauseTiming.WHEN_SETTLED, widen_from_traffic=4000)


class IntervalTable(NamedTuple):
    """Intervals by thresholds of a value, and another interval below a calm value."""

    thresholds: tuple[tuple[int, int], ...]
    calm_below: int
    calm_s: int

    def interval_s(self, value: int) -> int | None:
        """The interval for a value; None between the calm value and the lowest threshold."""
        for least, seconds in self.thresholds:
            if value >= least:
                return seconds
        return self.calm_s if value < self.calm_below else None


class Orders(NamedTuple):
    """When the order processor is checked less often."""

    few: int = 130
    wide_s: int = 300
    usual_s: int = 120


class Band(NamedTuple):
    """An investigation begins above (or, if inclusive, at) one value and ends below another."""

    begin: int
    end: int
    inclusive: bool = False

    def begins(self, value: float) -> bool:
        """Is it bad enough to look into?"""
        return value > self.begin or (self.inclusive and value == self.begin)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRule:
    """What has to be so for an action, how long it is then left alone, and how long its hint holds."""

    cooldown_minutes: int
    ttl_minutes: int
    page_load_over: float = -inf
    page_load_from: float = -inf
    orders_below: float = inf
    traffic_from: float = -inf

    def met(self, sale: Sale) -> bool:
        """Is everything so?"""
        return (
            sale.page_load_ms > self.page_load_over
            and sale.page_load_ms >= self.page_load_from
            and sale.orders < self.orders_below
            and sale.traffic >= self.traffic_from
        )


TRAFFIC = IntervalTable(thresholds=((6000, 20), (4000, 30)), calm_below=2000, calm_s=60)
INVENTORY = IntervalTable(thresholds=((600, 30), (400, 60)), calm_below=200, calm_s=180)
ORDERS = Orders()
SLOW_PAGES = Band(begin=2000, end=1500)
SLOW_QUERIES = Band(begin=500, end=300, inclusive=True)
SLOW_PAGE_SAMPLES = 2
INVESTIGATION_TTL_MINUTES = 30
ACTIONS: Mapping[str, ActionRule] = {
    "cache_warm_up": ActionRule(cooldown_minutes=10, ttl_minutes=5, page_load_over=3000),
    "scale_checkout_workers": ActionRule(
        cooldown_minutes=15, ttl_minutes=5, orders_below=150, traffic_from=5000
    ),
    "slack_operations": ActionRule(cooldown_minutes=10, ttl_minutes=2, page_load_from=3000),
    "slack_customer_support": ActionRule(
        cooldown_minutes=15, ttl_minutes=2, orders_below=130, traffic_from=5500
    ),
    "emergency_oncall_page": ActionRule(
        cooldown_minutes=120, ttl_minutes=2, page_load_from=4000, orders_below=125
    ),
}


def follow_thresholds(read: Callable[[Sale], int], table: IntervalTable) -> SalePolicy:
    """Keep the interval that the endpoint's own latest sample asks for."""

    async def policy(endpoint: SteeredEndpoint[Sale]) -> None:
        seconds = table.interval_s(read(endpoint.own[-1].sample)) if endpoint.own else None
        if seconds is not None:
            await endpoint.keep_interval(seconds)

    return policy


def relax_order_check(corrections: Corrections) -> SalePolicy:
    """Check a struggling order processor less often."""

    async def policy(endpoint: SteeredEndpoint[Sale]) -> None:
        if not endpoint.own:
            return
        latest = endpoint.own[-1].sample
        if latest.orders < ORDERS.few and latest.traffic >= corrections.widen_from_traffic:
            await endpoint.keep_interval(ORDERS.wide_s)
        elif await endpoint.interval_ms() > ORDERS.usual_s * 1_000:
            await endpoint.keep_interval(ORDERS.usual_s)

    return policy


def investigate(read: Callable[[Sale], int], band: Band, *, samples: int = 1) -> SalePolicy:
    """Wake an investigator while the mean of the latest shared samples is bad."""

    async def policy(endpoint: SteeredEndpoint[Sale]) -> None:
        recent = [read(measured.sample) for measured in endpoint.shared[-samples:]]
        if not recent:
            return
        mean, paused = sum(recent) / len(recent), await endpoint.paused()
        if band.begins(mean) and paused:
            await endpoint.wake(ttl_minutes=INVESTIGATION_TTL_MINUTES)
        elif mean < band.end and not paused:
            await endpoint.pause(LONG_PAUSE)

    return policy


def act(rule: ActionRule, pause_timing: PauseTiming) -> SalePolicy:
    """Act once when the latest shared sample asks for it, then leave it alone for the cooldown."""
    action = ActionTiming(
        cooldown=timedelta(minutes=rule.cooldown_minutes),
        ttl_minutes=rule.ttl_minutes,
        pause_timing=pause_timing,
    )

    async def policy(endpoint: SteeredEndpoint[Sale]) -> None:
        if endpoint.shared and rule.met(endpoint.shared[-1].sample):
            await endpoint.act(action)

    return policy


def policies(corrections: Corrections) -> dict[str, SalePolicy]:
    """All of them, in the order in which they plan."""
    return {
        "traffic_monitor": follow_thresholds(lambda sale: sale.traffic, TRAFFIC),
        "order_processor_health": relax_order_check(corrections),
        "inventory_sync_check": follow_thresholds(lambda sale: sale.inventory_lag_ms, INVENTORY),
        "slow_page_analyzer": investigate(
            lambda sale: sale.page_load_ms, SLOW_PAGES, samples=SLOW_PAGE_SAMPLES
        ),
        "database_query_trace": investigate(lambda sale: sale.db_query_ms, SLOW_QUERIES),
        **{name: act(rule, corrections.pause_timing) for name, rule in ACTIONS.items()},
    }
