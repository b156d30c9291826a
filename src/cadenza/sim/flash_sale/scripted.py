"""A planner for the flash sale that reads one answer at a time and calls tools, as a model would."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from cadenza.domain.planning.health import COUNTED
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.validation import iso
from cadenza.ports.planning import EMPTY_RESULT, Briefing, CallTool, PlannerResult
from cadenza.sim.flash_sale.policies import (
    ACTIONS,
    CORRECTED,
    INVENTORY,
    INVESTIGATION_TTL_MINUTES,
    ORDERS,
    SLOW_PAGES,
    SLOW_QUERIES,
    TRAFFIC,
    Sale,
)
from cadenza.sim.steered_endpoint import LONG_PAUSE, SOON_MS

NAME = "scripted"
TTL_MINUTES = 60


class ScriptedPlanner:
    """Applies the sale's thresholds, and remembers the cooldowns."""

    def __init__(self) -> None:
        self._cooldown_over: dict[str, datetime] = {}

    @property
    def name(self) -> str:
        """The name its analyses are recorded under."""
        return NAME

    def wants(self, briefing: Briefing) -> bool:
        """Whether there is a response to read."""
        return _latest(briefing) is not None

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        """Set the endpoint's own interval, and wake or pause its siblings."""
        sale = _latest(briefing)
        if sale is None:
            return EMPTY_RESULT
        calls = _ToolCalls(briefing, call, sale)
        await calls.set_interval()
        await calls.investigate("slow_page_analyzer", sale.page_load_ms, SLOW_PAGES)
        await calls.investigate("database_query_trace", sale.db_query_ms, SLOW_QUERIES)
        for name, rule in ACTIONS.items():
            if (
                rule.met(sale)
                and self._cooled_down(name, briefing.now)
                and await calls.wake(name, rule.ttl_minutes)
            ):
                self._cooldown_over[name] = briefing.now + timedelta(minutes=rule.cooldown_minutes)
        return PlannerResult(" ".join(calls.summary))

    def _cooled_down(self, name: str, now: datetime) -> bool:
        until = self._cooldown_over.get(name)
        return until is None or now >= until


class _ToolCalls:
    """The tool calls of one analysis."""

    def __init__(self, briefing: Briefing, call: CallTool, sale: Sale) -> None:
        self._now = briefing.now
        self._own = briefing.endpoint
        self._endpoints: dict[str, Endpoint] = {**briefing.siblings, self._own.name: self._own}
        self._call = call
        self._sale = sale
        self.summary: list[str] = []

    async def set_interval(self) -> None:
        seconds = _interval_s(self._own.name, self._sale)
        if seconds is not None and _interval_ms(self._own, self._now) != seconds * 1_000:
            arguments = {"intervalMs": seconds * 1_000, "ttlMinutes": TTL_MINUTES, "reason": str(self._sale)}
            await self._use(self._own.name, "propose_interval", arguments)

    async def investigate(self, name: str, value: int, band: Any) -> None:
        if band.begins(value):
            await self.wake(name, INVESTIGATION_TTL_MINUTES)
        elif value < band.end and name in self._endpoints and not self._endpoints[name].paused(self._now):
            await self._use(name, "pause_until", {"untilIso": iso(self._now + LONG_PAUSE)})

    async def wake(self, name: str, ttl_minutes: int) -> bool:
        """Resume a paused endpoint and let it run soon; False if it is not paused."""
        if name not in self._endpoints or not self._endpoints[name].paused(self._now):
            return False
        await self._use(name, "pause_until", {"untilIso": None, "reason": str(self._sale)})
        await self._use(name, "propose_next_time", {"nextRunInMs": SOON_MS, "ttlMinutes": ttl_minutes})
        return True

    async def _use(self, name: str, tool: str, arguments: Mapping[str, Any]) -> None:
        self._endpoints[name] = (await self._call(self._endpoints[name], tool, arguments)).endpoint
        self.summary.append(f"{tool} of {name}.")


def _latest(briefing: Briefing) -> Sale | None:
    """What the endpoint's newest run measured."""
    for run in briefing.recent:
        if run.status in COUNTED:
            return Sale(**run.response) if isinstance(run.response, dict) else None  # type: ignore[arg-type]
    return None


def _interval_s(name: str, sale: Sale) -> int | None:
    match name:
        case "traffic_monitor":
            return TRAFFIC.interval_s(sale.traffic)
        case "inventory_sync_check":
            return INVENTORY.interval_s(sale.inventory_lag_ms)
        case "order_processor_health":
            struggling = sale.orders < ORDERS.few and sale.traffic >= CORRECTED.widen_from_traffic
            return ORDERS.wide_s if struggling else ORDERS.usual_s
        case _:
            return None


def _interval_ms(endpoint: Endpoint, now: datetime) -> int:
    hint = endpoint.interval_hint
    if hint is not None and hint.fresh(now):
        return hint.interval_ms
    assert isinstance(endpoint.baseline, Every), "scenarios know intervals only"
    return endpoint.baseline.interval_ms
