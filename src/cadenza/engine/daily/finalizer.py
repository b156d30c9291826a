"""Writes verdicts: successful runs first, cutoffs second, a bounded batch at a time."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from cadenza.domain.daily.keys import DailyKey
from cadenza.domain.daily.programme import Programme
from cadenza.domain.daily.rules import ServicePeriod, finalize_cutoffs, finalize_success, pass_over
from cadenza.domain.daily.user import DailyUser, DayStatus, Finalization
from cadenza.engine.async_helpers import RECOVERY_MS, Attempts
from cadenza.engine.daily.clock import DailyClock
from cadenza.engine.daily.events import DailyEvents
from cadenza.engine.daily.programmes import RunnerProgrammes
from cadenza.engine.daily.queue import DailyQueue
from cadenza.engine.daily.verdict_writer import VerdictWriter
from cadenza.ports.clock import Clock
from cadenza.ports.daily import DailyStore, Finalize, PendingDay
from cadenza.ports.telemetry import Logger


class _Success(NamedTuple):
    """A run that succeeded, and the day it was started for."""

    day: PendingDay
    returned_at: datetime

    def finalize(self, user: DailyUser, programme: Programme) -> Finalization | None:
        return finalize_success(user, self.day.service_date, self.returned_at, programme=programme)


class _Cutoff(NamedTuple):
    """A tick at which a user was past the cutoff."""

    now: datetime
    service: ServicePeriod

    def finalize(self, user: DailyUser, programme: Programme) -> Finalization | None:
        return finalize_cutoffs(user, self.now, self.service, programme=programme)


class _PassedOver(NamedTuple):
    """A tick at which a user's window was open for a date that the programme does not serve."""

    now: datetime

    def finalize(self, user: DailyUser, programme: Programme) -> Finalization | None:
        return pass_over(user, self.now, programme)


_Decision = _Success | _Cutoff | _PassedOver


class DailyFinalizer:
    """Holds successes and cutoffs until their verdicts are written; a failed write is retried."""

    def __init__(
        self,
        *,
        store: DailyStore,
        queue: DailyQueue,
        programmes: RunnerProgrammes,
        daily_clock: DailyClock,
        events: DailyEvents,
        batch: int,
    ) -> None:
        self._writer = VerdictWriter(store)
        self._queue = queue
        self._programmes = programmes
        self._daily_clock = daily_clock
        self._events = events
        self._batch = batch
        self._successes: dict[DailyKey, _Success] = {}
        self._cutoffs: dict[DailyKey, _Cutoff] = {}
        self._passed_over: dict[DailyKey, _PassedOver] = {}
        self._work = asyncio.Event()
        self._cut_off = 0

    @property
    def pending(self) -> int:
        """How many users wait for a verdict to be written, or for a date to be passed over."""
        return len(self._successes) + len(self._cutoffs) + len(self._passed_over)

    @property
    def users(self) -> set[DailyKey]:
        """These users."""
        return {*self._successes, *self._cutoffs, *self._passed_over}

    def add_success(self, day: PendingDay, returned_at: datetime) -> None:
        """A run has succeeded; the queue holds its user until the verdict is written."""
        self._successes[day.key] = _Success(day, returned_at)
        self._work.set()

    def add_cutoffs(self, keys: Iterable[DailyKey], now: datetime, service: ServicePeriod) -> None:
        """These users are past their cutoff; a later tick replaces an earlier one, as it covers more days."""
        self._cutoffs |= dict.fromkeys(keys, _Cutoff(now, service))
        self._work.set()

    def add_passed_over(self, keys: Iterable[DailyKey], now: datetime) -> None:
        """The next date of these users is not served by their programme, and its window is open."""
        self._passed_over |= dict.fromkeys(keys, _PassedOver(now))
        self._work.set()

    def take_cut_off(self) -> int:
        """How many days were written as cut off since this was last asked."""
        cut_off, self._cut_off = self._cut_off, 0
        return cut_off

    async def run(self, clock: Clock, log: Logger) -> None:
        """Write until cancelled."""
        attempts = Attempts("daily-finalizer", clock, log)
        while True:
            if not self.pending:
                await self._work.wait()
            self._work.clear()
            if not await attempts.try_once(self.write_batch()) or not self._daily_clock.trusted:
                await clock.sleep(RECOVERY_MS)
            await asyncio.sleep(0)

    async def write_batch(self) -> int:
        """Write one batch, and return for how many users; 0 while the clock is not trusted."""
        if not self._daily_clock.trusted:
            return 0
        batch = self._next_batch()
        if not batch:
            return 0
        written = await self._writer.write({key: self._rule(one) for key, one in batch.items()})
        self._record(written, {key: one for key, one in batch.items() if isinstance(one, _Success)})
        for waiting in (self._cutoffs, self._passed_over):
            for key, decision in batch.items():
                if waiting.get(key) is decision:
                    del waiting[key]
        return len(batch)

    def _next_batch(self) -> dict[DailyKey, _Decision]:
        """Finished jobs first, cutoffs second, dates to pass over last; one decision for each user."""
        batch: dict[DailyKey, _Decision] = dict(islice(self._successes.items(), self._batch))
        for waiting in (self._cutoffs, self._passed_over):
            others = ((key, one) for key, one in waiting.items() if key not in self._successes)
            new = ((key, one) for key, one in others if key not in batch)
            batch |= dict(islice(new, self._batch - len(batch)))
        return batch

    def _rule(self, decision: _Decision) -> Finalize:
        return lambda user: decision.finalize(user, self._programmes.of(user.key.programme))

    def _record(
        self, written: dict[DailyKey, list[Finalization]], successes: dict[DailyKey, _Success]
    ) -> None:
        for key, success in successes.items():
            del self._successes[key]
            self._queue.finish(success.day, self._daily_clock.read().steady_ms)
            statuses = [finalization.user.status for finalization in written[key]]
            if DayStatus.SUCCESS not in statuses:
                self._events.late_success(success.day, statuses[-1] if statuses else None)
        for finalizations in written.values():
            for finalization in finalizations:
                self._emit(finalization)
            if finalizations:
                user = finalizations[-1].user
                self._queue.settled_before(user.key, user.next_date)
                self._enqueue_next(user)

    def _emit(self, finalization: Finalization) -> None:
        """Emit and count what was written."""
        if finalization.gap is not None:
            self._events.gap(finalization.gap, finalization.user.due)
        for verdict in finalization.verdicts:
            self._events.finalized(verdict)
        self._cut_off += finalization.days_cut_off

    def _enqueue_next(self, user: DailyUser) -> None:
        """A user whose next window is open is enqueued without waiting for a tick."""
        now, steady_ms = self._daily_clock.read()
        day = PendingDay.of(user)
        if self._queue.is_open(day, now) and self._programmes.serves(day):
            self._queue.offer(day, steady_ms)
