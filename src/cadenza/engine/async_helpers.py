"""Waiting for one or all of several coroutines, for what takes long, and for what may be unavailable."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any, TypeVar

from cadenza.domain.errors import Unavailable
from cadenza.domain.monitoring.outage import Outage
from cadenza.domain.validation import milliseconds
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import Logger

CANCEL_TIMEOUT_MS = 1_000
"""How long a call that was cancelled may take to end."""
RECOVERY_MS = 1_000
"""How long to wait after something was unavailable."""
Result = TypeVar("Result")
Work = Coroutine[Any, Any, object]
CancelTimeout = Callable[[], Work]
"""A sleep: how long to wait for cancelled work that does not end; without one, for ever."""


async def beside_event_loop(function: Callable[..., Result], *arguments: Any, **named: Any) -> Result:
    """What a function that takes long returns: in a thread, so that the event loop goes on.

    Where none runs, as in the last part of a transaction on SQLite, it is called at once.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return function(*arguments, **named)
    return await asyncio.to_thread(function, *arguments, **named)


async def first_of(*works: Work, cancel_timeout: CancelTimeout | None = None) -> None:
    """Return when one of them has ended, with its exception if it raised; the others are cancelled."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _cancel_all(tasks, cancel_timeout)
    for task in ended:
        task.result()


async def all_of(*works: Work, until: Work, cancel_timeout: CancelTimeout) -> bool:
    """Return when all have ended or one raised; False if `until` ended first."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await first_of(asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION), until)
        ended = [task.result() for task in tasks if task.done()]
        return len(ended) == len(tasks)
    finally:
        await _cancel_all(tasks, cancel_timeout)


class GracePeriod:
    """How long runs that go on may take to end after a loop was asked to stop."""

    def __init__(self, clock: Clock, grace_ms: float) -> None:
        self._clock = clock
        self._grace_ms = grace_ms
        self._began_at: datetime | None = None

    def begin(self) -> None:
        """Begin now, unless it has begun."""
        self._began_at = self._began_at or self._clock.now()

    async def over(self, begun: asyncio.Event) -> None:
        """Return a whole grace period after the event."""
        await begun.wait()
        await self._clock.sleep(self._grace_ms)

    @property
    def left_ms(self) -> float:
        """What is left of it."""
        began_at = self._began_at or self._clock.now()
        past_ms = (self._clock.now() - began_at) / milliseconds(1)
        return max(0.0, self._grace_ms - max(0.0, past_ms))

    async def cancel_timeout(self) -> None:
        """Return when cancelled work should have ended."""
        await self._clock.sleep(CANCEL_TIMEOUT_MS)


class Attempts:
    """The attempts of one part at work that needs the store or another dependency.

    A failure is logged at debug level. When failures persist, that is one warning, and
    another line when they are over.
    """

    def __init__(self, part: str, clock: Clock, log: Logger) -> None:
        self._part = part
        self._clock = clock
        self._log = log
        self._outage = Outage()

    async def try_once(self, work: Awaitable[object]) -> bool:
        """Await the work; False if what it needs was unavailable. Any other error raises."""
        try:
            await work
        except Unavailable as problem:
            self.failed(problem)
            return False
        self.succeeded()
        return True

    def succeeded(self) -> None:
        """Log that an outage is over, if this ends one."""
        lasted_s = self._outage.succeeded(self._now_s())
        if lasted_s is not None:
            self._log.info("a dependency is available again", part=self._part, for_s=round(lasted_s))

    def failed(self, problem: Unavailable) -> None:
        """Log that an attempt has failed."""
        facts = {"part": self._part, "problem": problem.message}
        self._log.debug("a dependency is unavailable, retrying", **facts)
        lasted_s = self._outage.failed(self._now_s())
        if lasted_s is not None:
            self._log.warning("a dependency is still unavailable, retrying", **facts, for_s=round(lasted_s))

    def _now_s(self) -> float:
        return self._clock.now().timestamp()


async def _cancel_all(
    tasks: Sequence["asyncio.Future[object]"], cancel_timeout: CancelTimeout | None
) -> None:
    """Cancel tasks; one that has not ended within the timeout is left behind."""
    for task in tasks:
        task.cancel()
    ended = asyncio.gather(*tasks, return_exceptions=True)
    if cancel_timeout is None:
        await ended
    else:
        await first_of(asyncio.wait({ended}), cancel_timeout())
