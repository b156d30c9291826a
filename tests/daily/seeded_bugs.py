"""Bugs to be found: each is one thing done a little wrong."""

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Any

import pytest

from cadenza.domain.daily import clock_trust as daily_clock
from cadenza.domain.daily import rules as daily_rules
from cadenza.domain.daily.clock_trust import ClockTrust
from cadenza.domain.daily.rules import Service
from cadenza.domain.daily.user import DailyUser, Enrollment, Ruling
from cadenza.domain.daily.window import WINDOW, cutoff, service_date
from cadenza.engine.daily import finalizer as daily_finalizer
from cadenza.engine.daily import queue as daily_queue
from cadenza.engine.daily import tick as daily_planner
from cadenza.engine.daily.executor import DailyExecutor
from cadenza.engine.daily.finalizer import DailyFinalizer, _Success
from cadenza.engine.daily.tick import DailyPlanner
from cadenza.ports.daily import Owed

Patch = pytest.MonkeyPatch
Bug = Callable[[Patch], None]
SECOND = timedelta(seconds=1)
succeeded_rightly, cut_off_rightly, enrolled_rightly = (
    daily_rules.succeeded,
    daily_rules.cut_off,
    daily_rules.enrolled,
)


def the_window_opens_a_second_late(patch: Patch) -> None:
    patch.setattr(daily_planner, "WINDOW", WINDOW - SECOND)


def the_window_opens_a_second_early(patch: Patch) -> None:
    patch.setattr(daily_planner, "WINDOW", WINDOW + SECOND)
    patch.setattr(daily_queue, "has_opened", lambda *_: True)


def the_cutoff_belongs_to_the_window(patch: Patch) -> None:
    patch.setattr(daily_planner, "bisect_right", bisect_left)
    patch.setattr(daily_queue, "is_over", lambda cutoff, now: cutoff < now)


def who_waited_past_the_cutoff_is_attempted(patch: Patch) -> None:
    patch.setattr(daily_queue, "is_over", lambda *_: False)


def a_late_success_is_a_success(patch: Patch) -> None:
    def succeeded(user: DailyUser, day: Any, returned_at: datetime) -> Ruling | None:
        return succeeded_rightly(user, day, min(returned_at, user.next_cutoff - SECOND))

    patch.setattr(daily_finalizer, "succeeded", succeeded)


def a_success_at_the_cutoff_is_in_time(patch: Patch) -> None:
    patch.setattr(daily_rules, "is_over", lambda cutoff, now: cutoff < now)


def a_success_is_for_the_next_day_that_is_owed(patch: Patch) -> None:
    def succeeded(user: DailyUser, _: Any, returned_at: datetime) -> Ruling | None:
        return succeeded_rightly(user, user.next_date, returned_at)

    patch.setattr(daily_finalizer, "succeeded", succeeded)


def the_day_is_derived_when_the_job_returns(patch: Patch) -> None:
    def rule(success: _Success, user: DailyUser) -> Ruling | None:
        day = service_date(user.due, success.returned_at)
        return succeeded_rightly(user, day, success.returned_at)

    patch.setattr(_Success, "rule", rule)


def cutoffs_come_before_finished_jobs(patch: Patch) -> None:
    async def settle(self: DailyFinalizer) -> int:
        successes, self._successes = self._successes, {}
        cutoffs = await rightly(self)
        self._successes = successes
        return cutoffs or await rightly(self)

    rightly = DailyFinalizer.settle
    patch.setattr(DailyFinalizer, "settle", settle)


def retries_wait_by_the_clock_on_the_wall(patch: Patch) -> None:
    def wanted(self: DailyPlanner, in_window: list[Owed], _: float) -> list[Owed]:
        return judged(self, in_window, self._watch.read().now.timestamp() * 1_000)

    async def enqueue(self: DailyPlanner, wanted: list[Owed], _: float) -> int:
        return await enqueued(self, wanted, self._watch.read().now.timestamp() * 1_000)

    judged, enqueued = DailyPlanner._wanted, DailyPlanner._enqueue
    patch.setattr(DailyPlanner, "_wanted", wanted)
    patch.setattr(DailyPlanner, "_enqueue", enqueue)


def retries_do_not_wait(patch: Patch) -> None:
    patch.setattr(daily_queue, "RETRY_DELAY_MS", 1)


def retries_wait_a_second_longer(patch: Patch) -> None:
    patch.setattr(daily_queue, "RETRY_DELAY_MS", 601_000)


