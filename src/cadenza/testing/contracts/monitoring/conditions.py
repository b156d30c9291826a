"""Contracts of conditions and messages: each alert applied once, each message made and sent by one."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from cadenza.domain.errors import NotFound
from cadenza.domain.monitoring.alert import Alert, AlertKind, failure_alert, recovery_alert
from cadenza.domain.monitoring.alert_message import AlertMessage, plan_messages
from cadenza.domain.monitoring.condition import (
    Condition,
    ConditionKey,
    ConditionState,
    acknowledge,
    after_alert,
    endpoint_condition,
    silence,
)
from cadenza.ports.alerting import ConditionFilter, Gathering
from cadenza.ports.catalog import Page
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Contract

MINUTE = timedelta(minutes=1)
AT_ONCE = timedelta(0)
EVERYTHING = 10_000


def failed(
    endpoint_id: str,
    minute: float = 0,
    *,
    tenant_id: str = "north",
    job_id: str = "shop",
    parent_id: str | None = None,
    run_id: str = "run",
) -> Alert:
    """An alert that an endpoint fails."""
    facts = {"tenant_id": tenant_id, "endpoint_id": endpoint_id, "run_id": run_id, "error": "no"}
    about = {"job_id": job_id, "labels": {"team": "web"}, "severity": "critical", "parent_id": parent_id}
    alert = failure_alert({**facts, **about, "failures": 3}, NEW_YEAR + minute * MINUTE, most=3)
    assert alert is not None, "it has failed as often as that"
    return alert


def recovered(
    endpoint_id: str, minute: float, *, tenant_id: str = "north", job_id: str = "shop", run_id: str = "run"
) -> Alert:
    """An alert that an endpoint is well again."""
    facts = {"tenant_id": tenant_id, "endpoint_id": endpoint_id, "run_id": run_id, "job_id": job_id}
    alert = recovery_alert({**facts, "failures": 3}, NEW_YEAR + minute * MINUTE, most=3)
    assert alert is not None, "it had failed as often as that"
    return alert


async def apply(store: Store, *alerts: Alert, now: datetime = NEW_YEAR, gather: timedelta = AT_ONCE) -> int:
    """Raise alerts, and apply all that wait."""
    for alert in alerts:
        await store.alerts.raise_alert(alert)
    rule = partial(after_alert, now=now, gather=gather)
    return await store.conditions.apply_alerts(rule, limit=EVERYTHING, release_at=now + MINUTE)


async def plan(store: Store, now: datetime = NEW_YEAR, *, default: bool = True) -> int:
    """Decide about what is due."""
    gathering = Gathering(now, now + 10 * MINUTE, EVERYTHING, default)
    return await store.conditions.plan_messages(partial(plan_messages, now=now), gathering)


async def take(store: Store, now: datetime = NEW_YEAR, limit: int = 100) -> list[AlertMessage]:
    """Take messages to send, for a minute."""
    found = await store.alert_messages.take_messages(now=now, until=now + MINUTE, limit=limit)
    return [one.message for one in found]


async def texts(store: Store, now: datetime = NEW_YEAR) -> list[str]:
    """What the messages say that are to be sent now."""
    return [message.alert.text for message in await take(store, now)]


class ConditionContract(Contract):
    """`apply_alerts`, `plan_messages`, `take_messages` and what people change."""

    async def test_an_alert_becomes_a_condition_that_comes_back_whole(self, store: Store) -> None:
        assert await apply(store, failed("a", parent_id="b")) == 1
        assert await apply(store) == 0
        (found,) = await store.conditions.conditions("north")
        expected = after_alert(None, failed("a", parent_id="b"), NEW_YEAR, gather=AT_ONCE)
        assert found == expected
        assert await store.conditions.condition(found.key) == expected

    async def test_every_field_of_a_condition_comes_back(self, store: Store) -> None:
        await apply(store, failed("a"))
        key = endpoint_condition("north", "a")
        full: dict[str, Any] = {
            "acknowledged_at": NEW_YEAR + MINUTE,
            "acknowledged_by": "key:abc",
            "note": "naïve \N{SNOWMAN}",
            "silenced_until": NEW_YEAR + 2 * MINUTE,
            "silence_reason": "work",
            "silenced_by": "key:abc",
            "suppressed_by": "b",
            "resolved_at": NEW_YEAR + 3 * MINUTE,
            "grouped": 7,
            "sent": 2,
            "decide_at": NEW_YEAR + 4 * MINUTE,
            "state": ConditionState.RESOLVED,
        }

        def change(before: Condition) -> Condition:
            return replace(before, **full)

        changed = await store.conditions.amend_condition(key, change, release_at=NEW_YEAR)
        assert {name: getattr(changed, name) for name in full} == full
        assert await store.conditions.condition(key) == changed

    async def test_alerts_are_applied_once_in_their_order_whoever_does_it(
        self, store: Store, peers: Sequence[Store]
    ) -> None:
        for number in range(20):
            await store.alerts.raise_alert(failed(f"{number}", number))
            await store.alerts.raise_alert(recovered(f"{number}", number + 0.5))
        applied = await asyncio.gather(*(apply(peer) for peer in peers for _ in range(3)))
        assert sum(applied) == 40
        found = await store.conditions.conditions("north", page=Page(100))
        assert {one.state for one in found} == {ConditionState.RESOLVED}

    async def test_of_many_who_decide_one_makes_each_message(
        self, store: Store, peers: Sequence[Store]
    ) -> None:
        await apply(store, *(failed(f"{number}", job_id=f"job-{number}") for number in range(20)))
        decided = await asyncio.gather(*(plan(peer) for peer in peers for _ in range(3)))
        assert sum(decided) == 20
        found = await asyncio.gather(*(take(peer) for peer in peers for _ in range(3)))
        assert len({one.key for taken in found for one in taken}) == 20
        assert sum(map(len, found)) == 20

    async def test_what_is_due_soon_goes_with_what_is_due_of_its_job(self, store: Store) -> None:
        await apply(store, failed("a"), failed("x", job_id="other"))
        await apply(store, failed("b"), failed("c", 1), gather=5 * MINUTE)
        await apply(store, failed("d"), failed("y", job_id="else"), gather=60 * MINUTE)
        assert await plan(store) == 4
        assert sorted(await texts(store)) == [
            "3 endpoints of job shop are failing: a (no), b (no) and c (no).",
            "Endpoint x has 3 consecutive failures: no",
        ]

    async def test_what_is_acknowledged_or_silenced_is_not_sent_any_more(self, store: Store) -> None:
        await apply(store, failed("a", job_id="1"), failed("b", job_id="2"), failed("c", job_id="3"))
        await plan(store)
        until = NEW_YEAR + 60 * MINUTE
        for name, change in (
            ("a", partial(acknowledge, by="me", note=None, now=NEW_YEAR)),
            ("b", partial(silence, until=until, reason=None, now=NEW_YEAR, by="key:person")),
        ):
            await store.conditions.amend_condition(
                endpoint_condition("north", name), change, release_at=NEW_YEAR
            )
        assert [one.alert.facts["endpoint_id"] for one in await take(store)] == ["c"]
        assert await plan(store, until - MINUTE) == 0
        assert await plan(store, until) == 1
        again = [one for one in await take(store, until) if one.alert.facts["endpoint_id"] == "b"]
        assert [one.alert.key for one in again] == [f"{failed('b').key}:1"]

    async def test_a_child_waits_for_its_parent_and_is_decided_again_after_it(self, store: Store) -> None:
        await apply(store, failed("top"), failed("child", parent_id="top"))
        await plan(store)
        assert await texts(store) == ["Endpoint top has 3 consecutive failures: no"]
        child = await store.conditions.condition(endpoint_condition("north", "child"))
        assert child.suppressed_by == "top"
        later = NEW_YEAR + 2 * MINUTE
        await apply(store, recovered("top", 2), now=later)
        freed = await store.conditions.condition(child.key)
        assert freed.decide_at == later + MINUTE
        await plan(store, later + MINUTE)
        sent = await store.conditions.condition(child.key)
        assert (sent.suppressed_by, sent.sent) == (None, 1)

    async def test_a_parent_of_another_tenant_holds_nothing_back(self, store: Store) -> None:
        await apply(store, failed("top", tenant_id="south"), failed("child", parent_id="top"))
        await plan(store)
        assert len(await take(store)) == 2

    async def test_conditions_are_listed_newest_first_by_page_and_filter(self, store: Store) -> None:
        await apply(store, *(failed(f"{n}", n % 3, job_id=f"job-{n % 2}") for n in range(6)))
        await apply(store, failed("foreign", tenant_id="south"), recovered("0", 9))
        everything = await store.conditions.conditions("north")
        moments = [(one.since, one.id) for one in everything]
        assert moments == sorted(moments, reverse=True)
        assert len(everything) == 6
        first = await store.conditions.conditions("north", page=Page(4))
        rest = await store.conditions.conditions("north", page=Page(4, first[-1].id))
        assert [*first, *rest] == everything

        async def ids(**wanted: Any) -> set[str | None]:
            found = await store.conditions.conditions("north", wanted=ConditionFilter(**wanted))
            return {one.endpoint_id for one in found}

        assert await ids(state=ConditionState.RESOLVED) == {"0"}
        assert await ids(job_id="job-1") == {"1", "3", "5"}
        assert await ids(endpoint_id="4", kind=AlertKind.ENDPOINT) == {"4"}
        assert await ids(kind=AlertKind.SLO) == set()

    async def test_a_page_after_a_condition_that_is_gone_is_empty(self, store: Store) -> None:
        await apply(store, failed("a"))
        assert await store.conditions.conditions("north", page=Page(4, "gone")) == []

    async def test_conditions_are_counted_by_state_for_their_tenant_alone(self, store: Store) -> None:
        await apply(store, *(failed(f"{n}") for n in range(4)), failed("foreign", tenant_id="south"))
        await apply(store, recovered("0", 1))
        change = partial(acknowledge, by="me", note=None, now=NEW_YEAR)
        await store.conditions.amend_condition(endpoint_condition("north", "1"), change, release_at=NEW_YEAR)
        assert dict(await store.conditions.count_conditions("north")) == {
            ConditionState.FIRING: 2,
            ConditionState.ACKNOWLEDGED: 1,
        }
        assert dict(await store.conditions.count_conditions("west")) == {}

    async def test_a_condition_belongs_to_its_tenant(self, store: Store) -> None:
        await apply(store, failed("a"))
        foreign = ConditionKey("south", endpoint_condition("north", "a").id)
        with pytest.raises(NotFound):
            await store.conditions.condition(foreign)
        with pytest.raises(NotFound):
            await store.conditions.amend_condition(foreign, lambda one: one, release_at=NEW_YEAR)

    async def test_open_conditions_of_all_tenants_come_page_by_page(self, store: Store) -> None:
        await apply(store, *(failed(f"{n}") for n in range(4)), failed("x", tenant_id="south"))
        await apply(store, recovered("2", 1))
        found, after = [], None
        while page := await store.conditions.open_conditions(after=after, limit=2):
            found += page
            after = page[-1].key
        assert sorted(str(one.endpoint_id) for one in found) == ["0", "1", "3", "x"]

    async def test_old_conditions_are_forgotten_unless_they_are_open_or_silenced(self, store: Store) -> None:
        await apply(store, failed("open"), failed("gone"), failed("quiet"), failed("new", 9))
        until = NEW_YEAR + 60 * MINUTE
        change = partial(silence, until=until, reason=None, now=NEW_YEAR, by="key:person")
        await store.conditions.amend_condition(
            endpoint_condition("north", "quiet"), change, release_at=NEW_YEAR
        )
        await apply(store, *(recovered(name, 10) for name in ("gone", "quiet", "new")))
        await store.conditions.forget_conditions(NEW_YEAR + 5 * MINUTE)
        found = {one.endpoint_id for one in await store.conditions.conditions("north")}
        assert found == {"open", "quiet", "new"}
