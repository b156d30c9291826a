"""Cadenza inside a program: functions that run on a cadence and steer themselves."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import datetime, time, timedelta
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar, Unpack

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.daily.callable_target import CallableTargetRunner
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.telemetry.event_bus import EventBus
from cadenza.adapters.telemetry.log import ProgramLog
from cadenza.domain.agents.schedule_protection import refuse_new_schedule
from cadenza.domain.daily.rules import enroll
from cadenza.domain.daily.user import enrollment
from cadenza.domain.errors import CadenzaError, Conflict
from cadenza.domain.scheduling.baseline import Baseline, Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.scheduling.steer import plan_first_run, redefine
from cadenza.domain.validation import Duration, parse_duration_ms
from cadenza.engine.async_helpers import RECOVERY_MS, Attempts
from cadenza.engine.steering import Steering
from cadenza.engine.supervision import Part, Supervisor
from cadenza.ports.clock import Clock
from cadenza.ports.store import Store
from cadenza.roots.settings import read_settings
from cadenza.roots.wiring.daily_service import clocks_for, daily_parts
from cadenza.roots.wiring.functions import (
    EndpointTools,
    IntervalParts,
    Options,
    RunContext,
    endpoint_for,
    interval_of,
)
from cadenza.roots.wiring.monitoring import ProcessMonitoring
from cadenza.roots.wiring.process import open_log, run_event_loop, stop_on_signals
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext
from cadenza.roots.worker import background_parts, open_worker

Function = TypeVar("Function", bound=Callable[..., Any])


class EveryOptions(Options, IntervalParts, total=False):
    """What `every` takes beside its interval."""

    start_now: bool


class Declared(NamedTuple):
    """An endpoint that a program has declared."""

    endpoint: Endpoint
    start_now: bool


class _Live(NamedTuple):
    """What there is while the app runs."""

    stack: AsyncExitStack
    store: Store
    steering: Steering
    supervisor: Supervisor
    parts: Sequence[Part]
    loop: asyncio.AbstractEventLoop
    to_store: asyncio.Queue[Declared]
    """Endpoints that were declared since the start, and are not stored yet."""


class Cadenza:
    """A scheduler for the functions of one program, which may run in any number of processes.

    Functions are declared with `every`, `cron` and `once`; they run while `run` runs,
    or inside `async with app:`. Of all processes with the same database, one runs
    each slot.

    Settings are those of `cadenza up`, from the environment or by their names: `log_level="debug"`.
    """

    telemetry: EventBus
    """Passes the events of the scheduler to handlers: `app.telemetry.attach("mine", handler)`."""

    def __init__(
        self, database_url: str | None = None, *, clock: Clock | None = None, **settings: Any
    ) -> None:
        url = {} if database_url is None else {"database_url": database_url}
        self._settings = read_settings(**url, **settings)
        self._clock = clock or SystemClock()
        self._cron = CronsimCron()
        self._log = ProgramLog(open_log(self._settings))
        self.telemetry = EventBus(self._log)
        self._declared: dict[str, Declared] = {}
        self._daily: CallableTargetRunner | None = None
        self._callables = CallableDispatcher(context=self._context)
        self._live: _Live | None = None
        self._running: asyncio.Task[None] | None = None

    def every(
        self, interval: Duration | None = None, **options: Unpack[EveryOptions]
    ) -> Callable[[Function], Function]:
        """Run on an interval, given as a span or as `days`, `hours`, `minutes` and `seconds`."""
        given: dict[str, Any] = dict(options)
        units = IntervalParts.__annotations__.keys() & given.keys()
        parts = IntervalParts(**{unit: given.pop(unit) for unit in units})  # type: ignore[typeddict-item]
        start_now = bool(given.pop("start_now", False))
        baseline = Every(parse_duration_ms("interval", interval_of(interval, parts)))
        return self._declare(baseline, given, start_now=start_now)

    def cron(
        self, line: str, *, timezone: str = "UTC", **options: Unpack[Options]
    ) -> Callable[[Function], Function]:
        """Run by a cron line in a time zone."""
        self._cron.check(line, timezone)
        return self._declare(Cron(line, timezone), dict(options))

    def once(self, at: datetime, **options: Unpack[Options]) -> Callable[[Function], Function]:
        """Run at one moment."""
        return self._declare(Once(at), dict(options))

    def daily(self, function: Function) -> Function:
        """Do this for each enrolled user once a day: a function of the user's id and the service date."""
        if self._daily is not None:
            raise Conflict("There is a daily function already; one does the work of all users.")
        if self._live is not None:
            raise Conflict("This app runs already; declare its daily function before it starts.")
        self._daily = CallableTargetRunner(function)
        return function

    async def enroll(self, user_id: str, due: time) -> None:
        """Serve a user daily, in the window before the due time, in UTC; or at another time than before."""
        wanted, window = enrollment("default", user_id, due), timedelta(minutes=self._settings.window_minutes)
        await self._started().store.daily.enroll(
            [wanted], partial(enroll, now=self._clock.now(), window=window)
        )

    def add(self, endpoint: Endpoint, *, start_now: bool = False) -> None:
        """Run an endpoint that is no function: an HTTP target, say."""
        refuse_new_schedule(endpoint)
        if endpoint.id in self._declared:
            raise Conflict(f"There is an endpoint {endpoint.id!r} already; give this one another id.")
        if isinstance(endpoint.baseline, Cron):
            self._cron.check(endpoint.baseline.expression, endpoint.baseline.timezone)
        self._add(Declared(endpoint, start_now))

    def __getitem__(self, name: str) -> EndpointTools:
        """The tools of a function, by its name, for whoever steers it from outside."""
        live, key = self._started(), EndpointKey("default", name)
        return EndpointTools(live.steering, key, origin="program", ready=live.to_store.join)

    def run(self) -> None:
        """Run until SIGTERM or Ctrl-C, then let what runs finish."""
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
            stored = list(self._declared.values())
            for declared in stored:
                await self._keep(store, declared)
            parts = await self._open_parts(stack, store)
            supervisor = Supervisor(clock=SystemClock(), log=self._log, telemetry=self.telemetry)
            steering = Steering(store=store.endpoints, clock=self._clock, cron=self._cron)
            loop, to_store = asyncio.get_running_loop(), asyncio.Queue[Declared]()
            self._live = _Live(stack.pop_all(), store, steering, supervisor, parts, loop, to_store)
            for declared in list(self._declared.values())[len(stored) :]:  # Declared while it started.
                to_store.put_nowait(declared)
        return self._live

    async def _open_parts(self, stack: AsyncExitStack, store: Store) -> list[Part]:
        """What runs in the program: all that a worker has, and the daily runner if there is a function."""
        settings, events = self._settings, self.telemetry
        monitoring = ProcessMonitoring(settings, store=store, log=self._log, role="program", events=events)
        context = ProcessContext(
            store=store,
            clock=self._clock,
            log=self._log,
            callables=self._callables,
            telemetry=events,
            alerts=monitoring.endpoint_alerts(),
        )
        worker = await open_worker(stack, settings, context, monitoring)
        daily = []
        if self._daily is not None:
            stack.callback(self._daily.close)
            daily = daily_parts(settings, context, self._daily, clocks_for(self._clock))
        return [
            Part("declarations", self._store_declared),
            Part("worker", worker.run, worker.stop),
            *daily,
            *await background_parts(stack, settings, context, monitoring, daily=bool(daily)),
        ]

    async def _stop(self) -> None:
        live, self._live, self._running = self._started(), None, None
        await live.stack.aclose()

    async def _store_declared(self) -> None:
        """Store endpoints that are declared while the app runs, until cancelled."""
        live, clock = self._started(), SystemClock()
        attempts = Attempts("declarations", clock, self._log)
        while True:
            declared = await live.to_store.get()
            try:
                while not await attempts.try_once(self._keep(live.store, declared)):
                    await clock.sleep(RECOVERY_MS)
            except CadenzaError as problem:
                facts = {"endpoint_id": declared.endpoint.id, "problem": problem.message}
                self._log.error("an endpoint was declared and could not be stored", **facts)
            finally:
                live.to_store.task_done()

    async def _keep(self, store: Store, declared: Declared) -> None:
        """Add an endpoint, or bring the one that is there up to date; another process may do the same."""
        (endpoint, start_now), now = declared, self._clock.now()
        try:
            await store.endpoints.add(plan_first_run(endpoint, now=now, cron=self._cron, start_now=start_now))
        except Conflict:
            await store.endpoints.amend(
                endpoint.key, lambda old: redefine(old, endpoint, now=now, cron=self._cron)
            )

    def _declare(
        self, baseline: Baseline, options: dict[str, Any], *, start_now: bool = False
    ) -> Callable[[Function], Function]:
        def decorate(function: Function) -> Function:
            endpoint = endpoint_for(function, baseline, Options(**options))  # type: ignore[typeddict-item]
            if endpoint.id in self._declared:
                raise Conflict(f"There is a function {endpoint.id!r} already; give this one a name.")
            self._callables.register(endpoint.id, function)
            self._add(Declared(endpoint, start_now))
            return function

        return decorate

    def _add(self, declared: Declared) -> None:
        """Store an endpoint at the start or, if the app runs already, as soon as possible."""
        self._declared[declared.endpoint.id] = declared
        if self._live is None:
            return
        loop, put = self._live.loop, self._live.to_store.put_nowait
        try:
            is_here = asyncio.get_running_loop() is loop
        except RuntimeError:  # This thread has no loop.
            is_here = False
        if is_here:
            put(declared)
        else:
            loop.call_soon_threadsafe(put, declared)

    def _context(self, claim: Claim) -> RunContext:
        return RunContext(self._started().steering, claim)

    def _started(self) -> _Live:
        if self._live is None:
            raise Conflict("This app does not run; call run(), or use it with `async with`.")
        return self._live
