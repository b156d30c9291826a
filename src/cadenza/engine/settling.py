"""Settles what has ended, in batches."""

from cadenza.engine.flight import Flight
from cadenza.engine.scheduler import Scheduler
from cadenza.engine.waiting import survived
from cadenza.ports.clock import Clock
from cadenza.ports.log import Logger

RECOVERY_MS = 1_000


class Settling:
    """Gathers completions for a moment and settles them in one commit."""

    def __init__(
        self, *, flight: Flight, scheduler: Scheduler, clock: Clock, log: Logger, batch: int, linger_ms: float
    ) -> None:
        self._flight = flight
        self._scheduler = scheduler
        self._clock = clock
        self._log = log
        self._batch = batch
        self._linger_ms = linger_ms

    async def run(self) -> None:
        """Settle until cancelled; a run that ends alone is settled at once."""
        while True:
            await self._flight.ended.wait()
            if self._flight.running and self._flight.landed < self._batch:
                await self._clock.sleep(self._linger_ms)
            await self._settle()

    async def _settle(self) -> None:
        batch = self._flight.completions(self._batch)
        while not await survived(self._scheduler.finalize(batch), self._log):
            await self._clock.sleep(RECOVERY_MS)
        self._flight.forget([completion.claim.run_id for completion in batch])
