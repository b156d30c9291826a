"""Attempts: within the window, not too often, not too many at a time, and not for ever."""

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from tests.daily.daily_fixtures import FAILED, MakeDaily, UnavailableDaily, until

from cadenza.domain.daily.user import DONE, DayStatus
from cadenza.domain.errors import InvalidRequest
from cadenza.engine.daily.runner import DailySettings
from cadenza.ports.daily import PendingDay

MIDNIGHT = datetime(2026, 3, 10, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize("due", [time(0), time(0, 30), time(1), time(13, 37), time(23, 59)], ids=str)
@pytest.mark.parametrize("offset_s", [0, 59])
async def test_a_user_whose_every_attempt_fails_at_once_gets_exactly_six(
    make_daily: MakeDaily, due: time, offset_s: int
) -> None:
    daily = make_daily(MIDNIGHT - timedelta(hours=2) + timedelta(seconds=offset_s))
    daily.runs.answer = lambda *_: FAILED
    await daily.enroll("ann", due)
    await daily.every_minute(28 * 60)
    days = {run.service_date for run in daily.runs.started}
    attempts = [run.service_date for run in daily.runs.started]
    assert [attempts.count(day) for day in sorted(days)] == [6] * len(days)
    assert {one.status for one in await daily.verdicts("ann")} == {DayStatus.CUTOFF_REACHED}


@pytest.mark.parametrize(
    ("window", "retry", "tries"), [(60, 10, 6), (60, 25, 3), (30, 45, 1), (15, 7, 3), (1_440, 60, 24)]
)
async def test_windows_and_retries_are_as_long_as_they_are_set(
    make_daily: MakeDaily, window: int, retry: int, tries: int
) -> None:
    daily = make_daily(MIDNIGHT, window_minutes=window, retry_delay_minutes=retry)
    daily.runs.answer = lambda *_: FAILED
    await daily.enroll("ann", time(9))
    await daily.every_minute(35 * 60)
    second_day = [run.began_at for run in daily.runs.started if run.service_date == date(2026, 3, 11)]
    opens = MIDNIGHT + timedelta(hours=33) - timedelta(minutes=window)
    assert second_day == [opens + number * timedelta(minutes=retry) for number in range(tries)]
    assert [one.service_date for one in await daily.verdicts("ann")] == [date(2026, 3, 10), date(2026, 3, 11)]


async def test_another_length_of_windows_holds_from_the_next_date_on(make_daily: MakeDaily) -> None:
    daily = make_daily(MIDNIGHT + timedelta(hours=7), window_minutes=60)
    before = await daily.enroll("ann", time(9))
    daily.runs.answer = lambda *_: FAILED
    await daily.crash()
    daily.settings = replace(daily.settings, window_minutes=180)
    daily.start()
    await daily.tick()
    assert daily.runs.started == []
    assert await daily.enroll("ann", time(9)) == before
    daily.clocks.go_to(MIDNIGHT + timedelta(hours=9))
    await daily.tick()
    (verdict,) = await daily.verdicts("ann")
    assert (verdict.service_date, verdict.due) == (MIDNIGHT.date(), time(9))
    after = await daily.store.daily_user(before.key)
    assert (after.opens_at, after.next_cutoff) == (
        MIDNIGHT + timedelta(hours=30),
        MIDNIGHT + timedelta(hours=33),
    )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"window_minutes": 0}, "window_minutes must be a whole number of minutes from 1 to 1,440"),
        ({"window_minutes": 1_441}, "window_minutes must be a whole number of minutes from 1 to 1,440"),
        ({"retry_delay_minutes": 0}, "retry_delay_minutes must be a whole number of minutes from 1 to 1,440"),
        ({"window_minutes": 5, "tick_ms": 600_000}, "a window could pass between two ticks"),
    ],
)
def test_a_length_that_cannot_be_kept_is_refused(given: dict[str, int], why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        DailySettings(**given)


async def test_the_window_opens_and_closes_to_the_second(make_daily: MakeDaily) -> None:
    daily = make_daily(MIDNIGHT + timedelta(hours=9) - SECOND)
    await daily.enroll("ann", time(10))
    await daily.tick()
    assert daily.runs.started == []
    daily.clocks.advance(SECOND)
    await daily.tick()
    assert [run.service_date for run in daily.runs.started] == [MIDNIGHT.date()]
    daily.clocks.go_to(MIDNIGHT + timedelta(hours=10) - SECOND)
    await daily.tick()
    assert await daily.verdicts("ann") == []
    daily.clocks.advance(SECOND)
    await daily.tick()
    (verdict,) = await daily.verdicts("ann")
    assert (verdict.status, verdict.late) == (DayStatus.CUTOFF_REACHED, False)


async def test_the_soonest_cutoff_goes_first_and_slots_are_never_exceeded(make_daily: MakeDaily) -> None:
    daily = make_daily(MIDNIGHT + timedelta(hours=9, minutes=30), max_concurrency=2)
    for number in range(6):
        await daily.enroll(f"user-{number}", time(10, 10 - number))
    await daily.tick()
    assert [run.user_id for run in daily.runs.started] == ["user-5", "user-4"]
    await daily.finish(daily.runs.running[0], FAILED)
    await daily.finish(daily.runs.running[0])
    assert [run.user_id for run in daily.runs.started[2:]] == ["user-3", "user-2"]
    assert daily.runs.most_at_once == 2


async def test_who_waited_past_the_cutoff_is_not_attempted_any_more(make_daily: MakeDaily) -> None:
    daily = make_daily(MIDNIGHT + timedelta(hours=9, minutes=59), max_concurrency=1)
    await daily.enroll("ann", time(10))
    await daily.enroll("bob", time(10))
    await daily.tick()
    daily.clocks.advance(timedelta(minutes=1))
    await daily.finish(daily.runs.running[0])
    await daily.tick()
    assert [run.user_id for run in daily.runs.started] == ["ann"]
    assert [(await daily.verdicts(name))[0].status for name in ("ann", "bob")] == ["cutoff_reached"] * 2


async def test_a_job_that_outlives_its_timeout_keeps_its_slot_until_it_ends(make_daily: MakeDaily) -> None:
    daily = make_daily(MIDNIGHT + timedelta(hours=9, minutes=30), max_concurrency=1, job_timeout_ms=1)
    await daily.enroll("ann", time(10))
    await daily.enroll("bob", time(10, 1))
    await daily.tick()
    (run,) = daily.runs.running
    await until(lambda: run.cancelled > 0)
    await daily.tick()
    assert daily.runner.executor.in_flight == 1
    assert [one.user_id for one in daily.runs.started] == ["ann"]
    await daily.finish(run, FAILED)
    assert [one.user_id for one in daily.runs.started] == ["ann", "bob"]


async def test_a_job_that_ends_when_it_is_cut_off_has_timed_out_and_is_tried_again(
    make_daily: MakeDaily,
) -> None:
    daily = make_daily(MIDNIGHT + timedelta(hours=9, minutes=30), job_timeout_ms=1)
    daily.runs.killed = True
    await daily.enroll("ann", time(10))
    await daily.tick()
    await until(lambda: not daily.runs.running)
    await daily.spin()
    (stopped,) = [event for event in daily.telemetry.events if event.name == "sched.job.stop"]
    assert stopped.metadata["result"] == "timeout"
    assert stopped.metadata["error_class"] == "unknown"
    daily.clocks.advance(timedelta(minutes=10))
    await daily.tick()
    assert len(daily.runs.started) == 2


async def test_a_job_that_succeeds_after_its_timeout_has_succeeded(make_daily: MakeDaily) -> None:
    daily = make_daily(MIDNIGHT + timedelta(hours=9, minutes=30), job_timeout_ms=1)
    await daily.enroll("ann", time(10))
    await daily.tick()
    (run,) = daily.runs.running
    await until(lambda: run.cancelled > 0)
    await daily.finish(run, DONE)
    await daily.settle()
    assert [one.status for one in await daily.verdicts("ann")] == ["success"]


async def test_an_exception_costs_nobody_else_anything(make_daily: MakeDaily) -> None:
    daily = make_daily(MIDNIGHT + timedelta(hours=9, minutes=30))
    await daily.enroll("ann", time(10))
    await daily.enroll("bob", time(10))

    def answer(user_id: str, _: object) -> object:
        if user_id == "ann":
            raise RuntimeError("oh")
        return DONE

    daily.runs.answer = answer  # type: ignore[assignment]
    await daily.tick()
    await daily.tick()
    assert [len(await daily.verdicts(name)) for name in ("ann", "bob")] == [0, 1]
    failed = [event for event in daily.telemetry.events if event.metadata.get("result") == "error"]
    assert [event.metadata["error_class"] for event in failed] == ["unknown"]


async def test_a_user_who_is_being_served_is_not_served_twice(make_daily: MakeDaily) -> None:
    daily = make_daily(MIDNIGHT + timedelta(hours=9))
    await daily.enroll("ann", time(10))
    await daily.every_minute(59)
    assert len(daily.runs.started) == 1
    assert any(line.facts.get("reason") == "queued or running" for line in daily.log.lines)


async def test_a_success_that_is_not_written_yet_is_not_tried_again(make_daily: MakeDaily) -> None:
    daily = make_daily(MIDNIGHT + timedelta(hours=9))
    await daily.enroll("ann", time(10))
    await daily.tick()
    daily.clocks.advance(timedelta(minutes=15))
    await daily.finish(daily.runs.running[0])
    await daily.runner.tick()
    await daily.pump()
    assert len(daily.runs.started) == 1
    await daily.settle()
    assert [one.status for one in await daily.verdicts("ann")] == ["success"]


class FinishesDuringTheRead(UnavailableDaily):
    """A store that answers a tick with what it read before a success was written."""

    async def between(self) -> None:
        """What happens after a page is read and before the tick has it."""

    async def pending_days(self, shard: int, **asked: Any) -> list[PendingDay]:
        page = await super().pending_days(shard, **asked)
        if page:
            await self.between()
        return page


async def test_a_success_that_is_written_while_a_tick_reads_is_not_tried_again(
    make_daily: MakeDaily, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FinishesDuringTheRead()
    daily = make_daily(MIDNIGHT + timedelta(hours=9), store=store)
    await daily.enroll("ann", time(10))
    await daily.tick()
    daily.clocks.advance(timedelta(minutes=12))

    async def between() -> None:
        await daily.finish(daily.runs.running[0])
        await daily.settle()

    monkeypatch.setattr(store, "between", between)
    await daily.runner.tick()
    await daily.pump()
    assert len(daily.runs.started) == 1
    assert [one.status for one in await daily.verdicts("ann")] == [DayStatus.SUCCESS]
