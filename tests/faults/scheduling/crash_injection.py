"""Stops a worker at any of its awaits of a port, as a power cut would."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any


class CrashPoint:
    """Counts awaits, and crashes at a given one; no await after that returns."""

    def __init__(self, crashes_at: int | None = None) -> None:
        self.awaits = 0
        self.crashed = asyncio.Event()
        self._crashes_at = crashes_at

    async def count(self) -> None:
        self.awaits += 1
        if self.awaits == self._crashes_at:
            self.crashed.set()
        if self.crashed.is_set():
            await asyncio.Future()
        await asyncio.sleep(0)


class CrashingPort:
    """A port whose caller may crash just before a call takes effect, and just after."""

    def __init__(self, port: Any, crash_point: CrashPoint) -> None:
        self._port = port
        self._crash_point = crash_point

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._port, name)

        async def call(*arguments: Any, **named: Any) -> Any:
            await self._crash_point.count()
            answer = await method(*arguments, **named)
            await self._crash_point.count()
            return answer

        return call


async def run_until_crash(crash_point: CrashPoint, work: Awaitable[Any]) -> bool:
    """Do the work; False if it crashed before the end."""
    task = asyncio.ensure_future(work)
    crash = asyncio.ensure_future(crash_point.crashed.wait())
    await asyncio.wait({task, crash}, return_when=asyncio.FIRST_COMPLETED)
    crash.cancel()
    if task.done():
        task.result()
        return True
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return False
