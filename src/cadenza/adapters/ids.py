"""Time-ordered ids and random tokens."""

from itertools import count
from os import urandom
from secrets import choice
from string import ascii_letters, digits
from time import time_ns

PLACES = 1 << 16


class TimeOrderedIds:
    """Thirty-two hexadecimal digits: milliseconds, a count within them, and a random part.

    The ids of one process sort in the order in which they were given; those of
    several, by the millisecond. No two processes give the same one: each draws 64
    bits of its own, anew for every millisecond.
    """

    def __init__(self) -> None:
        # One value, replaced whole: threads may ask at the same time.
        self._period = (0, count(), "")

    def new(self) -> str:
        """A fresh id."""
        millisecond, places, random_part = self._period
        now = time_ns() // 1_000_000
        if now > millisecond:
            millisecond, places, random_part = self._begin(now)
        place = next(places)
        if place >= PLACES:
            millisecond, places, random_part = self._begin(millisecond + 1)
            place = next(places)
        return f"{millisecond:012x}{place:04x}{random_part}"

    def _begin(self, millisecond: int) -> tuple[int, "count[int]", str]:
        self._period = (millisecond, count(), urandom(8).hex())
        return self._period


LETTERS = ascii_letters + digits
LENGTH = 40
"""Of 62 letters: 238 bits."""


class RandomTokens:
    """Tokens from the system's random source."""

    def secret(self) -> str:
        """A new random token of letters and digits."""
        return "".join(choice(LETTERS) for _ in range(LENGTH))
