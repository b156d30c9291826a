"""Cadenza inside a program: functions that run on a cadence and steer themselves."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import datetime, time
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar, Unpack

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.telemetry.event_bus import EventBus
from cadenza.adapters.telemetry.log import ProgramLog
from cadenza.domain.daily.keys import DAILY
from cadenza.domain.daily.user import enrollment
from cadenza.domain.errors import Conflict
from cadenza.domain.scheduling.baseline import Baseline, Cadence, Cron, Every, Once
from cadenza.domain.scheduling.calendars.named_day_parts import NamedDayParts
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.scheduling.target import HEARTBEAT, HTTP, PROMPT
from cadenza.domain.validation import Duration, check_id, check_text, parse_duration_ms
from cadenza.engine.steering import Steering
from cadenza.engine.supervision import Part, Supervisor
from cadenza.ports.clock import Clock
from cadenza.ports.store import Store
from cadenza.roots.embedding.daily_functions import DailyFunctions, DeclaresDaily, enroll_user
from cadenza.roots.embedding.declarations import Declarations, Declared
from cadenza.roots.embedding.functions import (
    CalendarNames,
    EndpointTools,
    IntervalParts,
    Options,
    RunContext,
    check_flag,
    check_options,
    endpoint_for,
    interval_ms,
    named_rules_of,
)
from cadenza.roots.settings import DEFAULT_TENANT, read_settings
from cadenza.roots.wiring.daily.programmes import open_targets
from cadenza.roots.wiring.daily.service import clocks_for, daily_parts
from cadenza.roots.wiring.extras import check_extras
from cadenza.roots.wiring.idle import refuse_beside_up
from cadenza.roots.wiring.monitoring import ProcessMonitoring
from cadenza.roots.wiring.process import open_log, run_event_loop, stop_on_signals
from cadenza.roots.wiring.stores import DATABASE_SETTING, check_url, open_store
from cadenza.roots.wiring.worker import ProcessContext
from cadenza.roots.worker import background_parts, open_worker

Function = TypeVar("Function", bound=Callable[..., Any])


class EveryOptions(Options, IntervalParts, total=False):
    """What `every` takes beside its interval."""

    start_now: bool


class _Live(NamedTuple):
    """What there is while the app runs."""

    stack: AsyncExitStack
    store: Store
    steering: Steering
    supervisor: Supervisor
    parts: Sequence[Part]


class Cadenza(DeclaresDaily):
    """A scheduler for the functions of one program, which may run in any number of processes.

    Functions are declared with `every`, `cron` and `once`; they run while `run` runs,
    or inside `async with app:`. Of all processes with the same database, one runs
    each slot. With `worker=True`, the app also runs HTTP endpoints and prompts that
    it did not declare, as `cadenza worker` does.

    Settings are those of `cadenza up`, from the environment or by their names: `log_level="debug"`.
    """

    telemetry: EventBus
    """Passes the events of the scheduler to handlers: `app.telemetry.attach("mine", handler)`."""

    def __init__(
        self,
        database_url: str | None = None,
        *,
        clock: Clock | None = None,
        worker: bool = False,
        **settings: Any,
    ) -> None:
        url = {} if database_url is None else {"database_url": database_url}
        self._settings = read_settings(**url, **settings)
        check_url(self._settings.database_url, "database_url" if url else DATABASE_SETTING)
        refuse_beside_up(self._settings, "a program")
        check_extras(self._settings, models=worker)
        self._worker = worker
        self._clock = clock or SystemClock()
        self._cron = CronsimCron()
        self._log = ProgramLog(open_log(self._settings))
        self.telemetry = EventBus(self._log)
        self._declarations = Declarations(
            clock=self._clock, cron=self._cron, log=self._log, settings=self._settings
        )
        self._daily = DailyFunctions()
        self._callables = CallableDispatcher(context=self._context)
        self._live: _Live | None = None
        self._running: asyncio.Task[None] | None = None

    def every(
        self, interval: Duration | None = None, **options: Unpack[EveryOptions]
    ) -> Callable[[Function], Function]:
        """Run on an interval, given as a span or as `days`, `hours`, `minutes` and `seconds`."""
        given: dict[str, Any] = dict(options)
        units = [unit for unit in IntervalParts.__annotations__ if unit in given]
        parts = IntervalParts(**{unit: given.pop(unit) for unit in units})  # type: ignore[typeddict-item]
        start_now = check_flag("start_now", given.pop("start_now", False))
        return self._declare(Every(interval_ms(interval, parts)), given, start_now=start_now)

    def cron(
        self, line: str, *, timezone: str = "UTC", **options: Unpack[Options]
    ) -> Callable[[Function], Function]:
        """Run by a cron line in a time zone."""
        self._cron.check(check_text("line", line), timezone)
        return self._declare(Cron(line, timezone), dict(options))

    def day_parts(
        self,
        parts: Mapping[str, Duration | Cron],
        *,
        otherwise: Duration | Cron,
        **options: Unpack[Options],
    ) -> Callable[[Function], Function]:
        """Run by another interval or cron line while a calendar is open, by the ids of calendars.

        The first that is open counts, and otherwise what is given for all other times.
        """
        named = NamedDayParts(
            tuple((check_id("parts", id_), self._cadence("parts", one)) for id_, one in parts.items()),
            self._cadence("otherwise", otherwise),
        )
        return self._declare(named.otherwise, dict(options), day_parts=named)

    def _cadence(self, field: str, given: Duration | Cron) -> Cadence:
        if not isinstance(given, Cron):
            return Every(parse_duration_ms(field, given))
        self._cron.check(given.expression, given.timezone)
        return given

    def once(self, at: datetime, **options: Unpack[Options]) -> Callable[[Function], Function]:
        """Run at one moment."""
        return self._declare(Once(at), dict(options))

    async def enroll(
        self, user_id: str, due: time, *, timezone: str | None = None, programme: str = DAILY
    ) -> None:
        """Serve a user daily, in the window before the due time; or at another time than before.

        The due time is on the clocks of the zone; without one, of the zone that the user has, or UTC.
        NotFound if there is no such programme.
        """
        store = self._started().store
        await enroll_user(
            store,
            enrollment(DEFAULT_TENANT, user_id, due, timezone=timezone, programme_id=programme),
            now=self._clock.now(),
            settings=self._settings,
        )

    def add(self, endpoint: Endpoint, *, start_now: bool = False, **calendars: Unpack[CalendarNames]) -> None:
        """Run an endpoint that is no function: an HTTP target, say; when its calendars let it."""
        self._declarations.check(endpoint)
        check_options(calendars, CalendarNames)
        start_now, rules = check_flag("start_now", start_now), named_rules_of(calendars)
        self._declarations.add(Declared(endpoint, start_now, rules))

    def __getitem__(self, name: str) -> EndpointTools:
        """The tools of a function, by its name, for whoever steers it from outside."""
        live, key = self._started(), EndpointKey("default", name)
        return EndpointTools(live.steering, key, origin="program", ready=self._declarations.until_stored)

    def run(self) -> None:
        """Run until SIGTERM or Ctrl-C, then let what runs finish."""
        with suppress(KeyboardInterrupt):  # It came while the app was starting.
            run_event_loop(self._run_until_stopped())

    async def __aenter__(self) -> Self:
        live = await self._start()
        self._running = asyncio.create_task(live.supervisor.run(*live.parts))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        live, running = self._started(), self._running
        live.supervisor.stop()
        try:
            if running is not None:
                await running
        finally:
            await self._stop()

    async def _run_until_stopped(self) -> None:
        live = await self._start()
        stop_on_signals(live.supervisor.stop)
        try:
            await live.supervisor.run(*live.parts)
        finally:
            await self._stop()

    async def _start(self) -> _Live:
        if self._live is not None:
            raise Conflict("This app runs already.")
        stack = AsyncExitStack()
        async with stack:
            store = await stack.enter_async_context(
                open_store(self._settings, ids=TimeOrderedIds(), log=self._log)
            )
            await self._declarations.start(store)
            stack.callback(self._declarations.stop)
            parts = await self._open_parts(stack, store)
            supervisor = Supervisor(clock=SystemClock(), log=self._log, telemetry=self.telemetry)
            steering = Steering(
                store=store.endpoints,
                clock=self._clock,
                cron=self._cron,
                jitter_ms=self._settings.jitter_ms,
            )
            self._daily.running = True
            self._live = _Live(stack.pop_all(), store, steering, supervisor, parts)
        return self._live

    async def _open_parts(self, stack: AsyncExitStack, store: Store) -> list[Part]:
        """What runs in the program: the parts of a worker, and the daily runner if there is a function."""
        settings, events = self._settings, self.telemetry
        monitoring = ProcessMonitoring(settings, store=store, log=self._log, role="program", events=events)
        context = ProcessContext(
            store=store,
            clock=self._clock,
            log=self._log,
            callables=self._callables,
            beside_functions=self._beside_functions,
            telemetry=events,
            alerts=monitoring.endpoint_alerts(),
        )
        worker = await open_worker(stack, settings, context, monitoring)
        daily = []
        if functions := self._daily.by_programme:
            await self._daily.store(store.programmes, now=self._clock.now())
            targets = await open_targets(stack, settings, context, functions)
            daily = daily_parts(settings, context, targets, clocks_for(self._clock))
        return [
            Part("declarations", self._declarations.store_late),
            Part("worker", worker.run, worker.stop),
            *daily,
            *await background_parts(stack, settings, context, monitoring, daily=bool(daily)),
        ]

    async def _stop(self) -> None:
        live, self._live, self._running = self._started(), None, None
        self._daily.running = False
        await live.stack.aclose()

    def _declare(
        self,
        baseline: Baseline,
        options: dict[str, Any],
        *,
        start_now: bool = False,
        day_parts: NamedDayParts | None = None,
    ) -> Callable[[Function], Function]:
        def decorate(function: Function) -> Function:
            endpoint = endpoint_for(function, baseline, Options(**options))  # type: ignore[typeddict-item]
            rules = named_rules_of(options)
            self._declarations.check(endpoint, remedy="give this function another name with name=")
            self._callables.register(endpoint.id, function)
            self._declarations.add(Declared(endpoint, start_now, rules, day_parts))
            return function

        return decorate

    def _beside_functions(self) -> tuple[str, ...]:
        if self._worker:
            return (HTTP, PROMPT, HEARTBEAT)
        return (HTTP,) if self._declarations.include_http else ()

    def _context(self, claim: Claim) -> RunContext:
        return RunContext(self._started().steering, claim)

    def _started(self) -> _Live:
        if self._live is None:
            raise Conflict("This app does not run; call run(), or use it with `async with`.")
        return self._live
