"""The queue of days to run: each user once, soonest cutoff first, with a delay between retries."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from cadenza.domain.daily.keys import DailyKey, ProgrammeKey
from cadenza.domain.daily.rules import SHARDS, shard_of
from cadenza.domain.daily.window import has_opened, is_over
from cadenza.engine.daily.programmes import RunnerProgrammes
from cadenza.ports.daily import PendingDay


class OfferResult(StrEnum):
    """What the queue does with a day that it is offered."""

    ENQUEUED = "enqueued"
    HELD = "queued or running"
    THROTTLED = "tried a moment ago"
    ELSEWHERE = "no more served here"


class _LastRun(NamedTuple):
    """The day of a user's last run, and when it may be enqueued again."""

    cutoff: datetime
    retry_at_ms: float


class DailyQueue:
    """Kept in memory only: after a crash, every user in an open window is eligible again.

    A user is held from the moment they are enqueued until their run has ended and, if it
    succeeded, until its verdict is written.
    """

    def __init__(self, programmes: RunnerProgrammes) -> None:
        self._programmes = programmes
        self._waiting: list[PendingDay] = []
        self._out_of_share: defaultdict[ProgrammeKey, list[PendingDay]] = defaultdict(list)
        """Days that were next, but whose programme used its share of the slots."""
        self._held: set[DailyKey] = set()
        self._next_dates: dict[DailyKey, date] = {}
        """Of those who are held, and whose date was settled meanwhile."""
        self._last_runs: dict[DailyKey, _LastRun] = {}
        self._by_age: deque[tuple[DailyKey, _LastRun]] = deque()
        """Oldest first, so that old ones are removed."""
        self._shards = frozenset(range(SHARDS))
        self.filled = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting) + sum(map(len, self._out_of_share.values()))

    def not_held(self, days: Sequence[PendingDay]) -> list[PendingDay]:
        """The days whose users are neither queued nor running; fast, as in a full window most are."""
        held = self._held
        return [day for day in days if day[1:4] not in held]

    def offer_result(self, day: PendingDay, steady_ms: float) -> OfferResult:
        """What an offer of this day would return, without its shard looked at."""
        key: Any = day[1:4]  # Equal to the DailyKey, and built in a third of the time.
        if key in self._held:
            return OfferResult.HELD
        last = self._last_runs.get(key)
        if last is not None and steady_ms < last.retry_at_ms and last.cutoff == day.cutoff:
            return OfferResult.THROTTLED
        return OfferResult.ENQUEUED

    def offer(self, day: PendingDay, steady_ms: float) -> OfferResult:
        """Enqueue a day, unless its user is held or throttled, or its shard is not served here."""
        result = self.offer_result(day, steady_ms)
        if result is not OfferResult.ENQUEUED:
            return result
        key = day.key
        if shard_of(key.user) not in self._shards:
            return OfferResult.ELSEWHERE
        self._held.add(key)
        self._throttle(day, steady_ms)
        heappush(self._waiting, day)
        self.filled.set()
        return result

    def take(
        self, now: datetime, has_room: Callable[[ProgrammeKey], bool] = lambda _: True
    ) -> PendingDay | None:
        """The next day to run of a programme that has room; days no longer in their window are removed."""
        while self._waiting:
            day = heappop(self._waiting)
            programme = day.key.programme
            if not self._is_wanted(day, now):
                self._remove(day)
                self.give_room(programme)
            elif has_room(programme):
                return day
            else:
                heappush(self._out_of_share[programme], day)
        return None

    def _is_wanted(self, day: PendingDay, now: datetime) -> bool:
        """Whether a day in the queue may still be run."""
        settled = day.service_date < self._next_dates.get(day.key, day.service_date)
        return self.is_open(day, now) and not settled and self._programmes.serves(day)

    def settled_before(self, key: DailyKey, next_date: date) -> None:
        """All dates of a user before this one are settled: what is queued for them is not run.

        The clock can be set back into their windows.
        """
        if key in self._held:
            self._next_dates[key] = next_date

    def give_room(self, programme: ProgrammeKey) -> None:
        """The programme may use one more slot: the soonest of its days that waited for that is next again."""
        if waiting := self._out_of_share.get(programme):
            heappush(self._waiting, heappop(waiting))
            if not waiting:
                del self._out_of_share[programme]

    def give_room_to_all(self) -> None:
        """The shares have changed: all days wait again."""
        for days in self._out_of_share.values():
            self._waiting += days
        self._out_of_share.clear()
        heapify(self._waiting)

    def is_open(self, day: PendingDay, now: datetime) -> bool:
        """Whether the window of a day is open."""
        return has_opened(day.opens_at, now) and not is_over(day.cutoff, now)

    def release(self, key: DailyKey) -> None:
        """The user is neither queued nor running any more."""
        self._held.discard(key)
        self._next_dates.pop(key, None)

    def finish(self, day: PendingDay, steady_ms: float) -> None:
        """A day has its verdict; a tick that read it just before does not enqueue it again."""
        self._throttle(day, steady_ms)
        self.release(day.key)

    def keep_shards(self, shards: Collection[int]) -> None:
        """Queue users of these shards alone from now on, and remove the users of others."""
        before, self._shards = self._shards, frozenset(shards)
        if before <= self._shards:
            return
        self.give_room_to_all()
        waiting, self._waiting = self._waiting, []
        for day in waiting:
            if shard_of(day.key.user) in self._shards:
                self._waiting.append(day)
            else:
                self._remove(day)
        heapify(self._waiting)

    def _remove(self, day: PendingDay) -> None:
        """Remove a day that was not run, so that no retry delay holds it back."""
        self._last_runs.pop(day.key, None)
        self.release(day.key)

    def _throttle(self, day: PendingDay, steady_ms: float) -> None:
        key = day.key
        delay_ms = self._programmes.of(key.programme).retry_delay / timedelta(milliseconds=1)
        last = self._last_runs[key] = _LastRun(day.cutoff, steady_ms + delay_ms)
        self._by_age.append((key, last))
        while self._by_age[0][1].retry_at_ms <= steady_ms:
            old_key, old = self._by_age.popleft()
            if self._last_runs.get(old_key) is old:
                del self._last_runs[old_key]
