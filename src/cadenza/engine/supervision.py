"""Keeps the parts of a process running: each alone, and all together."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from traceback import format_exception
from typing import NamedTuple

from cadenza.domain.errors import Unavailable
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import Work, first_of
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import PART_CRASHED, Logger, Telemetry

LAST_WORDS_MS = 5_000
"""How long a part that was cancelled may take to end."""


class Part(NamedTuple):
    """Something that a process does for as long as it lives."""

    name: str
    run: Callable[[], Work]
    """Start it anew, with nothing left of its last life; it returns only when it was asked to stop."""
    stop: Callable[[], None] | None = None
    """Ask it to end by itself; what cannot be asked is cancelled."""
    vital: bool = True
    """Does the process end with it if it keeps crashing? What is not vital starts again, however often."""


class PartGivenUp(Unavailable):
    """A part that kept crashing; the process ends with it."""


class _Returned(Exception):
    """A part that ended although nobody had asked it to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often a part may crash, and how soon it starts again."""

    crashes: int = 5
    """With so many, it is given up."""
    within_ms: int = 60_000
    """Crashes that are longer ago are forgotten."""
    first_ms: int = 500
    """The pause after the first of them; it doubles with each that follows."""


USUAL = Patience()


class Supervisor:
    """Runs parts side by side, until it is asked to stop or gives one of them up.

    1. A part that raises, or returns unasked, has crashed; it starts again alone, after a pause that grows.
    2. A vital part that keeps crashing is given up: the others stop, and the process ends with its problem.
    3. Parts stop one after the other, in their order; each when the one before it has ended.
    """

    def __init__(
        self, *, clock: Clock, log: Logger, telemetry: Telemetry | None = None, patience: Patience = USUAL
    ) -> None:
        self._clock = clock
        self._log = log
        self._telemetry = telemetry
        self._patience = patience
        self._asked = asyncio.Event()

    def stop(self) -> None:
        """Ask all parts to end; safe to call twice, from a signal too."""
        self._asked.set()

    async def run(self, *parts: Part) -> None:
        """Come back when all have ended; PartGivenUp if one of them could not be kept running."""
        kept = [_Kept(part, self._clock, self._tell, self._patience) for part in parts]
        lives = [asyncio.create_task(one.run(), name=one.part.name) for one in kept]
        try:
            await first_of(self._asked.wait(), asyncio.wait(lives, return_when=asyncio.FIRST_COMPLETED))
            for one, life in zip(kept, lives, strict=True):
                one.ask()
                await self._ended(one, life)
        finally:
            for life in lives:
                life.cancel()
            await first_of(asyncio.wait(lives), self._clock.sleep(LAST_WORDS_MS))
        for life in lives:
            if life.done() and not life.cancelled():
                life.result()

    async def _ended(self, one: "_Kept", life: "asyncio.Task[None]") -> None:
        """Wait for its end: as long as it takes if it ends by itself, not so long if it was cancelled."""
        waiting = [] if one.part.stop else [self._clock.sleep(LAST_WORDS_MS)]
        await first_of(asyncio.wait({life}), *waiting)
        if not life.done():
            self._log.warning("a part would not end and is left behind", part=one.part.name)

    def _tell(self, crash: "_Crash") -> None:
        """Report a crash; the one that is too many speaks for itself in the end."""
        part, problem, again_ms = crash
        event = "a part has crashed and starts again; the others go on"
        if again_ms is None:
            event = "a part keeps crashing and is given up; the process ends"
        trace = "".join(format_exception(problem))
        self._log.warning(event, part=part.name, problem=_described(problem), again_ms=again_ms, trace=trace)
        if self._telemetry is not None:
            self._telemetry.emit(PART_CRASHED, {"crashes": 1}, {"part": part.name})


class _Crash(NamedTuple):
    part: Part
    problem: BaseException
    again_ms: float | None
    """None if it does not start again."""


class _Kept:
    """One part, from its first start to its last end."""

    def __init__(self, part: Part, clock: Clock, tell: Callable[[_Crash], None], patience: Patience) -> None:
        self.part = part
        self._clock = clock
        self._tell = tell
        self._patience = patience
        self._crashes: deque[datetime] = deque()
        self._asked = asyncio.Event()
        self._life: asyncio.Future[object] | None = None

    def ask(self) -> None:
        """Ask it to end, whatever it does just now."""
        self._asked.set()
        if self._life is None:
            return
        if self.part.stop is None:
            self._life.cancel()
        else:
            self.part.stop()

    async def run(self) -> None:
        """Run it again and again; come back when it was asked to end and has, with what went wrong then."""
        while not self._asked.is_set():
            problem = await self._live()
            if not self._asked.is_set():
                await self._crashed(problem)
            elif not isinstance(problem, _Returned | asyncio.CancelledError):
                raise problem

    async def _live(self) -> BaseException:
        """One life: how it ended."""
        task = asyncio.current_task()
        assert task is not None, "only a task can keep a part"
        try:
            self._life = asyncio.ensure_future(self.part.run())
            await asyncio.wait({self._life})
            self._life.result()
        except asyncio.CancelledError as end:
            if task.cancelling():
                raise
            return end
        except Exception as problem:  # noqa: BLE001 - whatever it is, it costs this part alone
            return problem
        finally:
            await self._gone()
        return _Returned("it ended, and nobody had asked it to")

    async def _gone(self) -> None:
        life, self._life = self._life, None
        if life is not None and not life.done():
            life.cancel()
            await asyncio.gather(life, return_exceptions=True)

    async def _crashed(self, problem: BaseException) -> None:
        """Rest a while before it starts again, or give it up."""
        now, patience = self._clock.now(), self._patience
        self._crashes.append(now)
        while now - self._crashes[0] > milliseconds(patience.within_ms):
            self._crashes.popleft()
        crashes = len(self._crashes)
        hopeless = self.part.vital and crashes >= patience.crashes
        again_ms = None if hopeless else patience.first_ms * 2 ** (crashes - 1)
        self._tell(_Crash(self.part, problem, again_ms))
        if again_ms is None:
            raise _given_up(self.part, problem, patience) from problem
        await first_of(self._clock.sleep(again_ms), self._asked.wait())


def _given_up(part: Part, problem: BaseException, patience: Patience) -> PartGivenUp:
    times, seconds = patience.crashes, patience.within_ms // 1_000
    return PartGivenUp(
        f"The part {part.name} crashed {times} times within {seconds} s and was given up, "
        f"last with {_described(problem)}; everything else was stopped in order."
    )


def _described(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"
