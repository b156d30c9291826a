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
from cadenza.sim.steered_endpoint import FOR_LONG, SOON_MS

NAME = "scripted"
TTL_MINUTES = 60


class ScriptedPlanner:
    """Knows the sale's thresholds; what it remembers are the cooldowns."""

    def __init__(self) -> None:
        self._left_alone_until: dict[str, datetime] = {}

    @property
    def name(self) -> str:
        """What its sittings are recorded as."""
        return NAME

    def wants(self, briefing: Briefing) -> bool:
        """Only when there is an answer to read."""
        return _latest(briefing) is not None

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        """Set the endpoint's own pace, and wake or rest its siblings."""
        sale = _latest(briefing)
        if sale is None:
            return EMPTY_RESULT
        sitting = _Sitting(briefing, call, sale)
        await sitting.set_pace()
        await sitting.investigate("slow_page_analyzer", sale.page_load_ms, SLOW_PAGES)
        await sitting.investigate("database_query_trace", sale.db_query_ms, SLOW_QUERIES)
        for name, rule in ACTIONS.items():
            if (
                rule.met(sale)
                and self._rested(name, briefing.now)
                and await sitting.wake(name, rule.ttl_minutes)
            ):
                self._left_alone_until[name] = briefing.now + timedelta(minutes=rule.cooldown_minutes)
        return PlannerResult(" ".join(sitting.said))

    def _rested(self, name: str, now: datetime) -> bool:
        until = self._left_alone_until.get(name)
        return until is None or now >= until


class _Sitting:
    """One answer, and what is done about it."""

    def __init__(self, briefing: Briefing, call: CallTool, sale: Sale) -> None:
        self._now = briefing.now
        self._own = briefing.endpoint
        self._endpoints: dict[str, Endpoint] = {**briefing.siblings, self._own.name: self._own}
        self._call = call
        self._sale = sale
        self.said: list[str] = []

    async def set_pace(self) -> None:
        seconds = _pace_s(self._own.name, self._sale)
        if seconds is not None and _interval_ms(self._own, self._now) != seconds * 1_000:
            arguments = {"intervalMs": seconds * 1_000, "ttlMinutes": TTL_MINUTES, "reason": str(self._sale)}
            await self._use(self._own.name, "propose_interval", arguments)

    async def investigate(self, name: str, value: int, band: Any) -> None:
        if band.begins(value):
            await self.wake(name, INVESTIGATION_TTL_MINUTES)
        elif value < band.end and name in self._endpoints and not self._endpoints[name].paused(self._now):
            await self._use(name, "pause_until", {"untilIso": iso(self._now + FOR_LONG)})

    async def wake(self, name: str, ttl_minutes: int) -> bool:
        """Open the gate of one that rests, and let it run soon; False if it does not rest."""
        if name not in self._endpoints or not self._endpoints[name].paused(self._now):
            return False
        await self._use(name, "pause_until", {"untilIso": None, "reason": str(self._sale)})
        await self._use(name, "propose_next_time", {"nextRunInMs": SOON_MS, "ttlMinutes": ttl_minutes})
        return True

    async def _use(self, name: str, tool: str, arguments: Mapping[str, Any]) -> None:
        self._endpoints[name] = (await self._call(self._endpoints[name], tool, arguments)).endpoint
        self.said.append(f"{tool} of {name}.")


def _latest(briefing: Briefing) -> Sale | None:
    """What the endpoint's newest run measured."""
    for run in briefing.recent:
        if run.status in COUNTED:
            return Sale(**run.response) if isinstance(run.response, dict) else None  # type: ignore[arg-type]
    return None


def _pace_s(name: str, sale: Sale) -> int | None:
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
