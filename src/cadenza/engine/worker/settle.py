"""Settles completed runs in batches, and makes the alert of a settled run."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from cadenza.domain.monitoring.alert import Alert, failure_alert, pause_alert, recovery_alert
from cadenza.domain.scheduling.abandon import given_up
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Completion
from cadenza.domain.scheduling.settle import SettledRun, settle, unplannable
from cadenza.domain.scheduling.target import HeartbeatTarget
from cadenza.domain.validation import LONGEST_TEXT
from cadenza.engine.async_helpers import RECOVERY_MS, Attempts, first_of
from cadenza.engine.worker.events import WorkerEvents, failure_event, pause_event
from cadenza.engine.worker.held_claims import HeldClaims
from cadenza.ports.clock import Clock, CronCalculator
from cadenza.ports.scheduling import EndpointStore
from cadenza.ports.telemetry import ENDPOINT_FAILED, Logger, endpoint_facts

NEXT_BATCH_MS = 1_000
"""How long a batch waits for the one before it."""
OnSettled = Callable[[Sequence[SettledRun]], None]
AlertRule = Callable[[SettledRun, int], Alert | None]
"""The alert of a settled run, given how often its endpoint had failed before."""


class EndpointAlerts:
    """Alerts of the N-th failure in a row, of the recovery from it, and of a pause for good."""

    def __init__(self, *, clock: Clock, failures: int) -> None:
        self._clock = clock
        self._failures = failures

    def __call__(self, settled: SettledRun, failures_before: int) -> Alert | None:
        """The alert of a run, if it is one that operators are alerted of."""
        about = routing_facts(settled.endpoint)
        if given_up(settled.endpoint):
            paused = pause_event(settled.endpoint, settled.run).metadata
            return pause_alert({**paused, **about}, self._clock.now())
        event, measurements, metadata = failure_event(settled.endpoint, settled.run, failures_before)
        make = failure_alert if event == ENDPOINT_FAILED else recovery_alert
        return make({**measurements, **metadata, **about}, self._clock.now(), most=self._failures)


def routing_facts(endpoint: Endpoint) -> dict[str, Any]:
    """What decides where an alert about an endpoint goes, and whether it waits for another endpoint."""
    facts: dict[str, Any] = {"job_id": endpoint.job_id, "severity": endpoint.severity.value}
    if endpoint.labels:
        facts["labels"] = dict(endpoint.labels)
    if endpoint.parent_id is not None:
        facts["parent_id"] = endpoint.parent_id
    if isinstance(endpoint.target, HeartbeatTarget):
        facts["heartbeat"] = True
    return facts


class SettleRule:
    """Settles an endpoint at the present moment, and never fails.

    An endpoint that no next run can be planned for is paused, so that the rest of
    its batch is settled.
    """

    def __init__(
        self, *, clock: Clock, cron: CronCalculator, log: Logger, alerts: AlertRule | None = None
    ) -> None:
        self._clock = clock
        self._cron = cron
        self._log = log
        self._alerts = alerts

    def __call__(self, endpoint: Endpoint, completion: Completion) -> SettledRun:
        """The endpoint after its run, with the alert of it."""
        settled, before = self._settled(endpoint, completion), endpoint.failure_count
        same = settled.endpoint.failure_count == before and not given_up(settled.endpoint)
        if self._alerts is None or same:
            return settled
        return settled._replace(raised=self._alerts(settled, before))

    def _settled(self, endpoint: Endpoint, completion: Completion) -> SettledRun:
        try:
            return settle(endpoint, completion, now=self._clock.now(), cron=self._cron)
        except Exception as problem:  # noqa: BLE001 - one that cannot be planned must not block its batch
            self._log.warning(
                "an endpoint cannot be planned and is paused", **_facts(completion), problem=repr(problem)
            )
            return unplannable(endpoint, completion, f"it cannot be planned: {problem}"[:LONGEST_TEXT])


class Settler:
    """Gathers completions for a moment and settles them in one commit, one batch after the other.

    Two at once would take from other workers what they win. Only when one takes long, the next begins
    beside it. An endpoint is leased until it is settled, so that no two batches can hold the same.
    """

    def __init__(
        self,
        *,
        held: HeldClaims,
        store: EndpointStore,
        rule: SettleRule,
        events: WorkerEvents,
        clock: Clock,
        log: Logger,
        on_settled: OnSettled,
        batch: int,
        linger_ms: float,
        at_once: int,
    ) -> None:
        self._held = held
        self._store = store
        self._rule = rule
        self._events = events
        self._clock = clock
        self._log = log
        self._on_settled = on_settled
        self._batch = batch
        self._linger_ms = linger_ms
        self._at_once = at_once
        self._gathering = asyncio.Lock()
        self._busy = 0
        self._last_settled = asyncio.Event()
        """Set when the batch that began last is settled; those before it are not waited for."""

        self._last_settled.set()

    async def run(self) -> None:
        """Settle until cancelled."""
        await first_of(*(self._settle_batches() for _ in range(self._at_once)))

    async def settle(self, completions: Sequence[Completion]) -> list[SettledRun]:
        """Settle current rows in one commit; a run that lost its lease is logged and left alone."""
        settled = await self._finalize(completions) if completions else []
        self._held.remove([completion.claim.run_id for completion in completions])
        self._on_settled(settled)
        return settled

    async def _finalize(self, completions: Sequence[Completion]) -> list[SettledRun]:
        answers = await self._store.finalize(completions, self._rule)
        settled = []
        for completion, answer in zip(completions, answers, strict=True):
            if answer is None:
                self._log.warning("a lease was lost before its run was settled", **_facts(completion))
                continue
            settled.append(answer)
            self._events.settled(answer, completion)
        return settled

    async def _settle_batches(self) -> None:
        attempts = Attempts("worker/settle", self._clock, self._log)
        while True:
            async with self._gathering:
                if not self._last_settled.is_set():
                    await first_of(self._last_settled.wait(), self._clock.sleep(NEXT_BATCH_MS))
                batch = await self._gather()
                settled = self._last_settled = asyncio.Event()
                self._busy += 1
            while not await attempts.try_once(self.settle(batch)):
                await self._clock.sleep(RECOVERY_MS)
            self._busy -= 1
            settled.set()

    async def _gather(self) -> list[Completion]:
        """The next batch; a run that ends alone, when nothing else goes on, is not kept waiting."""
        await self._held.has_completions.wait()
        if (self._held.running or self._busy) and self._held.completed < self._batch:
            await self._clock.sleep(self._linger_ms)
        return self._held.take_completions(self._batch)


def _facts(completion: Completion) -> dict[str, str | None]:
    return endpoint_facts(completion.claim.endpoint, completion.claim.run_id)
