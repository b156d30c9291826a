"""Declares the functions of a process, and retires the endpoints of those that no process declares."""

from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from functools import partial

from cadenza.domain.scheduling.abandon import bring_back, retire
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import Attempts
from cadenza.ports.clock import Clock, CronCalculator
from cadenza.ports.scheduling import FunctionStore
from cadenza.ports.telemetry import Logger

DECLARE_MS = 60_000
DECLARATIONS = 3
"""A function is declared at least so often in the time after which its endpoints would be retired."""
BATCH = 500
LOGGED_IDS = 10
"""How many endpoints a log line names."""


class FunctionDeclarations:
    """Declares what this process has, now and then, and looks for what nobody has declared for a while."""

    def __init__(
        self,
        *,
        store: FunctionStore,
        names: Callable[[], Collection[str]],
        clock: Clock,
        cron: CronCalculator,
        log: Logger,
        retire_after_ms: int | None,
        jitter_ms: int = 0,
    ) -> None:
        self._store = store
        self._names = names
        self._clock = clock
        self._cron = cron
        self._log = log
        self._jitter_ms = jitter_ms
        self._attempts = Attempts("worker/functions", clock, log)
        self._retire_after = None if retire_after_ms is None else milliseconds(retire_after_ms)
        self._every_ms = min(DECLARE_MS, (retire_after_ms or DECLARE_MS) / DECLARATIONS)

    async def run(self) -> None:
        """Declare at once, and then every so often, until cancelled."""
        while True:
            await self._attempts.try_once(self.declare_and_retire())
            await self._clock.sleep(self._every_ms)

    async def declare_and_retire(self) -> None:
        """Declare the functions of this process, and retire endpoints whose function nobody declares."""
        if names := self._names():
            now = self._clock.now()
            rule = partial(bring_back, now=now, cron=self._cron, jitter_ms=self._jitter_ms)
            back = await self._store.declare(names, now=now, bring_back=rule)
            if back:
                self._log.info("endpoints are active again: their function is declared", **_facts(back))
        if self._retire_after is not None:
            await self._retire(self._retire_after)

    async def _retire(self, after: timedelta) -> None:
        now = self._clock.now()
        rule, since, retired = partial(retire, now=now), now - after, list[ChangedEndpoint]()
        while batch := await self._store.retire(now=now, undeclared_since=since, limit=BATCH, retire=rule):
            retired += batch
        if retired:
            words = "endpoints are retired: no program declares their function any more"
            self._log.warning(words, **_facts(retired))


def _facts(changed: Sequence[ChangedEndpoint]) -> dict[str, object]:
    ids = [f"{one.endpoint.tenant_id}/{one.endpoint.id}" for one in changed[:LOGGED_IDS]]
    return {"endpoints": len(changed), "endpoint_ids": ids}
