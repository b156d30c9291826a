"""Cadenza inside a program: functions that run on a cadence and steer themselves."""

import asyncio
from collections.abc import Callable
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
from cadenza.adapters.telemetry.log import StructuredLog
from cadenza.domain.daily.rules import enroll
from cadenza.domain.daily.user import enrollment
from cadenza.domain.errors import Conflict
from cadenza.domain.scheduling.baseline import Baseline, Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.scheduling.steer import plan_first_run, redefine
from cadenza.domain.validation import Duration, parse_duration_ms
from cadenza.engine.steering import Steering
from cadenza.engine.worker.loop import WorkerLoop
from cadenza.ports.clock import Clock
from cadenza.ports.store import Store
from cadenza.roots.settings import read_settings
from cadenza.roots.wiring.daily_service import running_daily
from cadenza.roots.wiring.functions import (
    EndpointTools,
    IntervalParts,
    Options,
    RunContext,
    endpoint_for,
    interval_of,
)
from cadenza.roots.wiring.process import run_event_loop, stop_on_signals
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext, open_loop

Function = TypeVar("Function", bound=Callable[..., Any])


class EveryOptions(Options, IntervalParts, total=False):
    """What `every` takes beside its interval."""

    start_now: bool


class _Live(NamedTuple):
    """What there is while the app runs."""

    stack: AsyncExitStack
    store: Store
    steering: Steering
    loop: WorkerLoop


class Cadenza:
    """A scheduler for the functions of one program, which may run in any number of processes.

    Functions are declared with `every`, `cron` and `once`; they run while `run` runs,
    or inside `async with app:`. Of all processes with the same database, one runs
    each slot.
    """

    def __init__(self, database_url: str | None = None, *, clock: Clock | None = None) -> None:
        url = {} if database_url is None else {"database_url": database_url}
        self._settings = read_settings().model_copy(update=url)
        self._clock = clock or SystemClock()
        self._cron = CronsimCron()
        self._log = StructuredLog()
        self._declared: dict[str, tuple[Endpoint, bool]] = {}
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
        if endpoint.id in self._declared:
            raise Conflict(f"There is an endpoint {endpoint.id!r} already; give this one another id.")
        if isinstance(endpoint.baseline, Cron):
            self._cron.check(endpoint.baseline.expression, endpoint.baseline.timezone)
        self._declared[endpoint.id] = (endpoint, start_now)

    def __getitem__(self, name: str) -> EndpointTools:
        """The tools of a function, by its name, for whoever steers it from outside."""
        return EndpointTools(self._started().steering, EndpointKey("default", name), origin="program")

    def run(self) -> None:
        """Run until SIGTERM or Ctrl-C, then let what runs finish."""
        run_event_loop(self._run_until_stopped())

    async def __aenter__(self) -> Self:
        loop = (await self._start()).loop
        self._running = asyncio.create_task(loop.run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        live, running = self._started(), self._running
        live.loop.stop()
        try:
            if running is not None:
                await running
        finally:
            await self._stop()

    async def _run_until_stopped(self) -> None:
        loop = (await self._start()).loop
        stop_on_signals(loop.stop)
        try:
            await loop.run()
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
            for endpoint, start_now in self._declared.values():
                await self._keep(store, endpoint, start_now=start_now)
            context = ProcessContext(store=store, clock=self._clock, log=self._log, callables=self._callables)
            loop = await stack.enter_async_context(open_loop(self._settings, context))
            if self._daily is not None:
                stack.callback(self._daily.close)
                await stack.enter_async_context(running_daily(self._settings, context, self._daily))
            steering = Steering(store=store.endpoints, clock=self._clock, cron=self._cron, log=self._log)
            self._live = _Live(stack.pop_all(), store, steering, loop)
        return self._live

    async def _stop(self) -> None:
        live, self._live, self._running = self._started(), None, None
        await live.stack.aclose()

    async def _keep(self, store: Store, endpoint: Endpoint, *, start_now: bool) -> None:
        """Add an endpoint, or bring the one that is there up to date; another process may do the same."""
        now = self._clock.now()
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
            endpoint = endpoint_for(function.__name__, baseline, Options(**options))  # type: ignore[typeddict-item]
            if endpoint.id in self._declared:
                raise Conflict(f"There is a function {endpoint.id!r} already; give this one a name.")
            self._callables.register(endpoint.id, function)
            self._declared[endpoint.id] = (endpoint, start_now)
            return function

        return decorate

    def _context(self, claim: Claim) -> RunContext:
        return RunContext(self._started().steering, claim)

    def _started(self) -> _Live:
        if self._live is None:
            raise Conflict("This app does not run; call run(), or use it with `async with`.")
        return self._live
