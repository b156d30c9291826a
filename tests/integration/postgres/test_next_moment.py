"""The next moment for which a process must be there, of everything that it does."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, time, timedelta
from functools import partial

import pytest
from tests.integration.postgres.postgres_fixtures import a_store

from cadenza.adapters.stores.postgres.engines.next_moment import WorkOfProcess, next_moment
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.domain.daily.rules import enroll
from cadenza.domain.daily.user import enrollment
from cadenza.domain.monitoring.alert import Alert, AlertKind, AlertState
from cadenza.domain.scheduling.hint import OneShotHint
from cadenza.domain.scheduling.target import HTTP, PROMPT, CallableTarget, HttpTarget
from cadenza.ports.planning import NextAnalysis
from cadenza.testing import an_endpoint
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.monitoring.conditions import apply, plan, take

WINDOW = timedelta(hours=1)
WORK = WorkOfProcess((HTTP, PROMPT), plans=True, serves_daily=True)
LATER = NEW_YEAR + timedelta(days=300)
TARGET = HttpTarget("http://127.0.0.1/")


def after(**span: float) -> datetime:
    return NEW_YEAR + timedelta(**span)


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    async with a_store(database_url) as store:
        yield store


async def moment(store: PostgresStore, work: WorkOfProcess = WORK) -> datetime | None:
    return await next_moment(store._pool, work)


async def add_hourly(store: PostgresStore, **fields: object) -> None:
    await store.endpoints.add(an_endpoint("hourly", target=TARGET, next_run_at=after(hours=1), **fields))


async def test_of_an_empty_database_nothing_is_known(store: PostgresStore) -> None:
    assert await moment(store) is None


async def test_the_soonest_endpoint_that_can_be_run_here_counts(store: PostgresStore) -> None:
    await add_hourly(store)
    function = CallableTarget("elsewhere")
    await store.endpoints.add(an_endpoint("function", target=function, next_run_at=after(minutes=1)))
    assert await moment(store) == after(hours=1)


async def test_a_lease_that_protects_a_run_counts_with_its_end_and_no_longer(store: PostgresStore) -> None:
    await add_hourly(store)
    until = after(hours=1, seconds=30)
    await store.endpoints.claim_due(now=after(hours=1), within=timedelta(), lease_until=until, limit=1)
    assert await moment(store) == until
    await store._pool.ask("UPDATE endpoint_states SET lease_token = NULL, claimable_at = $1", LATER)
    assert await moment(store) == LATER


async def test_a_one_shot_that_expires_unserved_counts(store: PostgresStore) -> None:
    hint = OneShotHint(after(minutes=5), after(minutes=6), None)
    paused = {"paused_until": LATER, "pause_reason": "x", "one_shot_hint": hint}
    await store.endpoints.add(an_endpoint("paused", target=TARGET, next_run_at=LATER, **paused))
    assert await moment(store) == after(minutes=6)


async def test_an_analysis_counts_for_who_plans(store: PostgresStore) -> None:
    await add_hourly(store)
    key = an_endpoint("hourly").key
    await store.analyses.add_analyses([], [NextAnalysis(key, "learning", after(minutes=2))])
    assert await moment(store) == after(minutes=2)
    assert await moment(store, WORK._replace(plans=False)) == after(hours=1)


async def test_an_alert_counts_until_it_is_applied_decided_and_sent(store: PostgresStore) -> None:
    alert = Alert(key="slo:x", kind=AlertKind.SLO, state=AlertState.BEGUN, text="late", raised_at=NEW_YEAR)
    await store.alerts.raise_alert(alert)
    assert await moment(store) == NEW_YEAR
    await apply(store)
    assert await moment(store) == NEW_YEAR
    await plan(store)
    (message,) = await take(store)
    await store.alert_messages.settle_message(message.key, after(minutes=3))
    assert await moment(store) == after(minutes=3)
    await store.alert_messages.settle_message(message.key, None)
    assert await moment(store) is None


async def test_a_message_that_cannot_be_sent_yet_counts_for_nothing(store: PostgresStore) -> None:
    begun = Alert(key="slo:x", kind=AlertKind.SLO, state=AlertState.BEGUN, text="late", raised_at=NEW_YEAR)
    over = replace(begun, key="slo:y", state=AlertState.OVER, raised_at=after(seconds=1))
    for alert in (begun, over):
        await store.alerts.raise_alert(alert)
        await apply(store)
        await plan(store)
    (message,) = await take(store)
    await store.alert_messages.settle_message(message.key, after(minutes=3))
    assert await moment(store) == after(minutes=3)
    assert await moment(store, WORK._replace(sends_default=False)) is None


async def test_a_daily_window_counts_with_its_opening_for_who_serves_daily_users(
    store: PostgresStore,
) -> None:
    wanted = [enrollment("default", name, due) for name, due in [("ada", time(9)), ("bob", time(8, 30))]]
    await store.daily.enroll(wanted, partial(enroll, now=NEW_YEAR, window=WINDOW))
    assert await moment(store) == after(hours=7, minutes=30)
    assert await moment(store, WORK._replace(serves_daily=False)) is None
