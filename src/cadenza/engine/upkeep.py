"""Keeps the history of runs and sittings, and the replies to requests, within their bounds."""

from datetime import timedelta
from typing import Protocol

from cadenza.engine.waiting import survived
from cadenza.ports.analyses import AnalysisStore
from cadenza.ports.clock import Clock
from cadenza.ports.log import Logger
from cadenza.ports.replies import ReplyStore
from cadenza.ports.store import History, Retention

EVERY_MS = 3_600_000
REPLIES_KEPT = timedelta(hours=24)


class Kept(History, ReplyStore, AnalysisStore, Protocol):
    """What grows until somebody forgets."""


class Upkeep:
    """Forgets old runs, sittings and replies, and makes room for new ones: at the start, then every hour."""

    def __init__(self, *, store: Kept, clock: Clock, log: Logger, retention: Retention) -> None:
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
        now = self._clock.now()
        await self._store.forget_replies(now - REPLIES_KEPT)
        if self._retention.max_age is not None:
            await self._store.forget_analyses(now - self._retention.max_age)
        gone = await self._store.keep_history(self._retention, now)
        if gone:
            self._log.info("old runs were forgotten", runs=gone)
