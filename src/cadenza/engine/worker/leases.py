"""Keeps the leases of what is running."""

from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import first_of, survived
from cadenza.engine.worker.held_claims import Flight
from cadenza.engine.worker.scheduler import Scheduler
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import Logger

LOOKS = 6
"""How often it looks in the length of a lease; it renews at every second look."""


class LeaseKeeper:
    """Renews leases three times in their length, and stops what it could not renew in time."""

    def __init__(self, *, flight: Flight, scheduler: Scheduler, clock: Clock, log: Logger) -> None:
        self._flight = flight
        self._scheduler = scheduler
        self._clock = clock
        self._log = log
        self._look_ms = scheduler.settings.lease_ms / LOOKS

    async def run(self) -> None:
        """Keep leases until cancelled; a renewal that does not return is no reason to look away."""
        await first_of(self._keep_looking(), self._keep_renewing())

    async def _keep_looking(self) -> None:
        while True:
            await self._clock.sleep(self._look_ms)
            self._stop_what_runs_out()

    async def _keep_renewing(self) -> None:
        while True:
            await self._clock.sleep(2 * self._look_ms)
            await survived(self._renew(), self._log)

    async def _renew(self) -> None:
        claims = self._flight.held
        if not claims:
            return
        until = self._clock.now() + milliseconds(self._scheduler.settings.lease_ms)
        kept = await self._scheduler.renew(claims, until)
        self._flight.renewed(kept, until)
        lost = self._flight.drop([claim for claim in claims if claim.run_id not in kept])
        if lost:
            self._log.warning("leases were lost; their runs are stopped", run_ids=lost)

    def _stop_what_runs_out(self) -> None:
        """Before another worker may take over, this one must be done with it."""
        limit = self._clock.now() + milliseconds(1) * self._look_ms
        lost = self._flight.drop([claim for claim in self._flight.held if claim.lease_until <= limit])
        if lost:
            self._log.warning("leases could not be renewed; their runs are stopped", run_ids=lost)
