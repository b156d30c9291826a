"""The flash sale: its phases, its endpoints, and what a snapshot shows."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from cadenza.sim.flash_sale.policies import CORRECTED, Corrections, Sale, policies
from cadenza.sim.scenario import Row, Scenario, SimulatedEndpoint, SnapshotColumn
from cadenza.sim.steered_endpoint import PauseTiming, SteeredEndpoint
from cadenza.sim.world import Phase, World

NAME = "flash-sale"
RUN_MS = 150

WORLD = World(
    (
        Phase("baseline", 0, Sale(1000, 40, 800, 100, 120)),
        Phase("surge", 5, Sale(5000, 180, 1800, 250, 280)),
        Phase("strain", 9, Sale(5500, 160, 3200, 450, 850)),
        Phase("critical", 13, Sale(6000, 120, 4500, 600, 1200)),
        Phase("recovery", 21, Sale(1500, 50, 1100, 150, 180)),
    )
)

COLUMNS = (
    SnapshotColumn("minute"),
    SnapshotColumn("traffic", "/min"),
    SnapshotColumn("orders", "/min"),
    SnapshotColumn("pageLoad", "ms"),
    SnapshotColumn("invLag", "ms"),
    SnapshotColumn("dbQuery", "ms"),
    SnapshotColumn("nextCheck", "s"),
)

HEALTH = (
    SimulatedEndpoint(name="traffic_monitor", tier="health", baseline_s=60, min_s=20, max_s=300),
    SimulatedEndpoint(name="order_processor_health", tier="health", baseline_s=120, min_s=60, max_s=300),
    SimulatedEndpoint(name="inventory_sync_check", tier="health", baseline_s=180, min_s=30, max_s=600),
)
INVESTIGATION = (
    SimulatedEndpoint(
        name="slow_page_analyzer", tier="investigation", baseline_s=90, min_s=60, max_s=300, dormant=True
    ),
    SimulatedEndpoint(
        name="database_query_trace", tier="investigation", baseline_s=120, min_s=60, max_s=300, dormant=True
    ),
)


def flash_sale(corrections: Corrections = CORRECTED) -> Scenario[Sale]:
    """The whole scenario, with the policies as wanted."""
    return Scenario(
        name=NAME,
        world=WORLD,
        endpoints=(*HEALTH, *INVESTIGATION, *_actions(corrections.pause_timing)),
        policies=policies(corrections),
        columns=COLUMNS,
        observe=_observe,
        run_ms=RUN_MS,
    )


def unsteered_sale() -> Scenario[Sale]:
    """The sale without policies, and with actions that do not pause themselves: planners steer it."""
    scenario = flash_sale()
    awake = tuple(replace(endpoint, pauses_itself=False) for endpoint in scenario.endpoints)
    return replace(scenario, endpoints=awake, policies={})


def _actions(pause_timing: PauseTiming) -> tuple[SimulatedEndpoint, ...]:
    table = (
        ("cache_warm_up", "recovery", 600),
        ("scale_checkout_workers", "recovery", 900),
        ("slack_operations", "alert", 600),
        ("slack_customer_support", "alert", 900),
        ("emergency_oncall_page", "alert", 7200),
    )
    return tuple(
        SimulatedEndpoint(
            name=name,
            tier=tier,
            baseline_s=60,
            min_s=5,
            max_s=max_s,
            dormant=True,
            pauses_itself=pause_timing is PauseTiming.WHEN_SETTLED,
        )
        for name, tier, max_s in table
    )


async def _observe(steered: Mapping[str, SteeredEndpoint[Sale]]) -> Row:
    """The latest sample that anybody took, and how long after it the traffic is looked at next."""
    monitor = steered["traffic_monitor"]
    at, sale = monitor.shared[-1]
    next_run_at = await monitor.next_run_at()
    return {
        "traffic": sale.traffic,
        "orders": sale.orders,
        "pageLoad": sale.page_load_ms,
        "invLag": sale.inventory_lag_ms,
        "dbQuery": sale.db_query_ms,
        "nextCheck": None if next_run_at is None else (next_run_at - at) // timedelta(seconds=1),
    }
