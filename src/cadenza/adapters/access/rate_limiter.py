"""A rate limit that all processes on one database share, and most requests need no database for."""

import asyncio
from collections import OrderedDict
from datetime import datetime

from cadenza.domain.access.key import Caller
from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.endpoint import EndpointKey
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
        self.drawn = 0
        """How many requests it has let in, or may still."""
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
    allows; what one of them draws and does not use is lost to the others. While the
    counter cannot be written, each process counts for itself: who only reads is not
    refused because a disk is full.
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
        try:
            drawn = await self._store.draw(subject, window=allotment.window, amount=self._chunk)
        except Unavailable:
            allotment.left, allotment.exhausted = self._allowance - allotment.drawn, True
        else:
            allotment.left = max(0, self._chunk - max(0, drawn - self._allowance))
            allotment.exhausted = drawn >= self._allowance
        allotment.drawn += allotment.left


class RequestRateLimiter:
    """How many requests are answered: a rate for each key, and one for all keys and tokens of a tenant.

    Each token of a user has a key's rate of its own, and a tenant makes as many as it likes.
    """

    def __init__(
        self, store: RateStore, clock: Clock, *, per_minute: int, of_tenant_per_minute: int | None
    ) -> None:
        self._keys = SharedRateLimiter(store, clock, per_minute=per_minute)
        self._tenants = (
            None
            if of_tenant_per_minute is None
            else SharedRateLimiter(store, clock, per_minute=max(per_minute, of_tenant_per_minute))
        )

    async def take(self, caller: Caller) -> float | None:
        """Count one request: None if it is allowed, else the seconds to wait."""
        wait = await self._keys.take(f"{caller.tenant_id}:{caller.origin}")
        if wait is not None or self._tenants is None:
            return wait
        return await self._tenants.take(f"tenant:{caller.tenant_id}")


ENDPOINT_TRIALS_A_MINUTE = 30
TENANT_TRIALS_A_MINUTE = 120


class TrialRateLimiter:
    """How often targets are tried: a rate for each endpoint, and one for all endpoints of a tenant."""

    def __init__(self, store: RateStore, clock: Clock) -> None:
        self._endpoints = SharedRateLimiter(store, clock, per_minute=ENDPOINT_TRIALS_A_MINUTE)
        self._tenants = SharedRateLimiter(store, clock, per_minute=TENANT_TRIALS_A_MINUTE)

    async def take(self, key: EndpointKey) -> float | None:
        """Count one trial: None if it is allowed, else the seconds to wait."""
        wait = await self._endpoints.take(f"trial:{key.tenant_id}:{key.id}")
        return wait if wait is not None else await self._tenants.take(f"trial:{key.tenant_id}")