def a_user_is_free_while_a_success_is_not_written(patch: Patch) -> None:
    def succeeded(self: DailyFinalizer, owed: Owed, returned_at: datetime) -> None:
        self._queue.release(owed.key)
        rightly(self, owed, returned_at)

    rightly = DailyFinalizer.succeeded
    patch.setattr(DailyFinalizer, "succeeded", succeeded)


def a_timeout_frees_the_slot_while_the_job_runs_on(patch: Patch) -> None:
    async def result(self: DailyExecutor, owed: Owed, deadline: Any) -> Any:
        running = asyncio.ensure_future(rightly(self, owed, deadline))
        return await asyncio.shield(running)

    rightly = DailyExecutor._result
    patch.setattr(DailyExecutor, "_result", result)


def there_is_one_slot_too_many(patch: Patch) -> None:
    def limit(self: DailyExecutor, most: int) -> None:
        self._most = most + 1

    patch.setattr(DailyExecutor, "limit", limit)


def any_user_goes_first(patch: Patch) -> None:
    patch.setattr(daily_queue, "heappop", lambda waiting: waiting.pop())


def after_a_downtime_only_the_last_day_counts(patch: Patch) -> None:
    patch.setattr(daily_rules, "MOST_OWED", 1)


def there_is_never_a_gap(patch: Patch) -> None:
    patch.setattr(daily_rules, "MOST_OWED", 1_000)


def nobody_is_ever_late(patch: Patch) -> None:
    def late(user: DailyUser, now: datetime, service: Service) -> Ruling | None:
        return cut_off_rightly(user, now, service._replace(since=service.since - timedelta(days=99)))

    patch.setattr(daily_finalizer, "cut_off", late)


def new_users_owe_what_is_past(patch: Patch) -> None:
    def enrolled(wanted: Enrollment, now: datetime, *_: Any) -> DailyUser:
        user = enrolled_rightly(wanted, now)
        return replace(user, next_cutoff=cutoff(wanted.due, service_date(wanted.due, now)))

    patch.setattr(daily_rules, "enrolled", enrolled)


def another_due_time_touches_an_open_window(patch: Patch) -> None:
    patch.setattr(daily_rules, "has_opened", lambda *_: False)


def another_due_time_holds_for_a_day_that_it_is_past_on(patch: Patch) -> None:
    def rescheduled(user: DailyUser, due: time, _: datetime) -> DailyUser:
        return replace(user, next_cutoff=cutoff(due, user.next_date), changes=())

    patch.setattr(daily_rules, "rescheduled", rescheduled)


def the_clock_is_always_trusted(patch: Patch) -> None:
    patch.setattr(daily_clock, "STEP", timedelta(days=999))


def two_ticks_bring_trust_back(patch: Patch) -> None:
    patch.setattr(daily_clock, "AGREEMENTS", 2)


def only_ticks_look_at_the_clock(patch: Patch) -> None:
    patch.setattr(ClockTrust, "vouches_for", lambda self, *_: self.trusted)


def a_tick_waits_for_its_jobs(patch: Patch) -> None:
    async def enqueue(self: DailyPlanner, wanted: list[Owed], steady_ms: float) -> int:
        enqueued = await rightly(self, wanted, steady_ms)
        while any(owed.key in self._queue._held for owed in wanted):  # noqa: ASYNC110
            await asyncio.sleep(0)
        return enqueued

    rightly = DailyPlanner._enqueue
    patch.setattr(DailyPlanner, "_enqueue", enqueue)


def a_claim_is_written_down(patch: Patch) -> None:
    async def enqueue(self: DailyPlanner, wanted: list[Owed], steady_ms: float) -> int:
        now = self._watch.read().now
        claimed = [owed.key for owed in wanted]
        await self._store.settle_days(claimed, lambda user: Ruling(replace(user, last_run_at=now), ()))
        return await rightly(self, wanted, steady_ms)

    rightly = DailyPlanner._enqueue
    patch.setattr(DailyPlanner, "_enqueue", enqueue)


def what_cannot_be_written_is_forgotten(patch: Patch) -> None:
    async def settle(self: DailyFinalizer) -> int:
        try:
            return await rightly(self)
        except Exception:
            for key in self._successes:
                self._queue.release(key)
            self._successes.clear()
            raise

    rightly = DailyFinalizer.settle
    patch.setattr(DailyFinalizer, "settle", settle)


BUGS: Collection[Bug] = [
    bug
    for name, bug in dict(globals()).items()
    if callable(bug) and getattr(bug, "__module__", "") == __name__
]
