"""Ends what nobody will end: leases that ran out, one-shots that nobody served."""

from functools import partial

from cadenza.domain.checks import iso
from cadenza.domain.endpoint import Endpoint
from cadenza.domain.run import Run
from cadenza.domain.settle import Settled
from cadenza.domain.sweep import abandonment, tidy
from cadenza.engine.settler import Settler
from cadenza.engine.waiting import survived
from cadenza.ports.clock import Clock
from cadenza.ports.cron import Cron
from cadenza.ports.log import Logger
from cadenza.ports.store import EndpointStore, Sweeping

BATCH = 500


class Sweeper:
    """Frees endpoints whose worker did not come back."""

    def __init__(self, *, store: EndpointStore, clock: Clock, cron: Cron, log: Logger) -> None:
        self._store = store
        self._clock = clock
        self._settler = Settler(clock=clock, cron=cron, log=log)
        self._log = log

    async def run(self, every_ms: float) -> None:
        """Sweep at once, and then every so often, until cancelled."""
        while True:
            await survived(self.sweep(), self._log)
            await self._clock.sleep(every_ms)

    async def sweep(self) -> list[Settled]:
        """Abandon every run whose lease ran out; its slot is due again, as the guard allows."""
        now = self._clock.now()

        def abandon(endpoint: Endpoint, run: Run) -> Settled:
            return self._settler(endpoint, abandonment(endpoint, run, now))

        sweeping = Sweeping(abandon, partial(tidy, now=now))
        abandoned: list[Settled] = []
        while batch := await self._store.sweep(now=now, limit=BATCH, sweeping=sweeping):
            abandoned += batch
        for endpoint, run, _ in abandoned:
            facts = {"endpoint_id": endpoint.id, "run_id": run.id, "slot": iso(run.slot)}
            self._log.warning("a run was abandoned", **facts, paused=endpoint.pause_reason)
        return abandoned
