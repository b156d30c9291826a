"""Writes verdicts: successful runs first, cutoffs second, a bounded batch at a time."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.rules import ServicePeriod, finalize_cutoffs, finalize_success
from cadenza.domain.daily.user import DailyUser, DayStatus, Finalization
from cadenza.engine.async_helpers import RECOVERY_MS, Attempts
from cadenza.engine.daily.clock import DailyClock
from cadenza.engine.daily.events import DailyEvents
from cadenza.engine.daily.queue import DailyQueue
from cadenza.engine.daily.verdict_writer import VerdictWriter
from cadenza.ports.clock import Clock
from cadenza.ports.daily import DailyStore, PendingDay
from cadenza.ports.telemetry import Logger


class _Success(NamedTuple):
    """A run that succeeded, and the day it was started for."""

    day: PendingDay
    returned_at: datetime

    def finalize(self, user: DailyUser) -> Finalization | None:
        return finalize_success(user, self.day.service_date, self.returned_at)


class _Cutoff(NamedTuple):
    """A tick at which a user was past the cutoff."""

    now: datetime
    service: ServicePeriod

    def finalize(self, user: DailyUser) -> Finalization | None:
        return finalize_cutoffs(user, self.now, self.service)


class DailyFinalizer:
    """Holds successes and cutoffs until their verdicts are written; a failed write is retried."""

    def __init__(
        self,
        *,
        store: DailyStore,
        queue: DailyQueue,
        daily_clock: DailyClock,
        events: DailyEvents,
        batch: int,
    ) -> None:
        self._writer = VerdictWriter(store)
        self._queue = queue
        self._daily_clock = daily_clock
        self._events = events
        self._batch = batch
        self._successes: dict[UserKey, _Success] = {}
        self._cutoffs: dict[UserKey, _Cutoff] = {}
        self._work = asyncio.Event()
        self._cut_off = 0

    @property
    def pending(self) -> int:
        """How many users wait for a verdict to be written."""
        return len(self._successes) + len(self._cutoffs)

    @property
    def users(self) -> set[UserKey]:
        """These users."""
        return {*self._successes, *self._cutoffs}

    def add_success(self, day: PendingDay, returned_at: datetime) -> None:
        """A run has succeeded; the queue holds its user until the verdict is written."""
        self._successes[day.key] = _Success(day, returned_at)
        self._work.set()

    def add_cutoffs(self, keys: Iterable[UserKey], now: datetime, service: ServicePeriod) -> None:
        """These users are past their cutoff; a later tick replaces an earlier one, as it covers more days."""
        self._cutoffs |= dict.fromkeys(keys, _Cutoff(now, service))
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
        successes = dict(islice(self._successes.items(), self._batch))
        room = self._batch - len(successes)
        others = ((key, one) for key, one in self._cutoffs.items() if key not in self._successes)
        cutoffs = dict(islice(others, room))
        if not successes and not cutoffs:
            return 0
        batch: dict[UserKey, _Success | _Cutoff] = {**successes, **cutoffs}
        written = await self._writer.write({key: one.finalize for key, one in batch.items()})
        self._record(written, successes)
        for key, cutoff in cutoffs.items():
            if self._cutoffs[key] is cutoff:
                del self._cutoffs[key]
        return len(batch)

    def _record(self, written: dict[UserKey, list[Finalization]], successes: dict[UserKey, _Success]) -> None:
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
                self._enqueue_next(finalizations[-1].user)

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
        if self._queue.is_open(user.next_cutoff, now):
            self._queue.offer(PendingDay(user.next_cutoff, *user.key), steady_ms)
