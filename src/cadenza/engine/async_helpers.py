"""Waiting for the first or for all of several coroutines, and for what may be unavailable."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from cadenza.domain.errors import Unavailable
from cadenza.ports.telemetry import Logger

RECOVERY_MS = 1_000
"""How long to wait after something was unavailable."""
Work = Coroutine[Any, Any, object]
CancelTimeout = Callable[[], Work]
"""A sleep: how long to wait for cancelled work that does not end; without one, for ever."""


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


async def try_once(work: Awaitable[object], log: Logger) -> bool:
    """Await the work; False if what it needs was unavailable, which is logged. Any other error raises."""
    try:
        await work
    except Unavailable as problem:
        log.warning("a dependency is unavailable, retrying", problem=problem.message)
        return False
    return True


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
