"""The endpoints that a program declares, and how they reach the store."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.domain.access.audit import Actor, AuditRecord
from cadenza.domain.access.key import Surface
from cadenza.domain.agents.schedule_protection import refuse_new_schedule
from cadenza.domain.errors import CadenzaError, Conflict, InvalidRequest, NotFound
from cadenza.domain.scheduling.baseline import Cron, DayParts, cadences_of
from cadenza.domain.scheduling.calendars.day_part_planning import check_day_parts
from cadenza.domain.scheduling.calendars.named_day_parts import NamedDayParts
from cadenza.domain.scheduling.calendars.named_rules import NO_NAMED_RULES, NamedRules, with_own_rules
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.policy import check_timeout
from cadenza.domain.scheduling.steer import plan_first_run, redefine
from cadenza.domain.scheduling.target import HTTP, requirement
from cadenza.domain.validation import check_id, quoted
from cadenza.engine.async_helpers import RECOVERY_MS, Attempts
from cadenza.engine.calendar_rules import calendars_by_id, endpoint_with_rules
from cadenza.engine.next_run_log import ORIGIN
from cadenza.operations.access.definitions import definition_of
from cadenza.operations.access.recording import record_change
from cadenza.operations.audit_trail import AuditTrail
from cadenza.ports.clock import Clock, CronCalculator
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger, endpoint_facts
from cadenza.roots.embedding.functions import commands_in_refusals
from cadenza.roots.settings import Settings

PROGRAM = Actor("program", None, Surface.PROGRAM)
DECLARED = "declare_endpoint"


class Declared(NamedTuple):
    """An endpoint that a program has declared."""

    endpoint: Endpoint
    start_now: bool
    rules: NamedRules = NO_NAMED_RULES
    """The calendars that it keeps to, which are looked up when it is stored."""
    day_parts: NamedDayParts | None = None
    """What takes the place of its baseline then."""

    async def resolved(self, store: Store) -> Endpoint:
        """The endpoint with its calendars; InvalidRequest names one that does not exist."""
        with commands_in_refusals():
            endpoint = await endpoint_with_rules(store, self.endpoint, self.rules)
            if self.day_parts is None:
                return endpoint
            ids = self.day_parts.calendar_ids
            calendars = await calendars_by_id(store, endpoint.tenant_id, ids)
            return evolve(endpoint, baseline=self.day_parts.with_calendars(calendars))


class _Running(NamedTuple):
    """What there is while the app runs."""

    store: Store
    loop: asyncio.AbstractEventLoop
    to_store: asyncio.Queue[Declared]
    """Endpoints that were declared since the start, and are not stored yet."""


class Declarations:
    """Stores endpoints at the start of a program or, if it runs already, as soon as possible."""

    def __init__(self, *, clock: Clock, cron: CronCalculator, log: Logger, settings: Settings) -> None:
        self._clock = clock
        self._cron = cron
        self._jitter_ms = settings.jitter_ms
        self._max_timeout_ms = settings.max_timeout_ms
        self._log = log
        self._ids = TimeOrderedIds()
        self._declared: dict[str, Declared] = {}
        self._running: _Running | None = None
        self.include_http = False
        """Whether an HTTP endpoint is among them."""

    def check(self, endpoint: Endpoint, *, remedy: str = "give this one another id") -> None:
        """Refuse an endpoint that cannot be declared; of one that there is already, say the remedy."""
        if not isinstance(endpoint, Endpoint):
            raise InvalidRequest(f"`add` takes an Endpoint, not {quoted(endpoint)}.", "endpoint")
        check_id("id", endpoint.id)
        check_id("job_id", endpoint.job_id)
        with commands_in_refusals():
            refuse_new_schedule(endpoint)
        self._check_timeout(endpoint)
        if endpoint.id in self._declared:
            raise Conflict(f"There is an endpoint {endpoint.id!r} already: {remedy}.")
        for cadence in cadences_of(endpoint.baseline):
            if isinstance(cadence, Cron):
                self._cron.check(cadence.expression, cadence.timezone)
        if isinstance(endpoint.baseline, DayParts):
            check_day_parts(endpoint.baseline, self._clock.now(), self._cron)

    async def _resolved(self, store: Store, declared: Declared) -> Endpoint:
        """The endpoint with its calendars; InvalidRequest if a day part of it would never run.

        Unless it is stored like that: the calendar of a day part may be over by now.
        """
        endpoint = await declared.resolved(store)
        if isinstance(endpoint.baseline, DayParts):
            with suppress(NotFound):
                if (await store.endpoints.get(endpoint.key)).baseline == endpoint.baseline:
                    return endpoint
            check_day_parts(endpoint.baseline, self._clock.now(), self._cron)
        return endpoint

    def _check_timeout(self, endpoint: Endpoint) -> None:
        try:
            check_timeout(endpoint.policy, self._max_timeout_ms)
        except InvalidRequest as problem:
            refused = problem.message.removeprefix("timeout_ms").removesuffix(" here.")
            message = f"timeout{refused}, unless Cadenza has a higher max_timeout_ms."
            raise InvalidRequest(message, "timeout") from None

    def add(self, declared: Declared) -> None:
        """Declare an endpoint that was checked."""
        endpoint = declared.endpoint
        self._declared[endpoint.id] = declared
        self.include_http |= requirement(endpoint.target) == HTTP
        if self._running is None:
            return
        loop, put = self._running.loop, self._running.to_store.put_nowait
        try:
            is_here = asyncio.get_running_loop() is loop
        except RuntimeError:  # This thread has no loop.
            is_here = False
        if is_here:
            put(declared)
        else:
            loop.call_soon_threadsafe(put, declared)

    async def start(self, store: Store) -> None:
        """Store what is declared; what is declared from now on is stored by `store_late`.

        InvalidRequest, and nothing is stored, if one of them names a calendar that does not exist.
        """
        stored = list(self._declared.values())
        for declared in stored:
            await self._resolved(store, declared)
        for declared in stored:
            await self._keep(store, declared)
        self._running = _Running(store, asyncio.get_running_loop(), asyncio.Queue())
        for declared in list(self._declared.values())[len(stored) :]:  # Declared meanwhile.
            self._running.to_store.put_nowait(declared)

    def stop(self) -> None:
        """What is declared from now on is stored at the next start."""
        self._running = None

    async def until_stored(self) -> None:
        """Wait until everything that is declared is stored."""
        if self._running is not None:
            await self._running.to_store.join()

    async def store_late(self) -> None:
        """Store endpoints that are declared while the app runs, until cancelled."""
        running, clock = self._running, SystemClock()
        assert running is not None, "it runs in an app that was started"
        attempts = Attempts("declarations", clock, self._log)
        while True:
            declared = await running.to_store.get()
            try:
                while not await attempts.try_once(self._keep(running.store, declared)):
                    await clock.sleep(RECOVERY_MS)
            except CadenzaError as problem:
                facts = {**endpoint_facts(declared.endpoint, None), "problem": problem.message}
                self._log.error("an endpoint was declared and could not be stored", **facts)
            finally:
                running.to_store.task_done()

    async def _keep(self, store: Store, declared: Declared) -> None:
        """Add an endpoint, or bring the one that is there up to date; another process may do the same."""
        now, start_now = self._clock.now(), declared.start_now
        ORIGIN.set("program")
        by: dict[str, Any] = {"now": now, "cron": self._cron, "jitter_ms": self._jitter_ms}

        async def work() -> tuple[None, Sequence[AuditRecord]]:
            trail, endpoint = AuditTrail(), await self._resolved(store, declared)
            try:
                await store.endpoints.add(plan_first_run(endpoint, **by, start_now=start_now))
                trail.note_endpoint(None, endpoint)
            except Conflict:
                redefined = trail.noting(lambda old: redefine(old, _beside_job(endpoint, old), **by))
                await store.endpoints.amend(endpoint.key, redefined)
            return None, self._records(endpoint, trail)

        await store.audit.change_with_records(work)

    def _records(self, endpoint: Endpoint, trail: AuditTrail) -> list[AuditRecord]:
        """The audit records of a declaration; one that changes no definition, as at most starts, has none."""
        return [
            record_change(
                one,
                id_=self._ids.new(),
                at=self._clock.now(),
                tenant_id=endpoint.tenant_id,
                actor=PROGRAM,
                operation=DECLARED,
            )
            for one in trail.changes
            if definition_of(one.before) != definition_of(one.after)
        ]


def _beside_job(declared: Endpoint, stored: Endpoint) -> Endpoint:
    """What was declared, with the calendars of the job that keep the stored endpoint."""
    return evolve(declared, calendar_rules=with_own_rules(stored.calendar_rules, declared.calendar_rules))
