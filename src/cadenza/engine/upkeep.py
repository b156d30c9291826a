"""Keeps the history of runs within its bounds."""

from cadenza.engine.waiting import survived
from cadenza.ports.clock import Clock
from cadenza.ports.log import Logger
from cadenza.ports.store import History, Retention

EVERY_MS = 3_600_000


class Upkeep:
    """Forgets old runs, and makes room for new ones: at the start, and then every hour."""

    def __init__(self, *, store: History, clock: Clock, log: Logger, retention: Retention) -> None:
        self._store = store
        self._clock = clock
        self._log = log
        self._retention = retention

    async def run(self) -> None:
        """Keep the history until cancelled."""
        while True:
            await survived(self._keep(), self._log)
            await self._clock.sleep(EVERY_MS)

    async def _keep(self) -> None:
        gone = await self._store.keep_history(self._retention, self._clock.now())
        if gone:
            self._log.info("old runs were forgotten", runs=gone)
