"""Seeded bugs that the tests must find: each makes one thing slightly wrong."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any

import pytest

from cadenza.domain.daily import clock_trust, rules
from cadenza.domain.daily.clock_trust import ClockTrust
from cadenza.domain.daily.programme import Programme
from cadenza.domain.daily.rules import ServicePeriod
from cadenza.domain.daily.user import DailyUser, Enrollment, Finalization, LocalDue
from cadenza.domain.daily.window import WINDOW, cutoff, service_date
from cadenza.engine.daily import finalizer, queue, tick
from cadenza.engine.daily.executor import DailyExecutor
from cadenza.engine.daily.finalizer import DailyFinalizer, _Success
from cadenza.engine.daily.tick import DailyTicker
from cadenza.engine.daily.verdict_writer import VerdictWriter
from cadenza.ports.daily import PendingDay

Patch = pytest.MonkeyPatch
Bug = Callable[[Patch], None]
SECOND = timedelta(seconds=1)
finalize_success, finalize_cutoffs, new_daily_user = (
    rules.finalize_success,
    rules.finalize_cutoffs,
    rules.new_daily_user,
)


def _ticks_read(patch: Patch, off: timedelta) -> None:
    def wrongly(self: DailyTicker, shard: int, now: datetime) -> AsyncIterator[list[PendingDay]]:
        return rightly(self, shard, now + off)

    rightly = DailyTicker._pages
    patch.setattr(DailyTicker, "_pages", wrongly)


def _retry_delay(patch: Patch, change: Callable[[timedelta], timedelta]) -> None:
    def wrongly(self: Programme) -> timedelta:
        return change(timedelta(minutes=self.retry_delay_minutes or 10))

    patch.setattr(Programme, "retry_delay", property(wrongly))


def the_window_is_always_an_hour(patch: Patch) -> None:
    patch.setattr(Programme, "window", WINDOW)


def another_length_of_windows_holds_at_once(patch: Patch) -> None:
    def wrongly(user: DailyUser) -> PendingDay:
        return rightly(user)._replace(opens_at=user.next_cutoff - WINDOW)

    rightly = PendingDay.of
    patch.setattr(PendingDay, "of", wrongly)


def the_window_opens_a_second_late(patch: Patch) -> None:
    _ticks_read(patch, -SECOND)


def the_window_opens_a_second_early(patch: Patch) -> None:
    _ticks_read(patch, SECOND)
    patch.setattr(queue, "has_opened", lambda *_: True)


def the_cutoff_belongs_to_the_window(patch: Patch) -> None:
    patch.setattr(tick, "is_over", lambda cutoff, now: cutoff < now)
    patch.setattr(queue, "is_over", lambda cutoff, now: cutoff < now)


def who_waited_past_the_cutoff_is_attempted(patch: Patch) -> None:
    patch.setattr(queue, "is_over", lambda *_: False)


def a_late_success_is_a_success(patch: Patch) -> None:
    def wrongly(user: DailyUser, day: Any, returned_at: datetime, **given: Any) -> Finalization | None:
        return finalize_success(user, day, min(returned_at, user.next_cutoff - SECOND), **given)

    patch.setattr(finalizer, "finalize_success", wrongly)


def a_success_at_the_cutoff_is_in_time(patch: Patch) -> None:
    patch.setattr(rules, "is_over", lambda cutoff, now: cutoff < now)


def a_success_counts_for_the_next_pending_day(patch: Patch) -> None:
    def wrongly(user: DailyUser, _: Any, returned_at: datetime, **given: Any) -> Finalization | None:
        return finalize_success(user, user.next_date, returned_at, **given)

    patch.setattr(finalizer, "finalize_success", wrongly)


def the_day_is_derived_when_the_job_returns(patch: Patch) -> None:
    def wrongly(success: _Success, user: DailyUser, programme: Programme) -> Finalization | None:
        day = service_date(user.due, success.returned_at)
        return finalize_success(user, day, success.returned_at, programme=programme)

    patch.setattr(_Success, "finalize", wrongly)


def cutoffs_come_before_finished_jobs(patch: Patch) -> None:
    async def write_batch(self: DailyFinalizer) -> int:
        successes, self._successes = self._successes, {}
        cutoffs = await rightly(self)
        self._successes = successes
        return cutoffs or await rightly(self)

    rightly = DailyFinalizer.write_batch
    patch.setattr(DailyFinalizer, "write_batch", write_batch)


def retries_wait_by_the_clock_on_the_wall(patch: Patch) -> None:
    def wanted(self: DailyTicker, in_window: list[PendingDay], _: float) -> list[PendingDay]:
        return judged(self, in_window, self._daily_clock.read().now.timestamp() * 1_000)

    async def enqueue(self: DailyTicker, wanted: list[PendingDay], _: float) -> int:
        return await enqueued(self, wanted, self._daily_clock.read().now.timestamp() * 1_000)

    judged, enqueued = DailyTicker._wanted, DailyTicker._enqueue
    patch.setattr(DailyTicker, "_wanted", wanted)
    patch.setattr(DailyTicker, "_enqueue", enqueue)


def retries_do_not_wait(patch: Patch) -> None:
    _retry_delay(patch, lambda _: timedelta(milliseconds=1))


def retries_wait_a_second_longer(patch: Patch) -> None:
    _retry_delay(patch, lambda rightly: rightly + SECOND)


def a_user_is_free_while_a_success_is_not_written(patch: Patch) -> None:
    def wrongly(self: DailyFinalizer, day: PendingDay, returned_at: datetime) -> None:
        self._queue.release(day.key)
        rightly(self, day, returned_at)

    rightly = DailyFinalizer.add_success
    patch.setattr(DailyFinalizer, "add_success", wrongly)


def a_timeout_frees_the_slot_while_the_job_runs_on(patch: Patch) -> None:
    async def result(self: DailyExecutor, day: PendingDay, deadline: Any) -> Any:
        running = asyncio.ensure_future(rightly(self, day, deadline))
        return await asyncio.shield(running)

    rightly = DailyExecutor._result
    patch.setattr(DailyExecutor, "_result", result)


def there_is_one_slot_too_many(patch: Patch) -> None:
    def limit(self: DailyExecutor, most: int) -> None:
        self._shares.most = most + 1

    patch.setattr(DailyExecutor, "limit", limit)


def any_user_goes_first(patch: Patch) -> None:
    patch.setattr(queue, "heappop", lambda waiting: waiting.pop())


def after_a_downtime_only_the_last_day_counts(patch: Patch) -> None:
    patch.setattr(rules, "MOST_LATE_VERDICTS", 1)


def there_is_never_a_gap(patch: Patch) -> None:
    patch.setattr(rules, "MOST_LATE_VERDICTS", 1_000)


def nobody_is_ever_late(patch: Patch) -> None:
    def wrongly(user: DailyUser, now: datetime, service: ServicePeriod, **given: Any) -> Finalization | None:
        always = service._replace(since=service.since - timedelta(days=99))
        return finalize_cutoffs(user, now, always, **given)

    patch.setattr(finalizer, "finalize_cutoffs", wrongly)


def new_users_owe_what_is_past(patch: Patch) -> None:
    def wrongly(wanted: Enrollment, now: datetime, *_: Any, **__: Any) -> DailyUser:
        user = new_daily_user(wanted, now)
        return _on(user, wanted.due, service_date(wanted.due, now))

    patch.setattr(rules, "new_daily_user", wrongly)


def another_due_time_touches_an_open_window(patch: Patch) -> None:
    patch.setattr(rules, "has_opened", lambda *_: False)


def another_due_time_holds_for_a_day_that_it_is_past_on(patch: Patch) -> None:
    def wrongly(user: DailyUser, wanted: LocalDue, *_: Any, **__: Any) -> DailyUser:
        return replace(_on(user, wanted.due, user.next_date), changes=())

    patch.setattr(rules, "change_due_time", wrongly)


def _on(user: DailyUser, due: time, day: date) -> DailyUser:
    at = cutoff(due, day)
    return replace(user, next_date=day, due=due, next_cutoff=at, opens_at=at - WINDOW)


def the_clock_is_always_trusted(patch: Patch) -> None:
    patch.setattr(clock_trust, "STEP", timedelta(days=999))


def two_ticks_bring_trust_back(patch: Patch) -> None:
    patch.setattr(clock_trust, "TICKS_TO_TRUST", 2)


def only_ticks_look_at_the_clock(patch: Patch) -> None:
    patch.setattr(ClockTrust, "trusts", lambda self, *_: self.trusted)


def a_tick_waits_for_its_jobs(patch: Patch) -> None:
    async def enqueue(self: DailyTicker, wanted: list[PendingDay], steady_ms: float) -> int:
        enqueued = await rightly(self, wanted, steady_ms)
        while any(day.key in self._queue._held for day in wanted):  # noqa: ASYNC110
            await asyncio.sleep(0)
        return enqueued

    rightly = DailyTicker._enqueue
    patch.setattr(DailyTicker, "_enqueue", enqueue)


def a_claim_is_written_down(patch: Patch) -> None:
    async def enqueue(self: DailyTicker, wanted: list[PendingDay], steady_ms: float) -> int:
        now = self._daily_clock.read().now
        claimed = [day.key for day in wanted]
        await self._store.finalize_days(
            claimed, lambda user: Finalization(replace(user, last_run_at=now), ())
        )
        return await rightly(self, wanted, steady_ms)

    rightly = DailyTicker._enqueue
    patch.setattr(DailyTicker, "_enqueue", enqueue)


def what_cannot_be_written_is_forgotten(patch: Patch) -> None:
    async def write_batch(self: DailyFinalizer) -> int:
        try:
            return await rightly(self)
        except Exception:
            for key in self._successes:
                self._queue.release(key)
            self._successes.clear()
            raise

    rightly = DailyFinalizer.write_batch
    patch.setattr(DailyFinalizer, "write_batch", write_batch)


def a_lost_answer_is_not_looked_up(patch: Patch) -> None:
    async def written(self: VerdictWriter, _: Any, answer: Finalization | None) -> list[Finalization]:
        return [] if answer is None else [answer]

    patch.setattr(VerdictWriter, "_written", written)


def a_tick_counts_what_is_not_written(patch: Patch) -> None:
    patch.setattr(DailyFinalizer, "take_cut_off", lambda self: len(self._cutoffs))


BUGS: Collection[Bug] = [
    bug
    for name, bug in dict(globals()).items()
    if callable(bug) and getattr(bug, "__module__", "") == __name__ and not name.startswith("_")
]
