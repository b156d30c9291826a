"""Renews the leases of held claims, and stops runs whose lease runs out."""

import asyncio

from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import Attempts, first_of
from cadenza.engine.worker.held_claims import HeldClaims
from cadenza.ports.clock import Clock
from cadenza.ports.scheduling import EndpointStore
from cadenza.ports.telemetry import Logger

CHECKS_PER_LEASE = 6
"""How often leases are checked in the length of one; at every second check they are renewed."""


class LeaseRenewer:
    """Renews leases three times in their length, and stops what it could not renew in time."""

    def __init__(
        self, *, held: HeldClaims, store: EndpointStore, clock: Clock, log: Logger, lease_ms: int
    ) -> None:
        self._held = held
        self._store = store
        self._clock = clock
        self._log = log
        self._attempts = Attempts("worker/renew", clock, log)
        self._lease = milliseconds(lease_ms)
        self._check_ms = lease_ms / CHECKS_PER_LEASE

    async def run(self) -> None:
        """Renew until cancelled; leases are checked also while a renewal does not return."""
        await first_of(self._check_repeatedly(), self._renew_repeatedly())

    async def _check_repeatedly(self) -> None:
        """Check at every step; a process that was frozen checks before anything that it was doing goes on.

        Tasks that the thaw wakes take their next step only after the timers that are due have been called.
        """
        loop = asyncio.get_running_loop()
        while True:
            self._held.trust_leases(CHECKS_PER_LEASE * self._check_ms)
            overdue = loop.call_later(2 * self._check_ms / 1_000, self._stop_expiring)
            try:
                await self._clock.sleep(self._check_ms)
            finally:
                overdue.cancel()
            self._stop_expiring()

    async def _renew_repeatedly(self) -> None:
        while True:
            await self._clock.sleep(2 * self._check_ms)
            await self._attempts.try_once(self._renew())

    async def _renew(self) -> None:
        claims = self._held.claims
        if not claims:
            return
        until = self._held.lease_now() + self._lease
        renewed = await self._store.renew(claims, until)
        self._held.set_lease(renewed, until)
        lost = self._held.remove_lost([claim for claim in claims if claim.run_id not in renewed])
        if lost:
            self._log.warning("leases were lost; their runs are stopped", run_ids=lost)

    def _stop_expiring(self) -> None:
        """Before another worker may take over a claim, this one must have stopped its run."""
        if self._held.unprotected:
            run_ids, self._held.unprotected = self._held.unprotected, []
            self._log.warning("leases ran out before their runs could start", run_ids=run_ids)
        limit = self._held.lease_now() + milliseconds(1) * self._check_ms
        lost = self._held.remove_lost([claim for claim in self._held.claims if claim.lease_until <= limit])
        if lost:
            self._log.warning("leases could not be renewed; their runs are stopped", run_ids=lost)
