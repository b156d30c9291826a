"""One endpoint as its policy sees it: what a policy may read, and what it may ask for."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Generic

from cadenza.sim.world import Measured, MeasuredSeries, Sample

INTERVAL_TTL_MINUTES = 60
SOON_MS = 5_000
LONG_PAUSE = timedelta(days=3650)
MARGIN = timedelta(seconds=60)
"""How long after its cooldown the published pause of an action lapses."""


class PauseTiming(StrEnum):
    """When an action goes back to its pause."""

    AT_ONCE = "at-once"
    """In the planning step that woke it, so that it runs only when that pause lapses."""
    WHEN_SETTLED = "when-settled"
    """When its run settles, so that it runs once each time it is woken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTiming:
    """How an endpoint that acts is woken, and how long it is then left alone."""

    cooldown: timedelta
    ttl_minutes: int
    pause_timing: PauseTiming = PauseTiming.WHEN_SETTLED


class SteeredEndpoint(ABC, Generic[Sample]):
    """The interface that policies are written against, once for both modes."""

    def __init__(self, name: str, series: MeasuredSeries[Sample]) -> None:
        self.name = name
        self.cooldown_over: datetime | None = None
        self._series = series

    @property
    def own(self) -> list[Measured[Sample]]:
        """What this endpoint measured."""
        return self._series.own(self.name)

    @property
    def shared(self) -> list[Measured[Sample]]:
        """What all endpoints measured."""
        return self._series.shared

    @property
    @abstractmethod
    def now(self) -> datetime:
        """The present moment."""

    @abstractmethod
    async def next_run_at(self) -> datetime | None:
        """The stored next run."""

    @abstractmethod
    async def paused(self) -> bool:
        """Is the gate closed?"""

    @abstractmethod
    async def interval_ms(self) -> int:
        """The effective interval: a fresh hint's, else the baseline's."""

    @abstractmethod
    async def propose_interval(self, interval_ms: int, *, ttl_minutes: int) -> None:
        """Hint at another interval."""

    @abstractmethod
    async def propose_next_time(self, in_ms: int, *, ttl_minutes: int) -> None:
        """Hint at one run."""

    @abstractmethod
    async def clear_hints(self) -> None:
        """Remove what was hinted at, so that the baseline rules."""

    @abstractmethod
    async def pause(self, span: timedelta) -> None:
        """Close the gate for a span from now."""

    @abstractmethod
    async def resume(self) -> None:
        """Open the gate."""

    async def keep_interval(self, seconds: int) -> None:
        """Hint at an interval, if another one is in effect."""
        if await self.interval_ms() != seconds * 1_000:
            await self.propose_interval(seconds * 1_000, ttl_minutes=INTERVAL_TTL_MINUTES)

    async def wake(self, *, ttl_minutes: int) -> None:
        """Open the gate and run soon."""
        await self.resume()
        await self.propose_next_time(SOON_MS, ttl_minutes=ttl_minutes)

    def cooled_down(self) -> bool:
        """Has it been left alone for long enough?"""
        return self.cooldown_over is None or self.now >= self.cooldown_over

    async def act(self, action: ActionTiming) -> None:
        """Wake it, if it rests and its cooldown is over."""
        if not await self.paused() or not self.cooled_down():
            return
        await self.wake(ttl_minutes=action.ttl_minutes)
        self.cooldown_over = self.now + action.cooldown
        if action.pause_timing is PauseTiming.AT_ONCE:
            await self.pause(action.cooldown + MARGIN)
