"""Small ways to wait."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from cadenza.domain.errors import Unavailable
from cadenza.ports.telemetry import Logger

RECOVERY_MS = 1_000
"""How long to wait after something was unavailable."""
Work = Coroutine[Any, Any, object]
Patience = Callable[[], Work]
"""How long to wait for what was cancelled and does not end; without any, for ever."""


async def first_of(*works: Work, patience: Patience | None = None) -> None:
    """Come back when one of them has ended, with its exception if it raised; the others are cancelled."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _call_off(tasks, patience)
    for task in ended:
        task.result()


async def all_of(*works: Work, until: Work, patience: Patience) -> bool:
    """Come back when all have ended, or one of them raised; False if it was until then, and not all had."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await first_of(asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION), until)
        ended = [task.result() for task in tasks if task.done()]
        return len(ended) == len(tasks)
    finally:
        await _call_off(tasks, patience)


async def try_once(work: Awaitable[object], log: Logger) -> bool:
    """Did it go well? What is unavailable is logged and may come back; anything else is a bug and raises."""
    try:
        await work
    except Unavailable as problem:
        log.warning("something is unavailable", problem=problem.message)
        return False
    return True


async def _call_off(tasks: Sequence["asyncio.Future[object]"], patience: Patience | None) -> None:
    """Cancel them; what has not ended when patience is over is left behind."""
    for task in tasks:
        task.cancel()
    ended = asyncio.gather(*tasks, return_exceptions=True)
    if patience is None:
        await ended
    else:
        await first_of(asyncio.wait({ended}), patience())
