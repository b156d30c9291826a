"""Keeps the history of runs, sittings and conversations, and the replies to requests, within their bounds."""

from datetime import timedelta
from typing import Protocol

from cadenza.engine.async_helpers import try_once
from cadenza.ports.access import ReplyStore
from cadenza.ports.agents import ConversationStore, DeliveryStore
from cadenza.ports.clock import Clock
from cadenza.ports.daily import DailyStore
from cadenza.ports.monitoring import WatchStore
from cadenza.ports.planning import AnalysisStore
from cadenza.ports.store import History, Retention
from cadenza.ports.telemetry import Logger

EVERY_MS = 3_600_000
REPLIES_KEPT = timedelta(hours=24)
CONVERSATIONS_KEPT = timedelta(days=90)
VERDICTS_KEPT = timedelta(days=400)
DELIVERED_KEPT = timedelta(days=7)
STANDINGS_KEPT = timedelta(days=1)
ALERTS_KEPT = timedelta(days=90)
"""Longer than a month: until then the levels of its quota are known as told."""


class Kept(
    History, ReplyStore, AnalysisStore, ConversationStore, DeliveryStore, WatchStore, DailyStore, Protocol
):
    """What grows until somebody forgets."""


class Upkeep:
    """Forgets what is old, and makes room for what is new: at the start, then every hour."""

    def __init__(
        self,
        *,
        store: Kept,
        clock: Clock,
        log: Logger,
        retention: Retention,
        conversations: timedelta | None = CONVERSATIONS_KEPT,
        verdicts: timedelta | None = VERDICTS_KEPT,
    ) -> None:
        self._store = store
        self._clock = clock
        self._log = log
        self._retention = retention
        self._conversations = conversations
        self._verdicts = verdicts

    async def run(self) -> None:
        """Keep the history until cancelled."""
        while True:
            await try_once(self._keep(), self._log)
            await self._clock.sleep(EVERY_MS)

    async def _keep(self) -> None:
        now = self._clock.now()
        await self._store.forget_replies(now - REPLIES_KEPT)
        if self._retention.max_age is not None:
            await self._store.forget_analyses(now - self._retention.max_age)
        await self._store.forget_deliveries(delivered_before=now - DELIVERED_KEPT, now=now)
        if self._conversations is not None:
            await self._store.forget_messages(now - self._conversations)
        if self._verdicts is not None:
            await self._store.forget_days((now - self._verdicts).date())
        await self._store.forget_slos(now - STANDINGS_KEPT)
        await self._store.forget_alerts(now - ALERTS_KEPT)
        gone = await self._store.keep_history(self._retention, now)
        if gone:
            self._log.info("old runs were forgotten", runs=gone)
