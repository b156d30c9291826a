"""Compiles calendars anew before their times run out."""

from functools import partial

from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.scheduling.calendars.compile import COMPILED_ANEW_BEFORE, CompiledCalendar, horizon
from cadenza.domain.scheduling.calendars.following import follow_calendar
from cadenza.domain.scheduling.governor import CronClock
from cadenza.engine.async_helpers import beside_event_loop
from cadenza.ports.calendars.calendar_store import CalendarStore
from cadenza.ports.calendars.sources import CalendarSources, compile_definition
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import Logger

AT_ONCE = 100


class CalendarUpkeep:
    """Compiles calendars anew a month after they were, for twelve years again."""

    def __init__(
        self,
        *,
        calendars: CalendarStore,
        sources: CalendarSources,
        cron: CronClock,
        clock: Clock,
        log: Logger,
        jitter_ms: int = 0,
    ) -> None:
        self._calendars = calendars
        self._sources = sources
        self._cron = cron
        self._clock = clock
        self._log = log
        self._jitter_ms = jitter_ms

    async def compile_anew(self) -> int:
        """Compile those that need it, and let all that names them follow; how many there were.

        One that its owner changes meanwhile is left to the next time.
        """
        before = self._clock.now() + COMPILED_ANEW_BEFORE
        found = await self._calendars.compiled_until(before, AT_ONCE)
        for one in found:
            await self._compile(one)
        if found:
            self._log.info("compiled calendars anew", calendars=len(found))
        return len(found)

    async def _compile(self, old: CompiledCalendar) -> None:
        now = self._clock.now()
        try:
            new = await beside_event_loop(compile_definition, old.definition, now, self._sources)
        except InvalidRequest:  # It is over: its old times stay true.
            new = old._replace(until=horizon(now).until)
        follow = partial(
            follow_calendar, calendar=new.calendar, now=now, cron=self._cron, jitter_ms=self._jitter_ms
        )
        try:
            await self._calendars.put_calendar(new, follow, instead_of=old.definition)
        except Conflict:
            self._log.info("a calendar was changed while it was compiled anew", calendar=old.definition.id)
