"""The worker's loop and calendars: nothing starts while they are closed, on every store that is cheap."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.postgres import Databases, database_url, newest_databases
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.scheduling.baseline import Cron, Every
from cadenza.domain.scheduling.calendars.calendar import Calendar, calendar_of
from cadenza.domain.scheduling.calendars.gate import is_closed
from cadenza.domain.scheduling.calendars.rules import CalendarRules, WhenClosed
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.validation import milliseconds
from cadenza.testing import FakeIds
from cadenza.testing.clock import NEW_YEAR

__all__ = ["database_url", "newest_databases"]

HOUR = 60 * MINUTE


def at(ms: int) -> datetime:
    return NEW_YEAR + milliseconds(ms)


def opens(*edges_ms: int, id: str = "work") -> Calendar:
    ends = [at(edge) for edge in edges_ms]
    return calendar_of(id, "UTC", list(zip(ends[::2], ends[1::2], strict=True)))


WORK = opens(-HOUR, 5 * MINUTE, 20 * MINUTE, 30 * MINUTE, 40 * MINUTE, 10_000 * HOUR)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def on_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[WorkerFixture]:
    store: Any = MemoryStore(FakeIds())
    if request.param == "sqlite":
        await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
        store = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), FakeIds())
    elif request.param == "postgresql":
        databases: Databases = request.getfixturevalue("newest_databases")
        store = PostgresStore(PostgresPool(await asyncio.to_thread(databases.clean)), FakeIds())
    yield WorkerFixture(store=store)
    if request.param != "memory":
        await store.close()


async def run_for(fixture: WorkerFixture, minutes: int, step_ms: int = MINUTE) -> list[Run]:
    for _ in range(minutes * MINUTE // step_ms):
        await fixture.drain()
        fixture.clock.jump(step_ms)
    return sorted(await fixture.runs(), key=lambda run: (run.slot, run.attempt))


async def test_each_closure_has_one_skipped_verdict_that_counts_its_slots(on_store: WorkerFixture) -> None:
    rules = CalendarRules(only_during=WORK)
    await on_store.add(baseline=Every(MINUTE), calendar_rules=rules)
    runs = await run_for(on_store, 50)
    skipped = [run for run in runs if run.status is RunStatus.SKIPPED]
    assert [(run.slot, run.coalesced, run.verdict) for run in skipped] == [
        (at(5 * MINUTE), 14, True),
        (at(30 * MINUTE), 9, True),
    ]
    assert skipped[0].reason == "outside of the calendar work until 2025-01-01T00:20:00Z"
    ran = [run.slot for run in runs if run.status is RunStatus.SUCCESS]
    minutes = (*range(5), *range(20, 30), *range(40, 50))
    assert ran == [at(minute * MINUTE) for minute in minutes]
    assert len(on_store.dispatcher.executed) == len(ran)


async def test_what_runs_at_the_end_runs_at_the_opening_once(on_store: WorkerFixture) -> None:
    rules = CalendarRules(only_during=WORK, when_closed=WhenClosed.RUN_AT_END)
    await on_store.add(baseline=Cron("*/5 * * * *"), calendar_rules=rules)
    runs = await run_for(on_store, 50)
    assert [(run.started_at, run.source.value, run.coalesced) for run in runs] == [
        (at(0), "first", 0),
        (at(20 * MINUTE), "calendar", 2),
        (at(25 * MINUTE), "baseline-cron", 0),
        (at(40 * MINUTE), "calendar", 1),
        (at(45 * MINUTE), "baseline-cron", 0),
    ]


async def test_after_downtime_a_slot_finds_its_calendar_closed(on_store: WorkerFixture) -> None:
    await on_store.add(baseline=Every(HOUR), calendar_rules=CalendarRules(only_during=WORK))
    late = CalendarRules(never_during=opens(5 * MINUTE, 20 * MINUTE), when_closed=WhenClosed.RUN_AT_END)
    await on_store.add("late", baseline=Every(HOUR), calendar_rules=late)
    on_store.clock.jump(10 * MINUTE)
    await on_store.drain()
    assert on_store.dispatcher.executed == []
    assert (await on_store.endpoint()).next_run_at == at(70 * MINUTE)
    waiting = await on_store.endpoint("late")
    assert (waiting.next_run_at, waiting.next_source) == (at(20 * MINUTE), "calendar")
    on_store.clock.jump(10 * MINUTE)
    (settled,) = await on_store.drain()
    assert (settled.run.slot, settled.run.attempt, settled.run.status) == (at(0), 1, RunStatus.SUCCESS)


async def test_a_retry_waits_for_the_opening(on_store: WorkerFixture) -> None:
    policy, rules = Policy(max_attempts=2, retry_delay_ms=2 * MINUTE), CalendarRules(only_during=WORK)
    await on_store.add(in_ms=4 * MINUTE, baseline=Every(HOUR), policy=policy, calendar_rules=rules)
    on_store.dispatcher.fails("endpoint")
    first, second = await run_for(on_store, 25)
    assert (second.slot, second.attempt, second.started_at) == (first.slot, 2, at(20 * MINUTE))


spans = st.lists(st.sampled_from((20_000, MINUTE, 3 * MINUTE, 7 * MINUTE)), min_size=2, max_size=8)


@st.composite
def some_rules(draw: st.DrawFn) -> CalendarRules:
    edges = [0]
    for span in draw(spans):
        edges.append(edges[-1] + span)
    calendar = opens(*edges[: len(edges) // 2 * 2], edges[-1] + MINUTE, 10_000 * HOUR)
    when = draw(st.sampled_from(WhenClosed))
    if draw(st.booleans()):
        return CalendarRules(only_during=calendar, when_closed=when)
    shifted = opens(*edges[: len(edges) // 2 * 2], id="maintenance")
    return CalendarRules(never_during=shifted, when_closed=when, ends_at=at(40 * MINUTE))


@given(some_rules(), st.sampled_from((20_000, MINUTE, 4 * MINUTE)), st.sampled_from((7_000, 90_000)))
async def test_nothing_is_ever_dispatched_while_closed(
    rules: CalendarRules, interval_ms: int, step_ms: int
) -> None:
    fixture, started = WorkerFixture(store=MemoryStore(FakeIds())), list[datetime]()
    inner = fixture.dispatcher.execute

    async def noting(claim: Any) -> Any:
        started.append(fixture.clock.now())
        return await inner(claim)

    fixture.dispatcher.execute = noting  # type: ignore[method-assign]
    await fixture.add(baseline=Every(interval_ms), calendar_rules=rules)
    await run_for(fixture, 30, step_ms)
    assert not any(is_closed(rules, moment) for moment in started)


async def test_a_claim_that_waits_for_its_moment_follows_a_calendar_that_closes_before() -> None:
    fixture = on_manual_clock(claim_ahead_ms=2_000)
    endpoint = await fixture.add(in_ms=2 * MINUTE, baseline=Every(HOUR))
    kept = CalendarRules(never_during=opens(0, 20 * MINUTE, id="maintenance"))
    async with RunningWorker(fixture):
        await fixture.clock.advance(2 * MINUTE - 1_000)
        await fixture.store.endpoints.amend(
            endpoint.key, lambda one: ChangedEndpoint(evolve(one, calendar_rules=kept))
        )
        await fixture.clock.advance(10 * MINUTE)
        assert fixture.dispatcher.executed == []
        await fixture.clock.advance(10 * MINUTE)
    given_back, run = await fixture.runs()
    assert (given_back.status, given_back.verdict) == (RunStatus.CANCELLED, False)
    assert (run.slot, run.started_at) == (at(2 * MINUTE), at(20 * MINUTE))
