"""Daily users from before there were programmes and zones get the verdicts that they would have got."""

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from pathlib import Path

import pytest
from tests.integration.migrations.test_migrate import execute, stop_at
from tests.postgres import databases, newest_databases

from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.daily.keys import daily_key
from cadenza.domain.daily.rules import SHARDS, ServicePeriod, finalize_cutoffs, shard_of
from cadenza.domain.daily.user import (
    Cause,
    DailyGap,
    DailyUser,
    DayCounts,
    DayStatus,
    DueChange,
    Verdict,
)
from cadenza.domain.daily.window import DAY
from cadenza.domain.monitoring.statistics import DueMinuteCounts
from cadenza.ports.store import Store
from cadenza.testing import FakeIds

__all__ = ["databases", "newest_databases"]

TENTH = datetime(2026, 3, 10, tzinfo=UTC)
AT_SIX, AT_ZERO = TENTH + timedelta(hours=18), TENTH + timedelta(minutes=1)
ANN, BOB = daily_key("north", "ann"), daily_key("south", "bob")
CHANGES = '[["2026-03-12", 600]]'


def literal(url: str, at: datetime | None) -> str:
    if at is None:
        return "NULL"
    return str(int(at.timestamp() * 1_000_000)) if url.startswith("sqlite") else f"'{at.isoformat()}'"


def rows_of_before(url: str) -> list[str]:
    """Two users, one with a due time that is to change, and what became of their days."""
    ann, bob = shard_of(ANN.user), shard_of(BOB.user)
    six, zero, decided, added, null = (
        literal(url, at) for at in (AT_SIX, AT_ZERO, AT_SIX - DAY, TENTH - 9 * DAY, None)
    )
    users = "tenant_id, user_id, shard, next_cutoff, changes, last_date, status, last_run_at, added_at"
    values = {
        f"daily_users ({users})": [
            f"'north', 'ann', {ann}, {six}, '{CHANGES}', '2026-03-09', 'success', {decided}, {added}",
            f"'south', 'bob', {bob}, {zero}, NULL, NULL, NULL, NULL, {null}",
        ],
        "daily_verdicts": [
            f"'north', 'ann', '2026-03-09', 'success', 1080, {decided}, false, NULL",
            f"'north', 'ann', '2026-03-08', 'cutoff_reached', 1080, {decided}, true, 'down'",
        ],
        "daily_gaps": [f"'north', 'ann', '2026-03-01', '2026-03-07', {decided}, 'store'"],
    }
    return [f"INSERT INTO {table} VALUES ({row})" for table, rows in values.items() for row in rows]


@pytest.fixture
async def upgraded(url: str) -> AsyncIterator[Store]:
    """A database with rows of the version before, upgraded."""
    await stop_at(url, "0038")
    await execute(url, *rows_of_before(url), "SELECT 1")
    await migrate(url)
    if url.startswith("sqlite"):
        file = SqliteStore(SqliteFile(Path(url.removeprefix("sqlite:///"))), FakeIds())
        yield file
        await file.close()
    else:
        server = PostgresStore(PostgresPool(url), FakeIds())
        yield server
        await server.close()


async def test_all_that_was_there_is_of_the_programme_daily_in_utc(upgraded: Store) -> None:
    assert await upgraded.daily.daily_user(ANN) == DailyUser(
        tenant_id="north",
        user_id="ann",
        next_date=date(2026, 3, 10),
        due=time(18),
        next_cutoff=AT_SIX,
        opens_at=AT_SIX - timedelta(hours=1),
        changes=(DueChange(date(2026, 3, 12), time(10)),),
        last_date=date(2026, 3, 9),
        status=DayStatus.SUCCESS,
        last_run_at=AT_SIX - DAY,
        added_at=TENTH - 9 * DAY,
    )
    bob = await upgraded.daily.daily_user(BOB)
    assert (bob.next_date, bob.due, bob.next_cutoff) == (date(2026, 3, 10), time(0, 1), AT_ZERO)
    decided = AT_SIX - DAY
    assert await upgraded.daily.verdicts_of(ANN) == [
        Verdict(*ANN, date(2026, 3, 9), DayStatus.SUCCESS, time(18), decided),
        Verdict(
            *ANN,
            date(2026, 3, 8),
            DayStatus.CUTOFF_REACHED,
            time(18),
            decided,
            late=True,
            cause=Cause.DOWN,
        ),
    ]
    gap = DailyGap(*ANN, date(2026, 3, 1), date(2026, 3, 7), decided, Cause.STORE)
    assert await upgraded.daily.gaps_of(ANN) == [gap]


async def test_days_get_the_verdicts_that_they_would_have_got(upgraded: Store) -> None:
    now = TENTH + 3 * DAY
    owed = [await upgraded.daily.pending_days(shard, until=now, limit=9) for shard in range(SHARDS)]
    keys = sorted(day.key for page in owed for day in page)
    assert keys == [ANN, BOB]
    await upgraded.daily.finalize_days(
        keys, partial(finalize_cutoffs, now=now, service=ServicePeriod(AT_SIX))
    )
    verdicts = await upgraded.daily.verdicts_of(ANN)
    assert [(one.service_date.day, one.due.hour, one.late) for one in verdicts] == [
        (12, 10, False),
        (11, 18, False),
        (10, 18, False),
        (9, 18, False),
        (8, 18, True),
    ]
    assert [one.service_date.day for one in await upgraded.daily.verdicts_of(BOB)] == [12, 11, 10]
    assert (await upgraded.daily.daily_user(ANN)).next_cutoff == TENTH + 3 * DAY + timedelta(hours=10)


async def test_tallies_are_kept_and_go_on(upgraded: Store) -> None:
    tallies = upgraded.daily_statistics.tallies
    assert await tallies("north", date(2026, 3, 8)) == [DueMinuteCounts(1_080, DayCounts(0, 1, 1))]
    now = TENTH + DAY
    await upgraded.daily.finalize_days([ANN], partial(finalize_cutoffs, now=now, service=ServicePeriod(now)))
    assert await tallies("north", date(2026, 3, 10)) == [DueMinuteCounts(1_080, DayCounts(0, 1, 1))]
    await upgraded.daily.remove_daily_user(ANN, with_days=True)
    assert await tallies("north", date(2026, 3, 8)) == []
