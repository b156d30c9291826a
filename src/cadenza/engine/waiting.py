"""Small ways to wait."""

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any

from cadenza.domain.errors import Unavailable
from cadenza.ports.log import Logger


async def first_of(*works: Coroutine[Any, Any, object]) -> None:
    """Come back when one of them has ended, with its exception if it raised; the others are cancelled."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in ended:
        task.result()


async def survived(work: Awaitable[object], log: Logger) -> bool:
    """Did it go well? What is unavailable is logged and may come back; anything else is a bug and raises."""
    try:
        await work
    except Unavailable as problem:
        log.warning("something is unavailable", problem=problem.message)
        return False
    return True
