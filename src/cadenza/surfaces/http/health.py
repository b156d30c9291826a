"""Does the process live, and can it work?"""

from collections.abc import Callable
from datetime import datetime, timedelta

from starlette.requests import Request
from starlette.responses import JSONResponse

from cadenza.domain.errors import Unavailable
from cadenza.operations.context import Supplies

REMEMBERED = timedelta(seconds=1)
OK, AWAY = 200, 503


class Health:
    """`/healthz` asks nobody but this process; `/readyz` asks the store, too, at most once a second."""

    def __init__(self, supplies: Supplies, lives: Callable[[], bool]) -> None:
        self._store = supplies.store
        self._clock = supplies.clock
        self._lives = lives
        self._looked: tuple[datetime, str] | None = None

    async def healthz(self, _: Request) -> JSONResponse:
        """Does it go round?"""
        return _answer("ok" if self._lives() else "hangs")

    async def readyz(self, _: Request) -> JSONResponse:
        """Does it go round, and does its store answer?"""
        if not self._lives():
            return _answer("hangs")
        now = self._clock.now()
        if self._looked is None or now - self._looked[0] >= REMEMBERED:
            self._looked = (now, await self._look())
        return _answer(self._looked[1])

    async def _look(self) -> str:
        try:
            await self._store.next_due()
        except Unavailable as problem:
            return problem.message
        return "ok"


def _answer(status: str) -> JSONResponse:
    return JSONResponse({"status": status}, OK if status == "ok" else AWAY)
