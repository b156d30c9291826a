"""Writes verdicts: finished jobs first, cutoffs second, a bounded batch at a time."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.rules import Service, cut_off, succeeded
from cadenza.domain.daily.user import DailyUser, DayStatus, Ruling
from cadenza.domain.daily.window import has_opened, is_over
from cadenza.engine.async_helpers import RECOVERY_MS, survived
from cadenza.engine.daily.clock import DailyClock
from cadenza.engine.daily.events import DailyEvents
from cadenza.engine.daily.queue import DailyQueue
from cadenza.ports.clock import Clock
from cadenza.ports.daily import DailyStore, Owed
from cadenza.ports.telemetry import Logger


class _Success(NamedTuple):
    """A job that succeeded, for the day that it was started for."""

    owed: Owed
    returned_at: datetime

    def rule(self, user: DailyUser) -> Ruling | None:
        return succeeded(user, self.owed.service_date, self.returned_at)


class _Cutoff(NamedTuple):
    """Days that were cut off, as one tick saw it."""

    now: datetime
    service: Service

    def rule(self, user: DailyUser) -> Ruling | None:
        return cut_off(user, self.now, self.service)


class DailyFinalizer:
    """Keeps what is to be ruled until it is written; what cannot be written now is tried again."""

    def __init__(
        self, *, store: DailyStore, queue: DailyQueue, watch: DailyClock, events: DailyEvents, batch: int
    ) -> None:
        self._store = store
        self._queue = queue
        self._watch = watch
        self._events = events
        self._batch = batch
        self._successes: dict[UserKey, _Success] = {}
        self._cutoffs: dict[UserKey, _Cutoff] = {}
        self._news = asyncio.Event()

    @property
    def pending(self) -> int:
        """How many rulings are to be written."""
        return len(self._successes) + len(self._cutoffs)

    @property
    def users(self) -> set[UserKey]:
        """About whom."""
        return {*self._successes, *self._cutoffs}

    def succeeded(self, owed: Owed, returned_at: datetime) -> None:
        """A job has succeeded; its user is held until that is written."""
        self._successes[owed.key] = _Success(owed, returned_at)
        self._news.set()

    def cut_off(self, keys: Iterable[UserKey], now: datetime, service: Service) -> None:
        """These users' days have been cut off; of two ticks that saw it, the later saw more."""
        self._cutoffs |= dict.fromkeys(keys, _Cutoff(now, service))
        self._news.set()

    async def run(self, clock: Clock, log: Logger) -> None:
        """Write until cancelled."""
        while True:
            if not self.pending:
                await self._news.wait()
            self._news.clear()
            if not await survived(self.settle(), log) or not self._watch.trusted:
                await clock.sleep(RECOVERY_MS)
            await asyncio.sleep(0)

    async def settle(self) -> int:
        """Write one batch; how many rulings it was about. None while the clock cannot be trusted."""
        if not self._watch.trusted:
            return 0
        successes = dict(islice(self._successes.items(), self._batch))
        room = self._batch - len(successes)
        others = ((key, one) for key, one in self._cutoffs.items() if key not in self._successes)
        cutoffs = dict(islice(others, room))
        if not successes and not cutoffs:
            return 0
        ruled: dict[UserKey, _Success | _Cutoff] = {**successes, **cutoffs}
        rulings = await self._store.settle_days(list(ruled), lambda user: ruled[user.key].rule(user))
        self._written(dict(zip(ruled, rulings, strict=True)), successes)
        for key, written in cutoffs.items():
            if self._cutoffs[key] is written:
                del self._cutoffs[key]
        return len(ruled)

    def _written(self, rulings: dict[UserKey, Ruling | None], successes: dict[UserKey, _Success]) -> None:
        for key, success in successes.items():
            del self._successes[key]
            self._queue.release(key)
            ruling = rulings[key]
            status = None if ruling is None else ruling.user.status
            if status is not DayStatus.SUCCESS:
                self._events.late_success(success.owed, status)
        for ruling in rulings.values():
            if ruling is not None:
                self._go_on(ruling)

    def _go_on(self, ruling: Ruling) -> None:
        """Tell of the verdicts; a user whose next window is open does not wait for the next tick."""
        for verdict in ruling.verdicts:
            self._events.finalized(verdict)
        now, steady_ms = self._watch.read()
        cutoff = ruling.user.next_cutoff
        if has_opened(cutoff, now) and not is_over(cutoff, now):
            self._queue.offer(Owed(cutoff, *ruling.user.key), steady_ms)
