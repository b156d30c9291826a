"""Closes conditions that are over without an alert that says so."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from cadenza.domain.monitoring.alert import AlertKind
from cadenza.domain.monitoring.condition import OF_ENDPOINTS, Condition, ConditionKey, close
from cadenza.domain.scheduling.abandon import given_up
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.ports.clock import Clock
from cadenza.ports.monitoring import SloStatus
from cadenza.ports.store import Store

EVERY = timedelta(minutes=1)
AT_ONCE = 500
FRESH = timedelta(hours=1)
"""A process that evaluated no SLO for so long has ended."""

SloPlace = tuple[str, str, str]


class Over(NamedTuple):
    """A condition that is over, and why."""

    condition: Condition
    why: str


class ConditionUpkeep:
    """Looks every minute through the conditions that are open, some at a time."""

    def __init__(self, store: Store, clock: Clock, *, released_after: timedelta) -> None:
        self._store = store
        self._clock = clock
        self._released_after = released_after
        self._looked_at: datetime | None = None

    async def find_over(self) -> list[Over]:
        """Conditions whose endpoint is well or deleted, whose month is over, or whose process ended.

        What made an endpoint well may have stored an alert that says so and is not applied yet: apply
        alerts before these are closed.
        """
        now = self._clock.now()
        if self._looked_at is not None and now - self._looked_at < EVERY:
            return []
        self._looked_at = now
        over = list[Over]()
        after: ConditionKey | None = None
        while found := await self._store.conditions.open_conditions(after=after, limit=AT_ONCE):
            over += await self._over_among(found, now)
            after = found[-1].key
            if len(found) < AT_ONCE:
                break
        return over

    async def close(self, over: Iterable[Over]) -> None:
        """Close conditions, but not those about which another alert was applied meanwhile."""
        now = self._clock.now()
        for condition, why in over:
            change = partial(_close_unless_changed, seen=condition, why=why, now=now)
            release_at = now + self._released_after
            await self._store.conditions.amend_condition(condition.key, change, release_at=release_at)

    async def _over_among(self, found: Sequence[Condition], now: datetime) -> list[Over]:
        keys = [
            EndpointKey(one.tenant_id, one.endpoint_id)
            for one in found
            if one.endpoint_id and _of_endpoint(one)
        ]
        endpoints = await self._store.statistics.endpoints_by_key(keys) if keys else []
        watched = any(one.kind is AlertKind.SLO for one in found)
        slos = await self._store.slos.slos(now - FRESH) if watched else []
        by_key = {one.key: one for one in endpoints}
        places = {_place(status) for status in slos}
        reasons = [why_over(one, endpoints=by_key, slos=places, now=now) for one in found]
        return [Over(one, why) for one, why in zip(found, reasons, strict=True) if why is not None]


def why_over(
    condition: Condition,
    *,
    endpoints: Mapping[EndpointKey, Endpoint],
    slos: set[SloPlace],
    now: datetime,
) -> str | None:
    """Why a condition is over that no alert has resolved; None if it is not."""
    facts = condition.alert.facts
    if condition.kind is AlertKind.QUOTA:
        return "its month is over." if str(facts.get("month")) < now.strftime("%Y-%m") else None
    if condition.kind is AlertKind.SLO:
        if now - condition.alert.raised_at < FRESH:
            return None
        place = (str(facts.get("process")), str(facts.get("scheduler")), str(facts.get("slo")))
        return None if place in slos else "its process does not report it any more."
    if condition.endpoint_id is None:
        return None
    endpoint = endpoints.get(EndpointKey(condition.tenant_id, condition.endpoint_id))
    if endpoint is None:
        return "the endpoint was deleted."
    well = not endpoint.failure_count and not given_up(endpoint)
    return "the endpoint has no consecutive failures." if well else None


def _close_unless_changed(fresh: Condition, *, seen: Condition, why: str, now: datetime) -> Condition:
    return close(fresh, why, now) if fresh.alert == seen.alert else fresh


def _of_endpoint(condition: Condition) -> bool:
    return condition.kind in OF_ENDPOINTS


def _place(status: SloStatus) -> SloPlace:
    assert status.state.measured is not None, "a stored status has a measurement"
    return status.process, status.scheduler, status.state.measured.slo.value
