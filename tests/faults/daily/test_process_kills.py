"""A daily process killed in jobs and in ticks, and away over cutoffs and midnight: nobody is skipped."""

import asyncio
import signal
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.faults.daily.daily_processes import (
    TIMEOUT_S,
    CrashPoint,
    LogEntry,
    ProcessSetup,
    SetClock,
    read_log,
    started,
    until,
)
from tests.faults.engine_profiles import PROFILES_IN_SOAK, SOAK
from tests.postgres import Databases, databases, newest_databases

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.engines.profile import profile_of
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.daily.keys import daily_key
from cadenza.domain.daily.rules import enroll
from cadenza.domain.daily.user import Cause, DayStatus, Verdict, enrollment
from cadenza.domain.daily.window import WINDOW, cutoff, due_at_minute
from cadenza.ports.catalog import Page
from cadenza.ports.store import Store
from cadenza.roots.settings import SQLITE

__all__ = ["databases", "newest_databases"]

USERS = 300 if SOAK else 48
CRASHES = 40 if SOAK else 4
SPEED = 1_200
"""An hour in three seconds."""
LEASE_S = 1.0
"""Twenty minutes, which is how long nobody serves the lanes of a process that died."""
FILE = "sqlite"
LATE_EVENING = datetime(2030, 1, 31, 22, 10, tzinfo=UTC)
MIDNIGHT = datetime(2030, 2, 1, tzinfo=UTC)
STARTS = (
    LATE_EVENING + timedelta(minutes=10),
    LATE_EVENING + timedelta(minutes=30),
    MIDNIGHT - timedelta(minutes=25),
    MIDNIGHT + timedelta(minutes=5),
)
"""Not before these: the process is away over cutoffs, and over midnight."""
LONGEST_RUN_S = 10 if SOAK else 120
"""The long runs draw deaths by lot; some lie so far ahead that they are not waited for."""
ALL = Page(1_000_000)
Given = tuple[str, int]


