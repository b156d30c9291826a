"""Settles what has ended, in batches."""

import asyncio
from collections.abc import Callable, Sequence

from cadenza.domain.scheduling.run import Completion
from cadenza.domain.scheduling.settle import Settled
from cadenza.engine.async_helpers import first_of, survived
from cadenza.engine.worker.held_claims import Flight
from cadenza.engine.worker.scheduler import Scheduler
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import Logger

RECOVERY_MS = 1_000
PATIENCE_MS = 1_000
"""How long one batch waits for the one before it."""
OnSettled = Callable[[Sequence[Settled]], None]


class Settling:
    """Gathers completions for a moment and settles them in one commit, one batch after the other.

    Two at once would take from other workers what they win. Only when one takes long, the next begins
    beside it. An endpoint is leased until it is settled, so that no two batches can hold the same.
    """

    def __init__(
        self,
        *,
        flight: Flight,
        scheduler: Scheduler,
        clock: Clock,
        log: Logger,
        on_settled: OnSettled,
        batch: int,
        linger_ms: float,
        at_once: int,
    ) -> None:
        self._flight = flight
        self._scheduler = scheduler
        self._clock = clock
        self._log = log
        self._on_settled = on_settled
        self._batch = batch
        self._linger_ms = linger_ms
        self._at_once = at_once
        self._gathering = asyncio.Lock()
        self._busy = 0
        self._before = asyncio.Event()
        """Set when the batch that began last is settled; nobody waits for those before it."""

        self._before.set()

    async def run(self) -> None:
        """Settle until cancelled."""
        await first_of(*(self._settle_on() for _ in range(self._at_once)))

    async def _settle_on(self) -> None:
        while True:
            async with self._gathering:
                if not self._before.is_set():
                    await first_of(self._before.wait(), self._clock.sleep(PATIENCE_MS))
                batch = await self._gathered()
                settled = self._before = asyncio.Event()
                self._busy += 1
            while not await survived(self._settle(batch), self._log):
                await self._clock.sleep(RECOVERY_MS)
            self._busy -= 1
            settled.set()

    async def _gathered(self) -> list[Completion]:
        """What has ended; a run that ends alone, when nothing else goes on, is not kept waiting."""
        await self._flight.ended.wait()
        if (self._flight.running or self._busy) and self._flight.landed < self._batch:
            await self._clock.sleep(self._linger_ms)
        return self._flight.completions(self._batch)

    async def _settle(self, batch: Sequence[Completion]) -> None:
        settled = await self._scheduler.finalize(batch)
        self._flight.forget([completion.claim.run_id for completion in batch])
        self._on_settled(settled)
