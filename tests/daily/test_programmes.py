"""Programmes beside each other: windows, retries, timeouts and slots of their own, and served dates."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.daily.daily_fixtures import FAILED, DailyFixture, MakeDaily, UnavailableDaily, until

from cadenza.domain.daily.keys import ProgrammeKey
from cadenza.domain.daily.programme import EVERY_WEEKDAY, Programme
from cadenza.domain.daily.rules import (
    ServicePeriod,
    finalize_cutoffs,
    new_daily_user,
    next_served_date,
    pass_over,
)
from cadenza.domain.daily.user import DayStatus, enrollment
from cadenza.domain.daily.window import DAY
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.calendars.calendar import calendar_of

TUESDAY = datetime(2026, 3, 10, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
WORKDAYS = (1, 2, 3, 4, 5)


async def put(daily: DailyFixture, id_: str = "evening", **fields: Any) -> None:
    assert isinstance(daily.store, UnavailableDaily)
    await daily.store.put_programme(Programme(id=id_, **fields))


def started(daily: DailyFixture) -> list[tuple[str, str]]:
    return [(run.programme_id, run.user_id) for run in daily.runs.started]


async def test_a_user_gets_one_verdict_a_day_in_each_programme(make_daily: MakeDaily) -> None:
    daily = make_daily(TUESDAY + 9 * HOUR)
    await put(daily)
    users = [await daily.enroll("ann", time(10), programme_id=id_) for id_ in ("daily", "evening")]
    await daily.tick()
    assert started(daily) == [("daily", "ann"), ("evening", "ann")]
    await daily.finish(daily.runs.running[1])
    daily.clocks.advance(HOUR)
    await daily.tick()
    verdicts = [await daily.store.verdicts_of(user.key) for user in users]
    assert [one.status for (one,) in verdicts] == ["cutoff_reached", "success"]
    events = [event.metadata for event in daily.telemetry.events if event.name == "sched.finalize"]
    assert {(one["programme"], one["status"]) for one in events} == {
        ("daily", "cutoff_reached"),
        ("evening", "success"),
    }


async def test_windows_and_retries_are_those_of_the_programme(make_daily: MakeDaily) -> None:
    daily = make_daily(TUESDAY + 6 * HOUR)
    daily.runs.answer = lambda *_: FAILED
    await put(daily, window_minutes=30, retry_delay_minutes=6)
    await put(daily, "slow", window_minutes=120, retry_delay_minutes=60)
    for id_ in ("daily", "evening", "slow"):
        await daily.enroll("ann", time(10), programme_id=id_)
    await daily.every_minute(300)
    tries = [run.programme_id for run in daily.runs.started]
    assert {id_: tries.count(id_) for id_ in set(tries)} == {"daily": 6, "evening": 5, "slow": 2}
    first = {run.programme_id: run.began_at for run in reversed(daily.runs.started)}
    assert first == {
        "daily": TUESDAY + 9 * HOUR,
        "evening": TUESDAY + 9 * HOUR + 30 * MINUTE,
        "slow": TUESDAY + 8 * HOUR,
    }


async def test_a_programme_uses_its_share_of_the_slots_and_leaves_the_rest(make_daily: MakeDaily) -> None:
    daily = make_daily(TUESDAY + 9 * HOUR, max_concurrency=10)
    await put(daily, share_percent=30)
    for number in range(20):
        await daily.enroll(f"user-{number:02}", time(9, 30), programme_id="evening")
    for number in range(4):
        await daily.enroll(f"user-{number:02}", time(10))
    await daily.tick()
    assert [id_ for id_, _ in started(daily)] == ["evening"] * 3 + ["daily"] * 4
    assert len(daily.runner.queue) == 17
    await daily.finish(next(run for run in daily.runs.running if run.programme_id == "evening"))
    assert [run.programme_id for run in daily.runs.running].count("evening") == 3
    await daily.finish(next(run for run in daily.runs.running if run.programme_id == "daily"))
    assert [run.programme_id for run in daily.runs.running].count("evening") == 3
    await put(daily, share_percent=100)
    await daily.tick()
    assert len(daily.runs.running) == 10


async def test_the_least_share_is_one_slot(make_daily: MakeDaily) -> None:
    daily = make_daily(TUESDAY + 9 * HOUR, max_concurrency=3)
    await put(daily, share_percent=1)
    for name in ("ann", "bob"):
        await daily.enroll(name, time(10), programme_id="evening")
    await daily.tick()
    assert len(daily.runs.running) == 1


async def test_who_waited_for_a_share_past_the_cutoff_is_not_attempted(make_daily: MakeDaily) -> None:
    daily = make_daily(TUESDAY + 9 * HOUR, max_concurrency=4)
    await put(daily, share_percent=25)
    for number in range(9):
        await daily.enroll(f"user-{number}", time(10), programme_id="evening")
    await daily.tick()
    daily.clocks.advance(HOUR)
    await daily.finish(daily.runs.running[0], FAILED)
    await daily.tick()
    assert len(daily.runs.started) == 1
    assert len(daily.runner.queue) == 0
    daily.clocks.advance(23 * HOUR)
    await daily.tick()
    assert len(daily.runs.started) == 2


async def test_a_job_is_cancelled_after_the_timeout_of_its_programme(make_daily: MakeDaily) -> None:
    daily = make_daily(TUESDAY + 9 * HOUR, job_timeout_ms=86_400_000)
    await put(daily, job_timeout_ms=5)
    daily.runs.killed = True
    await daily.enroll("ann", time(10), programme_id="evening")
    await daily.enroll("ann", time(10))
    await daily.tick()
    await until(lambda: len(daily.runs.running) == 1)
    await daily.spin()
    assert daily.runs.running[0].programme_id == "daily"
    (stopped,) = [event for event in daily.telemetry.events if event.name == "sched.job.stop"]
    assert (stopped.metadata["programme"], stopped.metadata["result"]) == ("evening", "timeout")


async def test_a_programme_whose_target_is_elsewhere_is_cut_off(
    make_daily: MakeDaily, monkeypatch: pytest.MonkeyPatch
) -> None:
    daily = make_daily(TUESDAY + 9 * HOUR)
    await put(daily)
    monkeypatch.setattr(daily.runner.executor._targets, "runner_for", lambda programme: None)
    user = await daily.enroll("ann", time(10), programme_id="evening")
    await daily.tick()
    daily.clocks.advance(HOUR)
    await daily.tick()
    (verdict,) = await daily.store.verdicts_of(user.key)
    assert verdict.status is DayStatus.CUTOFF_REACHED


async def test_dates_that_are_not_served_are_passed_over_without_a_verdict(make_daily: MakeDaily) -> None:
    daily = make_daily(TUESDAY)
    await put(daily, weekdays=WORKDAYS)
    daily.runs.answer = lambda _, day: None if day.isoweekday() > 5 else FAILED
    user = await daily.enroll("ann", time(10), programme_id="evening")
    for _ in range(7 * 24):
        daily.clocks.advance(HOUR)
        await daily.tick()
    days = [one.service_date for one in await daily.store.verdicts_of(user.key)][::-1]
    assert days == [date(2026, 3, day) for day in (10, 11, 12, 13, 16)]
    assert {run.service_date for run in daily.runs.started} == set(days)
    after = await daily.store.daily_user(user.key)
    assert (after.last_date, after.next_date) == (date(2026, 3, 16), date(2026, 3, 17))
    assert await daily.store.gaps_of(user.key) == []


async def test_a_programme_that_serves_a_date_no_more_lets_its_run_end(make_daily: MakeDaily) -> None:
    daily = make_daily(TUESDAY + 9 * HOUR)
    await put(daily)
    for name in ("ann", "bob"):
        await daily.enroll(name, time(10), programme_id="evening")
    daily.runs.answer = lambda user_id, _: FAILED if user_id == "bob" else None
    await daily.tick()
    await put(daily, weekdays=(1,))
    daily.clocks.advance(11 * MINUTE)
    await daily.tick()
    await daily.finish(daily.runs.running[0])
    await daily.settle()
    found = await daily.store.verdicts_on("default", TUESDAY.date(), programme_id="evening")
    assert [(one.user_id, one.status) for one in found] == [("ann", "success")]


async def test_thousands_of_dates_are_passed_over_in_batches_beside_verdicts(make_daily: MakeDaily) -> None:
    daily = make_daily(TUESDAY + 9 * HOUR, batch=10)
    await put(daily, weekdays=(1,))
    for number in range(35):
        await daily.enroll(f"user-{number}", time(10), programme_id="evening")
    await daily.enroll("ann", time(9, 1))
    daily.clocks.advance(MINUTE)
    await daily.runner.tick()
    written = []
    while batch := await daily.runner.finalizer.write_batch():
        written.append(batch)
    assert written == [10, 10, 10, 6]
    assert len(await daily.verdicts("ann")) == 1


WEEKDAYS = st.sets(st.sampled_from(EVERY_WEEKDAY), min_size=1).map(lambda days: tuple(sorted(days)))


@given(weekdays=WEEKDAYS, minutes=st.integers(0, 20 * 1_440))
def test_after_downtime_only_dates_that_are_served_get_verdicts(
    weekdays: tuple[int, ...], minutes: int
) -> None:
    programme = Programme(weekdays=weekdays)
    user = new_daily_user(enrollment("north", "ann", time(10)), TUESDAY)
    now = TUESDAY + timedelta(minutes=minutes)
    finalization = finalize_cutoffs(user, now, ServicePeriod(now), programme=programme)
    over = [TUESDAY.date() + n * DAY for n in range(30) if TUESDAY + n * DAY + 10 * HOUR <= now]
    if finalization is None:
        assert over == []
        return
    served = [day for day in over if day.isoweekday() in weekdays]
    told = [one.service_date for one in finalization.verdicts]
    assert told == [day for day in served if day in over[-7:]]
    earlier = [day for day in served if day not in over[-7:]]
    gap = finalization.gap
    assert (None if gap is None else (gap.from_date, gap.to_date)) == (
        (earlier[0], earlier[-1]) if earlier else None
    )
    assert finalization.user.next_date == over[-1] + DAY


@given(weekdays=WEEKDAYS, offset_s=st.integers(-5, 5))
def test_a_date_is_passed_over_once_its_window_would_open(weekdays: tuple[int, ...], offset_s: int) -> None:
    programme = Programme(weekdays=weekdays)
    user = new_daily_user(enrollment("north", "ann", time(10)), TUESDAY)
    passed = pass_over(user, user.opens_at + timedelta(seconds=offset_s), programme)
    assert (passed is None) == (offset_s < 0 or 2 in weekdays)
    if passed is not None:
        assert (passed.verdicts, passed.gap, passed.fresh_from) == ((), None, None)
        assert passed.user.next_date == user.next_date + DAY
    following = next_served_date(user, programme)
    assert following is not None
    assert following.isoweekday() in weekdays
    assert following < user.next_date + 7 * DAY


def test_a_programme_whose_calendar_is_over_serves_no_date_any_more() -> None:
    user = new_daily_user(enrollment("north", "ann", time(10), timezone="Pacific/Apia"), TUESDAY)
    for days, expected in ((-1, None), (0, user.next_date), (1, user.next_date + DAY)):
        midnight = datetime.combine(user.next_date + days * DAY, time(), UTC)
        programme = Programme(only_during=calendar_of("once", "UTC", [(midnight, midnight + DAY)]))
        assert next_served_date(user, programme) == expected


def test_a_calendar_is_read_by_the_clock_of_the_user() -> None:
    """Open on the tenth from 8 to 18 in Berlin: whoever is due at 17:30 on the tenth is served, anywhere."""
    tenth = TUESDAY - HOUR
    berlin = calendar_of("work", "Europe/Berlin", [(tenth + 8 * HOUR, tenth + 18 * HOUR)])
    only, never = Programme(only_during=berlin), Programme(never_during=berlin)
    for day, due, is_open in (
        (date(2026, 3, 10), time(8), True),
        (date(2026, 3, 10), time(17, 59), True),
        (date(2026, 3, 10), time(18), False),
        (date(2026, 3, 11), time(9), False),
    ):
        assert only.serves(day, due) is is_open
        assert never.serves(day, due) is not is_open


async def test_the_conversations_of_a_programme_go_on_where_it_says_so(make_daily: MakeDaily) -> None:
    daily = make_daily(TUESDAY + 9 * HOUR)
    await put(daily, resets_conversation=False)
    user = await daily.enroll("ann", time(10), programme_id="evening")
    daily.clocks.advance(HOUR)
    await daily.tick()
    assert isinstance(daily.store, UnavailableDaily)
    assert daily.store.tables.context_resets == {}
    assert len(await daily.store.verdicts_of(user.key)) == 1
    await put(daily)
    daily.clocks.advance(DAY)
    await daily.tick()
    assert daily.store.tables.context_resets == {user.key.user: daily.clocks.wall}


async def test_a_programme_that_is_written_holds_from_the_next_tick_on(make_daily: MakeDaily) -> None:
    daily = make_daily(TUESDAY + 9 * HOUR)
    assert isinstance(daily.store, UnavailableDaily)
    await daily.tick()
    await put(daily, "daily", retry_delay_minutes=1)
    daily.runs.answer = lambda *_: FAILED
    await daily.enroll("ann", time(10))
    await daily.every_minute(3)
    assert len(daily.runs.started) == 3
    await daily.store.delete_programme(ProgrammeKey("default"))
    await daily.every_minute(11)
    assert len(daily.runs.started) == 5


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"weekdays": ()}, "weekdays must be at least one"),
        ({"weekdays": (0, 1)}, "weekdays must be at least one"),
        ({"share_percent": 0}, "share_percent"),
        ({"window_minutes": 1_441}, "window_minutes must be a whole number of minutes from 1 to 1,440"),
        ({"job_timeout_ms": 0}, "job_timeout_ms"),
        ({"id": "no spaces"}, "id must be"),
        ({"name": ""}, "name must be one line"),
    ],
    ids=str,
)
def test_a_programme_that_cannot_be_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        Programme(**given)
