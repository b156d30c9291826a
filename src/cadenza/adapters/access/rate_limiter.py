"""Rates that all processes on one database share, and that most requests need no database for."""

import asyncio
from collections import OrderedDict
from datetime import datetime

from cadenza.domain.validation import check_count
from cadenza.ports.access import RateStore
from cadenza.ports.clock import Clock

WINDOW_S = 10
WINDOWS_A_MINUTE = 60 // WINDOW_S
BEHIND = 6


def window_of(moment: datetime) -> int:
    """The number of the window that a moment lies in."""
    return int(moment.timestamp() // WINDOW_S)


def seconds_left(moment: datetime) -> float:
    """How long the window of a moment goes on."""
    return WINDOW_S - moment.timestamp() % WINDOW_S


def oldest_kept(window: int) -> int:
    """The earliest window that is of use in this one: the clocks of other machines may be behind."""
    return window - BEHIND


SUBJECTS = 10_000
"""So many are remembered; one that is forgotten loses what it had drawn and not spent."""
CHUNKS = 20
MOST_A_MINUTE = 2**31


class _Purse:
    """What a process has drawn for a subject in one window and not spent yet."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.left = 0
        self.is_last = False
        """There is no more to draw."""
        self.drawing = asyncio.Lock()

    def wants_more(self) -> bool:
        """Must something be drawn to know an answer?"""
        return not self.left and not self.is_last


class SharedRates:
    """Counts in windows of ten seconds, each with a sixth of what a minute allows.

    A process draws a chunk of the window from the shared counter and spends it by
    itself. The chunks of all processes together are never more than the window
    allows; what one of them draws and does not spend is lost to the others.
    """

    def __init__(self, store: RateStore, clock: Clock, *, per_minute: int) -> None:
        check_count("per_minute", per_minute, least=WINDOWS_A_MINUTE, most=MOST_A_MINUTE)
        self._store = store
        self._clock = clock
        self._allowance = per_minute // WINDOWS_A_MINUTE
        self._chunk = max(1, self._allowance // CHUNKS)
        self._purses: OrderedDict[str, _Purse] = OrderedDict()

    async def take(self, subject: str) -> float | None:
        """Let a subject in: None, or in how many seconds to come back."""
        now = self._clock.now()
        purse = self._purse(subject, window_of(now))
        while purse.wants_more():
            async with purse.drawing:
                if purse.wants_more():
                    await self._draw(subject, purse)
        if not purse.left:
            return seconds_left(now)
        purse.left -= 1
        return None

    def _purse(self, subject: str, window: int) -> _Purse:
        purse = self._purses.get(subject)
        if purse is None or purse.window != window:
            purse = self._purses[subject] = _Purse(window)
        self._purses.move_to_end(subject)
        if len(self._purses) > SUBJECTS:
            self._purses.popitem(last=False)
        return purse

    async def _draw(self, subject: str, purse: _Purse) -> None:
        drawn = await self._store.draw(subject, window=purse.window, amount=self._chunk)
        purse.left = max(0, self._chunk - max(0, drawn - self._allowance))
        purse.is_last = drawn >= self._allowance
