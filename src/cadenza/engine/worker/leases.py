"""Renews the leases of held claims, and stops runs whose lease runs out or that are to be cancelled."""

import asyncio

from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import Attempts, first_of
from cadenza.engine.worker.held_claims import HeldClaims
from cadenza.ports.clock import Clock
from cadenza.ports.scheduling import EndpointStore
from cadenza.ports.telemetry import Logger

RENEWALS_PER_LEASE, CHECKS_PER_LEASE = 3, 24
"""How often leases are renewed, and checked, in the length of one."""
MARGIN_PART = 6
"""Runs are stopped this part of the lease before it ends: the clock of whoever sweeps it may be ahead."""


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
        self._lease_ms, self._check_ms = lease_ms, lease_ms / CHECKS_PER_LEASE
        self._margin = self._lease / MARGIN_PART + self._lease / CHECKS_PER_LEASE
        """Counted at a check, after which none comes for a while."""

    async def run(self) -> None:
        """Renew until cancelled; leases are checked also while a renewal does not return."""
        await first_of(self._check_repeatedly(), self._renew_repeatedly())

    async def _check_repeatedly(self) -> None:
        """Check at every step; a process that was frozen checks before anything that it was doing goes on.

        Tasks that the thaw wakes take their next step only after the timers that are due have been called.
        """
        loop = asyncio.get_running_loop()
        while True:
            self._held.trust_leases(self._lease_ms, margin=self._margin)
            overdue = loop.call_later(2 * self._check_ms / 1_000, self._stop_expiring)
            try:
                await self._clock.sleep(self._check_ms)
            finally:
                overdue.cancel()
            self._stop_expiring()

    async def _renew_repeatedly(self) -> None:
        while True:
            await self._clock.sleep(self._lease_ms / RENEWALS_PER_LEASE)
            await self._attempts.try_once(self._renew())

    async def _renew(self) -> None:
        claims = self._held.claims
        if not claims:
            return
        clock = self._held.lease_clock
        until, gain = clock.now() + self._lease, clock.gain()
        # After the clock was set back this is earlier, and holds also if the answer is lost.
        self._held.set_lease([claim.run_id for claim in claims if claim.lease_until > until], until)
        renewed = await self._store.renew(claims, until)
        self._held.follow_clock()
        self._held.set_lease(renewed, until - clock.set_back_since(gain))
        lost = self._held.remove_lost([claim for claim in claims if claim.run_id not in renewed])
        if lost:
            self._log.warning("leases were lost; their runs are cancelled", run_ids=lost)

    def _stop_expiring(self) -> None:
        """Before another worker may take over a claim, this one must have stopped its run."""
        if self._held.unprotected:
            run_ids, self._held.unprotected = self._held.unprotected, []
            self._log.warning("leases ran out before their runs could start", run_ids=run_ids)
        lost = self._held.remove_lost(self._held.expiring)
        if lost:
            self._log.warning("leases could not be renewed; their runs are cancelled", run_ids=lost)


CANCEL_POLL_MS = 1_000
"""How long a request to cancel waits at most, if its wake-up was lost."""
CANCEL_PAUSE_MS = 100
"""How long it waits between two looks, however many wake-ups come."""


class CancelWatch:
    """Cancels held runs that are asked to be cancelled, by whichever process.

    The request is stored with the lease; a wake-up makes it look at once, and the poll in any case.
    While nothing runs, nothing is asked.
    """

    def __init__(self, *, held: HeldClaims, store: EndpointStore, clock: Clock, log: Logger) -> None:
        self._held = held
        self._store = store
        self._clock = clock
        self._wake = asyncio.Event()
        self._attempts = Attempts("worker/cancel", clock, log)

    def wake(self) -> None:
        """Look now."""
        self._wake.set()

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await first_of(self._clock.sleep(CANCEL_POLL_MS), self._wake.wait())
            self._wake.clear()
            await self._attempts.try_once(self._look())
            await self._clock.sleep(CANCEL_PAUSE_MS)

    async def _look(self) -> None:
        if self._held.launched:
            self._held.cancel(await self._store.to_cancel(self._held.unended_claims))
