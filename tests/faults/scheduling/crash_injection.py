"""A scheduler that can be dropped at any of its awaits, as a power cut would drop it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any


class Life:
    """Counts awaits, and ends at a given one; whoever awaits after that never comes back."""

    def __init__(self, ends_at: int | None = None) -> None:
        self.moments = 0
        self.ended = asyncio.Event()
        self._ends_at = ends_at

    async def moment(self) -> None:
        self.moments += 1
        if self.moments == self._ends_at:
            self.ended.set()
        if self.ended.is_set():
            await asyncio.Future()
        await asyncio.sleep(0)


class Mortal:
    """A port whose caller may die just before a call takes effect, and just after."""

    def __init__(self, port: Any, life: Life) -> None:
        self._port = port
        self._life = life

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._port, name)

        async def call(*arguments: Any, **named: Any) -> Any:
            await self._life.moment()
            answer = await method(*arguments, **named)
            await self._life.moment()
            return answer

        return call


async def live(life: Life, work: Awaitable[Any]) -> bool:
    """Do the work; False if life ended before it did."""
    working = asyncio.ensure_future(work)
    dying = asyncio.ensure_future(life.ended.wait())
    await asyncio.wait({working, dying}, return_when=asyncio.FIRST_COMPLETED)
    dying.cancel()
    if working.done():
        working.result()
        return True
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    return False
