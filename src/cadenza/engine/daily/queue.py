"""Days that wait to be attempted: each user once, soonest cutoff first, and not too often."""

import asyncio
from collections import deque
from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.rules import SHARDS, shard_of
from cadenza.domain.daily.window import RETRY_DELAY, has_opened, is_over
from cadenza.ports.daily import Owed

RETRY_DELAY_MS = RETRY_DELAY.total_seconds() * 1_000


class Offered(StrEnum):
    """What became of a day that was offered."""

    ENQUEUED = "enqueued"
    HELD = "queued or running"
    THROTTLED = "tried a moment ago"
    ELSEWHERE = "no more served here"


class _Tried(NamedTuple):
    """A day of a user that was enqueued, and from when on it may be again."""

    cutoff: datetime
    again_ms: float


class DailyQueue:
    """Nothing of it is durable: after a crash all users are eligible again, as the windows have it.

    A user is held from the enqueuing until the job has ended and, if it went well,
    until that is written down.
    """

    def __init__(self) -> None:
        self._waiting: list[Owed] = []
        self._held: set[UserKey] = set()
        self._tried: dict[UserKey, _Tried] = {}
        self._by_age: deque[tuple[UserKey, _Tried]] = deque()
        self._shards = frozenset(range(SHARDS))
        self.filled = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def not_held(self, owed: Sequence[Owed]) -> list[Owed]:
        """Those days whose users are neither queued nor running; quickly, as in a full window most are."""
        held = self._held
        return [one for one in owed if one[1:] not in held]

    def judge(self, owed: Owed, steady_ms: float) -> Offered:
        """What would become of a day: its user may be held, or was tried for it too short a time ago."""
        key: Any = owed[1:]  # As good as a UserKey here, and made in a third of the time.
        if key in self._held:
            return Offered.HELD
        tried = self._tried.get(key)
        if tried is not None and steady_ms < tried.again_ms and tried.cutoff == owed.cutoff:
            return Offered.THROTTLED
        return Offered.ENQUEUED

    def offer(self, owed: Owed, steady_ms: float) -> Offered:
        """Enqueue a day, if it is wanted, and its shard is still served here."""
        judged = self.judge(owed, steady_ms)
        if judged is not Offered.ENQUEUED:
            return judged
        key = owed.key
        if shard_of(key) not in self._shards:
            return Offered.ELSEWHERE
        self._held.add(key)
        self._throttle(key, _Tried(owed.cutoff, steady_ms + RETRY_DELAY_MS), steady_ms)
        heappush(self._waiting, owed)
        self.filled.set()
        return judged

    def take(self, now: datetime) -> Owed | None:
        """The next day to attempt; those that are not in their window any more are let go."""
        while self._waiting:
            owed = heappop(self._waiting)
            if has_opened(owed.cutoff, now) and not is_over(owed.cutoff, now):
                return owed
            self._let_go(owed)
        return None

    def release(self, key: UserKey) -> None:
        """The user is neither queued nor running any more."""
        self._held.discard(key)

    def keep(self, shards: Collection[int]) -> None:
        """Hold users of these shards alone from now on; who waits in another is let go."""
        before, self._shards = self._shards, frozenset(shards)
        if before <= self._shards:
            return
        waiting, self._waiting = self._waiting, []
        for owed in waiting:
            if shard_of(owed.key) in self._shards:
                self._waiting.append(owed)
            else:
                self._let_go(owed)
        heapify(self._waiting)

    def _let_go(self, owed: Owed) -> None:
        """Nothing was tried for it, so nothing has to be waited for when it comes again."""
        self._tried.pop(owed.key, None)
        self.release(owed.key)

    def _throttle(self, key: UserKey, tried: _Tried, steady_ms: float) -> None:
        self._tried[key] = tried
        self._by_age.append((key, tried))
        while self._by_age[0][1].again_ms <= steady_ms:
            old, over = self._by_age.popleft()
            if self._tried.get(old) is over:
                del self._tried[old]
