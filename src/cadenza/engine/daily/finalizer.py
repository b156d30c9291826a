"""Writes verdicts: successful runs first, cutoffs second, a bounded batch at a time."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.rules import ServicePeriod, finalize_cutoffs, finalize_success
from cadenza.domain.daily.user import DailyUser, DayStatus, Finalization
from cadenza.domain.daily.window import has_opened, is_over
from cadenza.engine.async_helpers import RECOVERY_MS, try_once
from cadenza.engine.daily.clock import DailyClock
from cadenza.engine.daily.events import DailyEvents
from cadenza.engine.daily.queue import DailyQueue
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
        self._store = store
        self._queue = queue
        self._daily_clock = daily_clock
        self._events = events
        self._batch = batch
        self._successes: dict[UserKey, _Success] = {}
        self._cutoffs: dict[UserKey, _Cutoff] = {}
        self._work = asyncio.Event()

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

    async def run(self, clock: Clock, log: Logger) -> None:
        """Write until cancelled."""
        while True:
            if not self.pending:
                await self._work.wait()
            self._work.clear()
            if not await try_once(self.write_batch(), log) or not self._daily_clock.trusted:
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
        finalizations = await self._store.finalize_days(
            list(batch), lambda user: batch[user.key].finalize(user)
        )
        self._record(dict(zip(batch, finalizations, strict=True)), successes)
        for key, written in cutoffs.items():
            if self._cutoffs[key] is written:
                del self._cutoffs[key]
        return len(batch)

    def _record(
        self, finalizations: dict[UserKey, Finalization | None], successes: dict[UserKey, _Success]
    ) -> None:
        for key, success in successes.items():
            del self._successes[key]
            self._queue.release(key)
            finalization = finalizations[key]
            status = None if finalization is None else finalization.user.status
            if status is not DayStatus.SUCCESS:
                self._events.late_success(success.day, status)
        for finalization in finalizations.values():
            if finalization is not None:
                self._enqueue_next(finalization)

    def _enqueue_next(self, finalization: Finalization) -> None:
        """Emit the verdicts; a user whose next window is open is enqueued without waiting for a tick."""
        for verdict in finalization.verdicts:
            self._events.finalized(verdict)
        now, steady_ms = self._daily_clock.read()
        cutoff = finalization.user.next_cutoff
        if has_opened(cutoff, now) and not is_over(cutoff, now):
            self._queue.offer(PendingDay(cutoff, *finalization.user.key), steady_ms)
