"""A rate limit that all processes on one database share, and most requests need no database for."""

import asyncio
from collections import OrderedDict
from datetime import datetime

from cadenza.domain.validation import check_count
from cadenza.ports.access import RateStore
from cadenza.ports.clock import Clock

WINDOW_S = 10
WINDOWS_A_MINUTE = 60 // WINDOW_S
KEPT_WINDOWS = 6


def window_of(moment: datetime) -> int:
    """The number of the rate window that a moment lies in."""
    return int(moment.timestamp() // WINDOW_S)


def seconds_left(moment: datetime) -> float:
    """The seconds until the rate window of a moment ends."""
    return WINDOW_S - moment.timestamp() % WINDOW_S


def oldest_kept(window: int) -> int:
    """The oldest rate window whose counters are kept: the clocks of other machines may be behind."""
    return window - KEPT_WINDOWS


SUBJECTS = 10_000
"""Subjects that are cached; one that is dropped loses what it had drawn and not used."""
CHUNKS = 20
MOST_A_MINUTE = 2**31


class _Allotment:
    """What a process has drawn for a subject in one rate window and not used yet."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.left = 0
        self.exhausted = False
        """Whether the window has no more to draw."""
        self.drawing = asyncio.Lock()

    def must_draw(self) -> bool:
        """Whether the store must be asked before a request can be answered."""
        return not self.left and not self.exhausted


class SharedRateLimiter:
    """Counts in windows of ten seconds, each with a sixth of what a minute allows.

    A process draws a chunk of the window from the shared counter and uses it up by
    itself. The chunks of all processes together are never more than the window
    allows; what one of them draws and does not use is lost to the others.
    """

    def __init__(self, store: RateStore, clock: Clock, *, per_minute: int) -> None:
        check_count("per_minute", per_minute, least=WINDOWS_A_MINUTE, most=MOST_A_MINUTE)
        self._store = store
        self._clock = clock
        self._allowance = per_minute // WINDOWS_A_MINUTE
        self._chunk = max(1, self._allowance // CHUNKS)
        self._allotments: OrderedDict[str, _Allotment] = OrderedDict()

    async def take(self, subject: str) -> float | None:
        """Count one request: None if it is allowed, else the seconds to wait."""
        now = self._clock.now()
        allotment = self._allotment(subject, window_of(now))
        while allotment.must_draw():
            async with allotment.drawing:
                if allotment.must_draw():
                    await self._draw(subject, allotment)
        if not allotment.left:
            return seconds_left(now)
        allotment.left -= 1
        return None

    def _allotment(self, subject: str, window: int) -> _Allotment:
        allotment = self._allotments.get(subject)
        if allotment is None or allotment.window != window:
            allotment = self._allotments[subject] = _Allotment(window)
        self._allotments.move_to_end(subject)
        if len(self._allotments) > SUBJECTS:
            self._allotments.popitem(last=False)
        return allotment

    async def _draw(self, subject: str, allotment: _Allotment) -> None:
        drawn = await self._store.draw(subject, window=allotment.window, amount=self._chunk)
        allotment.left = max(0, self._chunk - max(0, drawn - self._allowance))
        allotment.exhausted = drawn >= self._allowance
