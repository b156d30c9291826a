"""Deletes old runs, analyses, conversations, deliveries, verdicts, alerts, replies and audit records."""

from collections.abc import Callable
from datetime import datetime, timedelta

from cadenza.engine.async_helpers import Attempts
from cadenza.engine.calendar_upkeep import CalendarUpkeep
from cadenza.ports.clock import Clock
from cadenza.ports.scheduling import Retention
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger

EVERY_MS = 3_600_000
KEEP_REPLIES = timedelta(hours=24)
KEEP_CONVERSATIONS = timedelta(days=90)
KEEP_VERDICTS = timedelta(days=400)
KEEP_AUDIT = timedelta(days=400)
KEEP_DELIVERED = timedelta(days=7)
KEEP_AGENT_TURNS = timedelta(days=1)
"""Longer than any retry of a firing waits; until then a late answer is told so."""
SLO_STATES_RETENTION = timedelta(days=1)
KEEP_ALERTS = timedelta(days=90)
"""Longer than a month, for which a quota alert is raised once at each level."""


class RetentionLoop:
    """Deletes what is older than its retention: at the start, then every hour.

    Ages are measured from `present`, by default the clock's own time.
    """

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        log: Logger,
        retention: Retention,
        present: Callable[[], datetime] | None = None,
        conversations: timedelta | None = KEEP_CONVERSATIONS,
        verdicts: timedelta | None = KEEP_VERDICTS,
        undelivered: timedelta | None = None,
        audit: timedelta | None = KEEP_AUDIT,
        calendars: CalendarUpkeep | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._log = log
        self._attempts = Attempts("upkeep", clock, log)
        self._retention = retention
        self._present = present or clock.now
        self._conversations = conversations
        self._verdicts = verdicts
        self._undelivered = undelivered
        self._audit = audit
        self._calendars = calendars

    async def run(self) -> None:
        """Delete old rows, and compile calendars anew that need it, until cancelled."""
        while True:
            await self._attempts.try_once(self.delete_old())
            if self._calendars is not None:
                await self._attempts.try_once(self._calendars.compile_anew())
            await self._clock.sleep(EVERY_MS)

    async def delete_old(self) -> None:
        """Delete old rows once."""
        now = self._present()
        await self._store.idempotency.forget_replies(now - KEEP_REPLIES)
        if self._retention.max_age is not None:
            await self._store.analyses.forget_analyses(now - self._retention.max_age)
        await self._delete_old_deliveries(now)
        await self._store.agent_turns.forget_turns(now - KEEP_AGENT_TURNS)
        if self._conversations is not None:
            await self._store.conversations.forget_messages(now - self._conversations)
        if self._verdicts is not None:
            await self._store.daily.forget_days((now - self._verdicts).date())
        if self._audit is not None:
            await self._store.audit.forget_records(now - self._audit)
        await self._store.slos.forget_slos(now - SLO_STATES_RETENTION)
        await self._store.alerts.forget_alerts(now - KEEP_ALERTS)
        await self._store.alert_messages.forget_messages(now - KEEP_ALERTS)
        await self._store.conditions.forget_conditions(now - KEEP_ALERTS)
        gone = await self._store.runs.delete_old_runs(self._retention, now)
        if gone:
            self._log.info("deleted old runs", runs=gone)

    async def _delete_old_deliveries(self, now: datetime) -> None:
        """What is undelivered is kept for ever, unless the operator limits it."""
        expired = await self._store.deliveries.forget_deliveries(
            delivered_before=now - KEEP_DELIVERED,
            undelivered_before=None if self._undelivered is None else now - self._undelivered,
        )
        if expired:
            self._log.info("undelivered messages expired", messages=expired)
