"""Where the product differs from the seed's letter on purpose, and why."""

from datetime import UTC, datetime, time, timedelta

import pytest
from tests.daily.daily_fixtures import MakeDaily
from tests.daily.model.reference_implementation import Kv, Literal

from cadenza.domain.daily.user import DONE

DAY = datetime(2026, 3, 10, tzinfo=UTC)
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)


async def test_a_success_that_arrives_after_the_cutoff_is_late_even_before_the_next_tick(
    make_daily: MakeDaily,
) -> None:
    """The cutoff is a hard boundary; by the letter it depends on when the tick after it happens to come."""
    daily = make_daily(DAY + 10 * HOUR - MINUTE)
    await daily.enroll("ann", time(10))
    await daily.tick()
    daily.clocks.advance(MINUTE + SECOND)
    await daily.finish(daily.runs.running[0])
    await daily.settle()
    assert [one.status for one in await daily.verdicts("ann")] == ["cutoff_reached"]
    assert [line.event for line in daily.log.lines if line.event == "late success"] == ["late success"]
    literal = Literal({"ann": Kv(time(10))}, lambda *_: (MINUTE + SECOND, True))
    for at in (DAY + 10 * HOUR - MINUTE, DAY + 10 * HOUR + 2 * SECOND):
        literal.tick(at)
    assert list(literal.finalized.values()) == ["success"]


async def test_a_success_before_the_cutoff_counts_although_the_tick_came_first(make_daily: MakeDaily) -> None:
    """Each tick takes in finished jobs first: what was done in time is not lost to a race."""
    daily = make_daily(DAY + 10 * HOUR - MINUTE)
    await daily.enroll("ann", time(10))
    await daily.tick()
    daily.clocks.advance(MINUTE - SECOND)
    await daily.finish(daily.runs.running[0])
    daily.clocks.advance(2 * SECOND)
    await daily.tick()
    assert [one.status for one in await daily.verdicts("ann")] == ["success"]


async def test_new_users_owe_nothing_for_a_cutoff_that_is_past(make_daily: MakeDaily) -> None:
    """Nobody can be blamed for a day before they came; by the letter they are cut off at once."""
    daily = make_daily(DAY + 10 * HOUR)
    await daily.enroll("ann", time(10))
    await daily.tick()
    assert await daily.verdicts("ann") == []
    literal = Literal({"ann": Kv(time(10))}, lambda *_: (SECOND, True))
    literal.tick(DAY + 10 * HOUR)
    assert list(literal.finalized.values()) == ["cutoff_reached"]


async def test_another_due_time_does_not_touch_an_open_window(make_daily: MakeDaily) -> None:
    """Every date has one cutoff; by the letter a window could be shifted away for ever, or closed at once."""
    daily = make_daily(DAY + 9 * HOUR)
    await daily.enroll("ann", time(10))
    await daily.tick()
    user = await daily.enroll("ann", time(20))
    assert (user.next_cutoff, user.wanted_due) == (DAY + 10 * HOUR, time(20))
    daily.clocks.go_to(DAY + 10 * HOUR)
    await daily.tick()
    (verdict,) = await daily.verdicts("ann")
    assert (verdict.due, verdict.status) == (time(10), "cutoff_reached")
    assert (await daily.store.daily_user(user.key)).next_cutoff == DAY + 44 * HOUR


async def test_another_due_time_that_is_past_today_holds_from_tomorrow(make_daily: MakeDaily) -> None:
    """By the letter the day would be cut off in the moment of the change, without an attempt."""
    daily = make_daily(DAY + 12 * HOUR)
    await daily.enroll("ann", time(18))
    user = await daily.enroll("ann", time(10))
    assert user.next_cutoff == DAY + 18 * HOUR
    daily.clocks.go_to(DAY + 17 * HOUR)
    await daily.tick()
    assert len(daily.runs.started) == 1
    daily.clocks.go_to(DAY + 18 * HOUR)
    await daily.tick()
    assert (await daily.store.daily_user(user.key)).next_cutoff == DAY + 34 * HOUR


async def test_another_due_time_later_today_holds_today(make_daily: MakeDaily) -> None:
    daily = make_daily(DAY + 12 * HOUR)
    await daily.enroll("ann", time(18))
    assert (await daily.enroll("ann", time(20))).next_cutoff == DAY + 20 * HOUR


@pytest.mark.parametrize("due", [time(0), time(0, 30), time(0, 59)], ids=str)
async def test_a_window_that_opens_before_midnight_is_attempted(make_daily: MakeDaily, due: time) -> None:
    """By the letter a due time in the first hour is never attempted in the part before midnight."""
    daily = make_daily(DAY + 22 * HOUR)
    await daily.enroll("ann", due)
    cutoff = DAY + 24 * HOUR + timedelta(minutes=due.minute)
    daily.clocks.go_to(cutoff - HOUR)
    await daily.tick()
    (run,) = daily.runs.started
    assert run.service_date == cutoff.date()
    daily.clocks.go_to(cutoff - SECOND)
    await daily.finish(run, DONE)
    await daily.settle()
    (verdict,) = await daily.verdicts("ann")
    assert (verdict.service_date, verdict.status) == (cutoff.date(), "success")


async def test_days_that_passed_while_nobody_was_there_get_their_verdicts(make_daily: MakeDaily) -> None:
    """No silent skips: by the letter only today is ever finalized."""
    daily = make_daily(DAY + 9 * HOUR)
    await daily.enroll("ann", time(10))
    await daily.tick()
    await daily.crash()
    daily.clocks.go_to(DAY + timedelta(days=2) + 9 * HOUR)
    daily.start()
    await daily.tick()
    verdicts = await daily.verdicts("ann")
    assert [(one.service_date.day, one.status, one.late, one.cause) for one in verdicts] == [
        (10, "cutoff_reached", True, "down"),
        (11, "cutoff_reached", True, "down"),
    ]
    assert daily.runs.started[-1].service_date.day == 12
    told = [event.metadata for event in daily.telemetry.events if event.name == "sched.finalize"]
    assert [(one["late"], one["cause"]) for one in told] == [(True, "down")] * 2
