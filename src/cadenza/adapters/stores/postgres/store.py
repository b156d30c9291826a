"""The store on PostgreSQL."""

from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.postgres.endpoints import PostgresEndpoints, PostgresRuns
from cadenza.adapters.stores.postgres.engines.polling import PollingListener
from cadenza.adapters.stores.postgres.listen_notify import NotificationListener, WakeupsByNotification
from cadenza.adapters.stores.postgres.planner_feed import PostgresAnalyses
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.access.key_cache import CachedKeys
from cadenza.adapters.stores.sql.monitoring.statistics import SqlStatistics
from cadenza.adapters.stores.sql.scheduling.endpoints import EndpointTables
from cadenza.adapters.stores.sql.store import SqlStore
from cadenza.ports.ids import Ids
from cadenza.ports.telemetry import Logger

NO_LOG = NoLog()


class PostgresStore(SqlStore):
    """Each method is one commit, however many workers share the database."""

    def __init__(self, pool: PostgresPool, ids: Ids, log: Logger = NO_LOG) -> None:
        self._pool = pool
        self._listener = _listener(pool, ids, log)
        pool.on_notification = self._listener.notified
        tables = EndpointTables(pool, ids)
        super().__init__(
            pool,
            tables,
            endpoints=PostgresEndpoints(pool, tables, ids=ids, listener=self._listener),
            runs=PostgresRuns(pool),
            analyses=PostgresAnalyses(pool),
            statistics=SqlStatistics(pool),
            keys=CachedKeys(pool, self._listener),
            listen_for_user=self._listener.on_new_delivery,
            listen_for_turn=self._listener.on_turn_change,
        )

    async def close(self) -> None:
        """Listen no more, let running work end, and close the connections."""
        await self._listener.close()
        await self._pool.close()


def _listener(pool: PostgresPool, ids: Ids, log: Logger) -> WakeupsByNotification:
    if pool.profile.notifications:
        return NotificationListener(pool, log, ids.new())
    # Beside the one process on a server that falls asleep there is nobody to hear of.
    return PollingListener(pool) if pool.profile.idle_queries else WakeupsByNotification()
