"""Keeps the leases of what is running."""

from cadenza.engine.flight import Flight
from cadenza.engine.scheduler import Scheduler
from cadenza.engine.waiting import survived
from cadenza.ports.clock import Clock
from cadenza.ports.log import Logger


class LeaseKeeper:
    """Renews the leases of all that is held, three times in their length."""

    def __init__(self, *, flight: Flight, scheduler: Scheduler, clock: Clock, log: Logger) -> None:
        self._flight = flight
        self._scheduler = scheduler
        self._clock = clock
        self._log = log

    async def run(self) -> None:
        """Renew until cancelled."""
        while True:
            await self._clock.sleep(self._scheduler.settings.lease_ms / 3)
            await survived(self._renew(), self._log)

    async def _renew(self) -> None:
        claims = self._flight.held
        if not claims:
            return
        kept = await self._scheduler.renew(claims)
        lost = [claim.run_id for claim in claims if claim.run_id not in kept]
        self._flight.forget(lost)
        if lost:
            self._log.warning("leases were lost; their runs are stopped", run_ids=lost)
