"""Lets a process be idle while nothing happens, so that its loops leave the database alone."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import RECOVERY_MS, Attempts, first_of
from cadenza.ports.clock import Clock
from cadenza.ports.scheduling import Wakeup
from cadenza.ports.telemetry import Logger, Measurements, Metadata

QUIET_MS = 5_000
"""How long nothing must have happened before the process is idle."""
LOOK_MS = 1_000
"""How often an idle process looks at its clock and at what it holds: neither asks the database."""
AHEAD = timedelta(seconds=3)
"""It goes on so long before the next moment: a server that sleeps must start, and leases be taken again."""
LONGEST_IDLE = timedelta(days=1)
"""Retention goes on once a day, and so is found what others changed in the database."""

NextMoment = Callable[[], Awaitable[datetime | None]]
"""Asks the database when a loop has something to do next; None if nothing is known."""
Busy = Callable[[], bool]
"""Whether work is in progress in this process."""


class IdleGate:
    """Open while something happens; closed while the process is idle, which only `run` lets it do.

    1. It closes when nothing happened for a while, nothing is in progress, and nothing is due soon.
    2. It opens a little before the next moment that is known, and at once when something happens.
    3. Loops that wait for it between two looks at the database make none while it is closed.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open = asyncio.Event()
        self._open.set()
        self._happened_at = clock.now()
        self._happened = 0
        """How often something happened, so that nothing is missed while the database is asked."""
        self._active = 0
        self._stopping = False
        self._probes: list[Busy] = []
        self._last_idle_at: datetime | None = None

    @property
    def is_idle(self) -> bool:
        """Whether the process is idle now."""
        return not self._open.is_set()

    @property
    def last_idle_at(self) -> datetime | None:
        """When the process was last idle: now, if it is; None if it never was."""
        return self._clock.now() if self.is_idle else self._last_idle_at

    def note(self) -> None:
        """Something happened: go on, or stay awake for a while."""
        self._happened_at = self._clock.now()
        self._happened += 1
        if self.is_idle:
            self._last_idle_at = self._happened_at
            self._open.set()

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:  # noqa: ARG002 - It takes all that its port hands over.
        """Note a telemetry event for which other loops have work to do."""
        self.note()

    @contextmanager
    def active(self) -> Iterator[None]:
        """Something happens for as long as this lasts."""
        self._active += 1
        self.note()
        try:
            yield
        finally:
            self._active -= 1
            self.note()

    def stay_open_while(self, busy: Busy) -> None:
        """Ask this, too, whether work is in progress."""
        self._probes.append(busy)

    def stop(self) -> None:
        """Be idle no more, so that all loops can end."""
        self._stopping = True
        self.note()

    async def sleep(self, span_s: float) -> None:
        """Return when that span has passed, and the process is not idle."""
        await asyncio.sleep(span_s)
        await self._open.wait()

    async def run(self, next_moment: NextMoment, wakeup: Wakeup, log: Logger) -> None:
        """Let the process be idle whenever it can, until cancelled; what wakes workers ends that."""
        try:
            await first_of(self._note_changes(wakeup), self._idle_repeatedly(next_moment, log))
        finally:
            self.note()

    async def _note_changes(self, wakeup: Wakeup) -> None:
        while True:
            await wakeup.wait()
            self.note()

    async def _idle_repeatedly(self, next_moment: NextMoment, log: Logger) -> None:
        attempts = Attempts("idle", self._clock, log)
        while True:
            await self._until_quiet()
            happened, known = self._happened, list[datetime | None]()

            async def ask(known: list[datetime | None] = known) -> None:
                known.append(await next_moment())

            if not await attempts.try_once(ask()):
                await self._clock.sleep(RECOVERY_MS)
            elif happened == self._happened and not self._busy:
                await self._idle(known[0])

    @property
    def _busy(self) -> bool:
        return bool(self._active) or self._stopping or any(busy() for busy in self._probes)

    async def _until_quiet(self) -> None:
        """Return when nothing has happened for a while; at least one look later."""
        while True:
            await self._clock.sleep(LOOK_MS)
            quiet = abs(self._clock.now() - self._happened_at)  # The clock may have been set.
            if self._busy:
                self.note()
            elif quiet >= milliseconds(QUIET_MS):
                return

    async def _idle(self, moment: datetime | None) -> None:
        """Be idle until shortly before a moment, or until something happens; not at all if it is near."""
        now = self._clock.now()
        until = now + LONGEST_IDLE if moment is None else min(moment - AHEAD, now + LONGEST_IDLE)
        if until <= now:
            return
        self._open.clear()
        while self.is_idle:
            before = self._clock.now()
            await first_of(self._clock.sleep(LOOK_MS), self._open.wait())
            was_set_back = self._clock.now() < before
            if self._clock.now() >= until or was_set_back or self._busy:
                self.note()
