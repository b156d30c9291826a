"""What waits for a slot is not attempted once its date is settled, or owed no more."""

from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta

from tests.daily.daily_fixtures import FAILED, DailyFixture, MakeDaily, UnavailableDaily

from cadenza.domain.daily.programme import Programme
from cadenza.domain.errors import Unavailable

START = datetime(2026, 3, 10, 11, tzinfo=UTC)
HOUR = timedelta(hours=1)
ALL_BUT_TUESDAYS = (1, 3, 4, 5, 6, 7)


async def ann_runs_and_bob_waits(make_daily: MakeDaily) -> DailyFixture:
    daily = make_daily(START, max_concurrency=1)
    for user_id in ("ann", "bob"):
        await daily.enroll(user_id, time(12))
    await daily.tick()
    assert [run.user_id for run in daily.runs.started] == ["ann"]
    return daily


async def test_a_clock_that_is_set_back_starts_nothing_for_a_date_that_has_its_verdict(
    make_daily: MakeDaily,
) -> None:
    daily = await ann_runs_and_bob_waits(make_daily)
    daily.clocks.advance(HOUR)
    await daily.tick()
    daily.clocks.step(-HOUR)
    await daily.every_minute(5)
    await daily.finish(daily.runs.running[0], FAILED)
    await daily.every_minute(2)
    assert [run.user_id for run in daily.runs.started] == ["ann"]
    assert [verdict.status for verdict in await daily.verdicts("bob")] == ["cutoff_reached"]


async def test_nothing_more_is_started_for_a_date_that_the_programme_serves_no_more(
    make_daily: MakeDaily,
) -> None:
    daily = await ann_runs_and_bob_waits(make_daily)
    assert isinstance(daily.store, UnavailableDaily)
    await daily.store.put_programme(Programme(weekdays=ALL_BUT_TUESDAYS))
    await daily.every_minute(1)
    await daily.finish(daily.runs.running[0], FAILED)
    await daily.every_minute(2)
    assert [run.user_id for run in daily.runs.started] == ["ann"]
    records = daily.store.tables.daily_users.values()
    assert {record.next_date for record in records} == {date(2026, 3, 11)}
    assert await daily.verdicts("bob") == []


async def test_a_store_that_is_away_does_not_hide_that_the_process_was_stalled_before(
    make_daily: MakeDaily,
) -> None:
    daily = await ann_runs_and_bob_waits(make_daily)
    assert isinstance(daily.store, UnavailableDaily)
    daily.clocks.advance(2 * HOUR)
    daily.store.away = True
    with suppress(Unavailable):
        await daily.runner.tick()
    daily.store.away = False
    await daily.every_minute(1)
    assert [verdict.cause for verdict in await daily.verdicts("bob")] == ["stalled"]
