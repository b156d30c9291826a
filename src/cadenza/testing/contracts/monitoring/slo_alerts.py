"""Standings are kept by process; an alert is raised once."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from cadenza.domain.monitoring.alert import (
    Alert,
    AlertKind,
    AlertState,
    failure_alert,
    quota_alert,
    slo_alert,
)
from cadenza.domain.monitoring.condition import Condition, after_alert
from cadenza.domain.monitoring.slo import Judgement, Slo, SloMeasurement, SloState
from cadenza.ports.monitoring import SloStatus
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Contract

MINUTE = timedelta(minutes=1)
MANY = 260
"""Of two tenants: more than any store looks through for the alerts of a third."""


def a_slo_status(
    at: datetime = NEW_YEAR, *, process: str = "host/up", slo: Slo = Slo.SATURATION
) -> SloStatus:
    """The status of a breached SLO."""
    measured = SloMeasurement(slo, Judgement.BAD, 0.93, 0.8, 1, due_bucket=None, rising=False)
    return SloStatus(process, "endpoints", at, 15, SloState(measured, 4, 0, at - MINUTE))


def an_alert(key: str = "a", at: datetime = NEW_YEAR, **facts: Any) -> Alert:
    """An alert about an endpoint."""
    told = {"failures": 3, "error": "naïve \N{SNOWMAN}", **facts}
    return Alert(
        key=key,
        kind=AlertKind.ENDPOINT,
        state=AlertState.BEGUN,
        text=f"alert {key}",
        raised_at=at,
        facts=told,
    )


def of_endpoint(tenant_id: str, endpoint_id: str, minute: int) -> Alert:
    """An alert about a tenant's endpoint."""
    facts = {"tenant_id": tenant_id, "endpoint_id": endpoint_id, "run_id": "run", "error": "no"}
    alert = failure_alert({**facts, "failures": 3}, NEW_YEAR + minute * MINUTE, most=3)
    assert alert is not None, "it has failed as often as that"
    return alert


def of_tenants_quota(tenant_id: str, minute: int) -> Alert:
    """An alert about a tenant's quota."""
    facts = {"tenant_id": tenant_id, "resource": "runs", "month": "2025-01", "spent": 9, "limit": 10}
    alert = quota_alert(facts, NEW_YEAR + minute * MINUTE)
    assert alert is not None, "it has spent as much as that"
    return alert


def of_promise(minute: int) -> Alert:
    """An alert about no tenant."""
    facts = {"slo": "saturation", "scheduler": "endpoints", "process": "host/up", "since": "then"}
    told = {"value": 0.9, "threshold": 0.8, "window_minutes": 15, "change": "begun"}
    return slo_alert({**facts, **told}, NEW_YEAR + minute * MINUTE)


class SloAlertContract(Contract):
    """`put_slos`, `slos`, `raise_alert` and what ends them."""

    async def test_a_standing_comes_back_as_it_was_put(self, store: Store) -> None:
        statuses = [a_slo_status(), a_slo_status(slo=Slo.TICK_BUDGET), a_slo_status(process="other/up")]
        await store.slos.put_slos(statuses)
        found = await store.slos.slos(NEW_YEAR)
        assert sorted(found, key=repr) == sorted(statuses, key=repr)

    async def test_a_standing_takes_the_place_of_the_one_before(self, store: Store) -> None:
        await store.slos.put_slos([a_slo_status()])
        kept = a_slo_status(NEW_YEAR + MINUTE)
        kept = kept._replace(state=replace(kept.state, breached_since=None))
        await store.slos.put_slos([kept])
        assert await store.slos.slos(NEW_YEAR) == [kept]

    async def test_standings_of_processes_that_are_gone_are_not_told(self, store: Store) -> None:
        await store.slos.put_slos(
            [a_slo_status(process="gone"), a_slo_status(NEW_YEAR + MINUTE, process="there")]
        )
        assert [one.process for one in await store.slos.slos(NEW_YEAR + MINUTE)] == ["there"]
        await store.slos.forget_slos(NEW_YEAR + MINUTE)
        assert [one.process for one in await store.slos.slos(NEW_YEAR)] == ["there"]

    async def test_an_alert_is_raised_once(self, store: Store) -> None:
        assert await store.alerts.raise_alert(an_alert())
        assert not await store.alerts.raise_alert(an_alert(at=NEW_YEAR + MINUTE))

    async def test_of_many_callers_one_raises_an_alert(self, peers: Sequence[Store]) -> None:
        raised = await asyncio.gather(
            *(peer.alerts.raise_alert(an_alert()) for peer in peers for _ in range(5))
        )
        assert raised.count(True) == 1

    async def test_an_alert_comes_back_as_it_was_raised(self, store: Store) -> None:
        alert = an_alert(nested={"a": [1, 2.5, None, True]})
        await store.alerts.raise_alert(alert)
        assert await applied(store) == [alert]

    async def test_the_newest_alerts_are_told(self, store: Store) -> None:
        first, second, third = (of_endpoint("north", f"{minute}", minute) for minute in (1, 3, 2))
        for alert in (first, second, third):
            await store.alerts.raise_alert(alert)
        assert await store.alerts.newest_alerts("north", 2) == [second, third]
        assert await store.alerts.newest_alerts("north", 9) == [second, third, first]

    async def test_a_tenant_is_told_of_its_own_and_of_what_is_nobodys(self, store: Store) -> None:
        north = [of_promise(3), of_tenants_quota("north", 2), of_endpoint("north", "b", 1)]
        others = [of_endpoint("north:b", "x", 4), of_endpoint("nor", "x", 5), of_tenants_quota("north:b", 6)]
        for alert in (*north, *others):
            await store.alerts.raise_alert(alert)
        assert await store.alerts.newest_alerts("north", 9) == north
        assert await store.alerts.newest_alerts("nobody", 9) == north[:1]

    async def test_a_tenant_with_few_alerts_is_told_of_them_whoever_has_many(self, store: Store) -> None:
        north = [of_tenants_quota("north", 3), of_promise(2), of_endpoint("north", "b", 1)]
        others = [of_endpoint(tenant, f"{n}", 10 + n) for n in range(MANY) for tenant in ("north:b", "south")]
        await asyncio.gather(*(store.alerts.raise_alert(alert) for alert in (*north, *others)))
        assert await store.alerts.newest_alerts("north", 9) == north
        assert await store.alerts.newest_alerts("north", 2) == north[:2]
        assert await store.alerts.newest_alerts("south", 3) == others[:-7:-2]

    async def test_a_store_that_takes_changes_is_healthy(self, store: Store) -> None:
        for _ in range(3):
            await store.health.check()

    async def test_old_alerts_are_forgotten(self, store: Store) -> None:
        await store.alerts.raise_alert(an_alert("old"))
        await store.alerts.raise_alert(an_alert("new", NEW_YEAR + MINUTE))
        await store.alerts.forget_alerts(NEW_YEAR + MINUTE)
        assert [alert.key for alert in await applied(store)] == ["new"]


async def applied(store: Store) -> list[Alert]:
    """The alerts that no one has applied yet, in the order in which they are applied now."""
    found: list[Alert] = []

    def note(before: Condition | None, alert: Alert) -> Condition:
        found.append(alert)
        return after_alert(before, alert, alert.raised_at, gather=timedelta(0))

    await store.conditions.apply_alerts(note, limit=100, release_at=NEW_YEAR)
    return found