def users() -> list[Given]:
    """Due from ten past eleven in the evening to half past one in the night."""
    kinds = ("steady", "flaky", "never")
    return [(f"{kinds[n % 3]}-{n:03}", (23 * 60 + 10 + n * 140 // USERS) % 1_440) for n in range(USERS)]


def crash_points(chance: Random) -> list[CrashPoint]:
    """One of each kind, and as many more as are wanted."""
    named = [CrashPoint("job", 5), CrashPoint("finalize_days", 2), CrashPoint("finalize_days", 2, after=True)]
    ticks = [CrashPoint("pending_days", 40, after=True)]
    more = [
        CrashPoint(at, chance.randint(1, most), chance.random() < 0.5 and at != "job")
        for at, most in chance.choices([("job", 20), ("finalize_days", 6), ("pending_days", 200)], k=CRASHES)
    ]
    return [*named, *ticks, *more][:CRASHES]


def a_store(url: str) -> SqliteStore | PostgresStore:
    """On tables that are there."""
    if url.startswith(SQLITE):
        return SqliteStore(SqliteFile(Path(url.removeprefix(SQLITE))), TimeOrderedIds())
    return PostgresStore(PostgresPool(url), TimeOrderedIds())


def asked(url: str, work: Callable[[Store], Coroutine[Any, Any, Any]]) -> Any:
    """What a store answers, from outside of any loop."""

    async def ask() -> Any:
        store = a_store(url)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(ask())


async def populate(store: Store, given: Sequence[Given]) -> None:
    wanted = [enrollment("default", name, due_at_minute(due)) for name, due in given]
    await store.daily.enroll(wanted, partial(enroll, now=LATE_EVENING))


async def verdicts(store: Store) -> dict[tuple[str, date], Verdict]:
    found = [await store.daily.verdicts_of(daily_key("default", name), ALL) for name, _ in users()]
    return {(one.user_id, one.service_date): one for mine in found for one in mine}


def days_due(now: datetime) -> dict[tuple[str, date], datetime]:
    """All days that were cut off by now, and when."""
    days = [LATE_EVENING.date() + timedelta(days=count) for count in range(8)]
    cutoffs = {(name, day): cutoff(due_at_minute(due), day) for name, due in users() for day in days}
    return {key: moment for key, moment in cutoffs.items() if LATE_EVENING < moment <= now}


def with_schema(found: Databases, profile: str) -> str:
    """A new database for an engine of this profile."""
    url = found.empty()
    asyncio.run(migrate(url, profile_of(profile)))
    return url


@pytest.fixture(params=[FILE, *PROFILES_IN_SOAK])
def profile(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def url(request: pytest.FixtureRequest, profile: str, tmp_path: Path) -> str:
    if profile != FILE:
        return with_schema(request.getfixturevalue("newest_databases"), profile)
    url = f"{SQLITE}{tmp_path / 'cadenza.db'}"
    asyncio.run(migrate(url))
    return url


def test_a_process_that_dies_again_and_again_skips_nobody(url: str, profile: str, tmp_path: Path) -> None:
    asked(url, partial(populate, given=users()))
    setup = ProcessSetup(url, tmp_path, SetClock(tmp_path / "clock", MIDNIGHT, SPEED), lease_s=LEASE_S)
    if profile != FILE:
        setup = setup._replace(profile=profile)
    chance, seen = Random(7), dict[tuple[str, date], Verdict]()
    moment = LATE_EVENING
    for number, crash_point in enumerate(crash_points(chance)):
        moment = max(moment + timedelta(minutes=chance.randint(1, 9)), *STARTS[: number + 1])
        clock = SetClock(tmp_path / f"clock-{number}", moment, SPEED)
        moment = run_until_crash(setup._replace(clock=clock, crash_point=crash_point))
        after = asked(url, verdicts)
        assert seen.items() <= after.items(), "a verdict has changed"
        seen = after
    tomorrow = moment + timedelta(days=1)
    run_to_end(setup._replace(clock=SetClock(tmp_path / "clock", tomorrow, SPEED)), tomorrow)
    final = asked(url, verdicts)
    assert seen.items() <= final.items(), "a verdict has changed"
    assert list(violations(final, read_log(tmp_path), tomorrow)) == []
    shown = {(one.status, one.cause) for one in final.values()}
    assert shown >= {(DayStatus.SUCCESS, None), (DayStatus.CUTOFF_REACHED, Cause.DOWN)}
    cut_off_late = {one.service_date for one in final.values() if one.late}
    assert cut_off_late >= {LATE_EVENING.date(), MIDNIGHT.date()}, "nobody was away over midnight"


def run_until_crash(setup: ProcessSetup) -> datetime:
    """From its start to its death, or to the end of our patience; the moment by its own clock."""
    with started(setup) as (process,):
        until(setup.clock.path.exists, process)
        process.join(timeout=LONGEST_RUN_S)
        assert process.exitcode == -signal.SIGKILL or SOAK, "it did not get as far as its death"
    return setup.clock.now()


def run_to_end(setup: ProcessSetup, now: datetime) -> None:
    """One that is left in peace until nothing is owed any more, and then asked to stop."""
    with started(setup) as (process,):
        until(lambda: asked(setup.url, verdicts).keys() >= days_due(now).keys(), process)
        process.terminate()
        process.join(TIMEOUT_S)
        assert process.exitcode == 0, (setup.folder / f"log-{process.pid}").read_text()


def violations(found: dict[tuple[str, date], Verdict], entries: list[LogEntry], now: datetime) -> list[str]:
    told = [f"{name} has no verdict for {day}" for name, day in days_due(now) if (name, day) not in found]
    good = {
        (entry.user_id, date.fromisoformat(entry.service_date)) for entry in entries if entry.what == "ok"
    }
    for key, verdict in found.items():
        if verdict.status is DayStatus.SUCCESS and key not in good:
            told.append(f"{key} is a success, and no job of it went well")
        if verdict.late and verdict.decided_at < cutoff(verdict.due, verdict.service_date):
            told.append(f"{key} is late before its time")
    return [*told, *_outside(entries), *_unasked(entries), *_twice(entries)]


def _outside(entries: list[LogEntry]) -> list[str]:
    """Attempts are decided in their windows, to the microsecond."""
    dues, told = dict(users()), []
    for entry in entries:
        if entry.what == "taken":
            end = cutoff(due_at_minute(dues[entry.user_id]), date.fromisoformat(entry.service_date))
            if not end - WINDOW <= datetime.fromisoformat(entry.moment) < end:
                told.append(f"{entry} is outside of its window")
    return told


def _unasked(entries: list[LogEntry]) -> list[str]:
    """No job begins without such a decision."""
    decided, told = Counter[tuple[int, str, str]](), []
    for entry in entries:
        key = (entry.pid, entry.user_id, entry.service_date)
        decided[key] += {"taken": 1, "begin": -1}.get(entry.what, 0)
        if decided[key] < 0:
            told.append(f"{entry} was not decided")
    return told


def _twice(entries: list[LogEntry]) -> list[str]:
    """A job that went well is done again only by another process, after the first one has died."""
    good = Counter((entry.pid, entry.user_id, entry.service_date) for entry in entries if entry.what == "ok")
    return [f"{key} went well {count} times in one process" for key, count in good.items() if count > 1]
