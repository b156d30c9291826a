"""Every verdict is counted once: with the store away, with answers lost, after days of downtime."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest
from tests.daily.daily_fixtures import DailyFixture, MakeDaily, UnavailableDaily

from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.daily.keys import DailyKey
from cadenza.domain.daily.user import Finalization, Verdict
from cadenza.domain.errors import Unavailable
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.daily import Finalize
from cadenza.testing import FakeIds

TEN = datetime(2026, 3, 10, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def ticked(daily: DailyFixture) -> int:
    """How many days all ticks together have cut off."""
    ticks = [event for event in daily.telemetry.events if event.name == "sched.tick.stop"]
    return sum(int(event.metadata["cutoff_finalized"] or 0) for event in ticks)


def told(daily: DailyFixture) -> list[tuple[str, float]]:
    """The status and the number of days of each finalization."""
    events = [event for event in daily.telemetry.events if event.name == "sched.finalize"]
    return [(str(event.metadata["status"]), event.measurements["days"]) for event in events]


async def tick_and_write(daily: DailyFixture) -> None:
    """A tick, and what the finalizer does after it, whether or not the store answers."""
    for work in (daily.runner.tick, daily.settle):
        with suppress(Unavailable):
            await work()
    await daily.pump()


async def test_a_store_that_is_away_over_a_cutoff_has_its_verdict_counted_once(make_daily: MakeDaily) -> None:
    store = UnavailableDaily()
    daily = make_daily(TEN - MINUTE, store=store, tick_ms=1_000)
    await daily.enroll("ann", time(10))
    await tick_and_write(daily)
    for second in range(120):
        store.away = 55 <= second < 85
        daily.clocks.advance(timedelta(seconds=1))
        await tick_and_write(daily)
    assert told(daily) == [("cutoff_reached", 1)]
    assert ticked(daily) == 1


async def test_verdicts_that_wait_to_be_written_are_not_counted_again(make_daily: MakeDaily) -> None:
    daily = make_daily(TEN - MINUTE, tick_ms=1_000)
    await daily.enroll("ann", time(10))
    daily.clocks.advance(MINUTE)
    for _ in range(28):
        await daily.runner.tick()
        daily.clocks.advance(timedelta(seconds=1))
    assert ticked(daily) == 0
    await daily.settle()
    await daily.runner.tick()
    assert ticked(daily) == 1


async def test_after_ten_days_of_downtime_every_day_is_counted(make_daily: MakeDaily) -> None:
    daily = make_daily(TEN - MINUTE)
    await daily.enroll("ann", time(10))
    daily.clocks.advance(timedelta(days=9) + MINUTE)
    await daily.tick()
    await daily.tick()
    assert told(daily) == [("cutoff_reached", 3), *[("cutoff_reached", 1)] * 7]
    assert ticked(daily) == 10


async def test_a_gap_tells_its_last_day_its_number_of_days_and_its_cause(make_daily: MakeDaily) -> None:
    daily = make_daily(TEN - MINUTE)
    await daily.enroll("ann", time(10))
    daily.clocks.advance(timedelta(days=9) + MINUTE)
    await daily.tick()
    event = next(event for event in daily.telemetry.events if event.name == "sched.finalize")
    assert event.measurements == {"days": 3}
    assert event.metadata == {
        "status": "cutoff_reached",
        "due_bucket": 600,
        "today": "2026-03-12",
        "late": True,
        "cause": "down",
        "programme": "daily",
        "scheduler": "daily",
    }


class UnreadableVerdicts(UnavailableDaily):
    """Daily users in memory, whose verdicts cannot always be read."""

    reads_fail = False

    async def verdicts_of(self, key: DailyKey, page: Page = FIRST_PAGE) -> list[Verdict]:
        if self.reads_fail:
            raise Unavailable("the store is away")
        return await super().verdicts_of(key, page)


async def test_a_commit_whose_answer_was_lost_is_counted_once(make_daily: MakeDaily) -> None:
    store = UnreadableVerdicts()
    daily = make_daily(TEN - MINUTE, store=store)
    await daily.enroll("ann", time(10))
    await daily.enroll("bob", time(10))
    await daily.tick()
    await daily.finish(daily.runs.running[0])
    daily.clocks.advance(MINUTE)
    store.loses_answers = True
    await tick_and_write(daily)
    assert told(daily) == []
    store.loses_answers, store.reads_fail = False, True
    await tick_and_write(daily)
    assert told(daily) == []
    store.reads_fail = False
    await tick_and_write(daily)
    await tick_and_write(daily)
    assert sorted(told(daily)) == [("cutoff_reached", 1), ("success", 1)]
    assert ticked(daily) == 1
    assert "late success" not in daily.log.events("debug")


async def test_lost_answers_over_days_of_downtime_lose_no_day(make_daily: MakeDaily) -> None:
    store = UnreadableVerdicts()
    daily = make_daily(TEN - MINUTE, store=store)
    await daily.enroll("ann", time(10))
    store.loses_answers = True
    daily.clocks.advance(timedelta(days=9) + MINUTE)
    await tick_and_write(daily)
    daily.clocks.advance(timedelta(days=12))
    await tick_and_write(daily)
    store.loses_answers = False
    await tick_and_write(daily)
    await tick_and_write(daily)
    assert sum(days for _, days in told(daily)) == ticked(daily) == 22
    assert len(told(daily)) == 2 * (1 + 7)


def rolls_back(store: UnavailableDaily) -> Callable[..., Awaitable[list[Finalization | None]]]:
    """A write that decides, and then fails."""

    async def fails(keys: Sequence[DailyKey], rule: Finalize) -> list[Finalization | None]:
        rule(await store.daily_user(keys[0]))
        raise Unavailable("the store is away")

    return fails


@pytest.mark.parametrize("days", [0, 9])
async def test_a_write_that_failed_for_good_is_counted_when_it_is_done_again(
    make_daily: MakeDaily, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    store = UnavailableDaily()
    daily = make_daily(TEN - MINUTE, store=store)
    await daily.enroll("ann", time(10))
    daily.clocks.advance(timedelta(days=days) + MINUTE)
    await daily.runner.tick()
    with monkeypatch.context() as patch:
        patch.setattr(store, "finalize_days", rolls_back(store))
        for _ in range(3):
            with pytest.raises(Unavailable):
                await daily.settle()
    await daily.settle()
    await daily.runner.tick()
    assert sum(number for _, number in told(daily)) == ticked(daily) == days + 1


@pytest.mark.parametrize("days", [0, 9])
async def test_a_write_that_another_process_did_is_not_counted_here(
    make_daily: MakeDaily, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    """The commit failed, its lane was lost, and somebody else gave the verdict a second later."""
    store = UnavailableDaily()
    daily, other = make_daily(TEN - MINUTE, store=store), make_daily(TEN - MINUTE, store=store)
    await daily.enroll("ann", time(10))
    for one in (daily, other):
        one.clocks.advance(timedelta(days=days) + MINUTE)
    with monkeypatch.context() as patch:
        patch.setattr(store, "finalize_days", rolls_back(store))
        await tick_and_write(daily)
    other.clocks.advance(timedelta(seconds=1))
    await tick_and_write(other)
    await tick_and_write(daily)
    await tick_and_write(other)
    assert told(daily) == []
    assert (ticked(daily), ticked(other)) == (0, days + 1)


async def test_a_write_that_is_cancelled_on_its_way_is_counted_once(make_daily: MakeDaily) -> None:
    store = UnavailableDaily()
    daily = make_daily(TEN - MINUTE, store=store)
    await daily.enroll("ann", time(10))
    rightly = store.finalize_days

    async def forever(keys: Sequence[DailyKey], rule: Finalize) -> list[Finalization | None]:
        answer = await rightly(keys, rule)
        await asyncio.Event().wait()
        return answer

    daily.clocks.advance(MINUTE)
    await daily.runner.tick()
    store.finalize_days = forever  # type: ignore[method-assign]
    finalizing = asyncio.create_task(daily.runner.finalize())
    await daily.spin()
    finalizing.cancel()
    await asyncio.gather(finalizing, return_exceptions=True)
    store.finalize_days = rightly  # type: ignore[method-assign]
    await daily.runner.drain(0)
    assert told(daily) == [("cutoff_reached", 1)]
    assert ticked(daily) == 1, "the last tick counts what was written while the runner stopped"


async def test_a_stored_verdict_is_recognized_on_an_sqlite_file(
    make_daily: MakeDaily, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
    store = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), FakeIds())
    daily = make_daily(TEN - MINUTE + timedelta(microseconds=123_457), store=store.daily)
    await daily.enroll("ann", time(10))
    daily.clocks.advance(timedelta(days=9) + MINUTE)
    rightly = store.daily.finalize_days

    async def loses(keys: Sequence[DailyKey], rule: Finalize) -> list[Finalization | None]:
        await rightly(keys, rule)
        raise Unavailable("the answer to a commit was lost")

    monkeypatch.setattr(store.daily, "finalize_days", loses)
    await tick_and_write(daily)
    monkeypatch.setattr(store.daily, "finalize_days", rightly)
    await tick_and_write(daily)
    await tick_and_write(daily)
    await store.close()
    assert sum(days for _, days in told(daily)) == ticked(daily) == 10
    assert date(2026, 3, 19).isoformat() in {str(one.metadata.get("today")) for one in daily.telemetry.events}
