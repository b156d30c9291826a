"""The store on PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.memory.wakeup import MemoryBell
from cadenza.adapters.stores.postgres import cycle_statements as sql
from cadenza.adapters.stores.postgres.claim import Claimer, Wanted
from cadenza.adapters.stores.postgres.listen_notify import Listener
from cadenza.adapters.stores.postgres.partitions import drop_runs, ensure_partitions
from cadenza.adapters.stores.postgres.planner_feed import PostgresAnalyses
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.postgres.settle import Batch, finalize, with_turns_and_alerts
from cadenza.adapters.stores.postgres.start import start
from cadenza.adapters.stores.postgres.sweep import sweep
from cadenza.adapters.stores.sql.access.idempotency import SqlReplies
from cadenza.adapters.stores.sql.access.keys import SqlKeys
from cadenza.adapters.stores.sql.access.sessions import SqlSessions
from cadenza.adapters.stores.sql.access.tenants import SqlTenants
from cadenza.adapters.stores.sql.agents.conversations import SqlConversations
from cadenza.adapters.stores.sql.agents.deliveries import SqlDeliveries
from cadenza.adapters.stores.sql.agents.schedules import SqlSchedules
from cadenza.adapters.stores.sql.agents.users_agents import SqlUsersAgents
from cadenza.adapters.stores.sql.daily.statistics import SqlDailyStatistics
from cadenza.adapters.stores.sql.daily.users import SqlDaily
from cadenza.adapters.stores.sql.monitoring.slo_alerts import SqlSloAlerts
from cadenza.adapters.stores.sql.monitoring.statistics import SqlStatistics
from cadenza.adapters.stores.sql.planning.rules import SqlRules
from cadenza.adapters.stores.sql.scheduling.catalog import SqlCatalog
from cadenza.adapters.stores.sql.scheduling.endpoint_store import SqlEndpoints, SqlRuns
from cadenza.adapters.stores.sql.scheduling.endpoints import EndpointTables
from cadenza.domain.scheduling.due import Recheck
from cadenza.domain.scheduling.run import Claim, Completion
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.ports.ids import Ids
from cadenza.ports.scheduling import Decide, Retention, Settle, Sweeping
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger

NO_LOG = NoLog()


class PostgresStore(Store):
    """Each method is one commit, however many workers share the database."""

    def __init__(self, pool: PostgresPool, ids: Ids, log: Logger = NO_LOG) -> None:
        self._pool = pool
        self._listener = Listener(pool, log, ids.new())
        tables = EndpointTables(pool, ids)
        users_agents, replies = SqlUsersAgents(pool, tables), SqlReplies(pool)
        slo_alerts = SqlSloAlerts(pool)
        super().__init__(
            endpoints=PostgresEndpoints(pool, tables, ids=ids, listener=self._listener),
            runs=PostgresRuns(pool),
            catalog=SqlCatalog(pool, tables),
            rules=SqlRules(pool),
            analyses=PostgresAnalyses(pool),
            users=users_agents,
            agents=users_agents,
            conversations=SqlConversations(pool),
            deliveries=SqlDeliveries(pool, self._listener.on_new_delivery),
            schedules=SqlSchedules(pool, tables),
            daily=SqlDaily(pool),
            daily_statistics=SqlDailyStatistics(pool),
            tenants=SqlTenants(pool),
            keys=SqlKeys(pool),
            sessions=SqlSessions(pool),
            idempotency=replies,
            rates=replies,
            statistics=SqlStatistics(pool),
            slos=slo_alerts,
            alerts=slo_alerts,
        )

    async def close(self) -> None:
        """Listen no more, let running work end, and close the connections."""
        await self._listener.close()
        await self._pool.close()


class PostgresEndpoints(SqlEndpoints):
    """Endpoints, their claims and the commits that open and close their runs."""

    def __init__(self, pool: PostgresPool, tables: EndpointTables, *, ids: Ids, listener: Listener) -> None:
        super().__init__(pool, tables)
        self._pool = pool
        self._ids = ids
        self._claimer = Claimer(pool, ids)
        self._listener = listener

    async def claim_due(
        self, *, now: datetime, within: timedelta, lease_until: datetime, limit: int
    ) -> list[Claim]:
        return await self._claimer.claim(Wanted(now, now + within, lease_until, limit))

    async def start(self, claims: Sequence[Claim], decide: Decide) -> list[Recheck | None]:
        return await start(self._pool, claims, decide)

    async def renew(self, claims: Sequence[Claim], lease_until: datetime) -> set[str]:
        tokens = list({held.token for held in claims})

        async def work(connection: Connection) -> set[str]:
            await connection.execute(sql.RENEW, lease_until, tokens)
            return {row[0] for row in await connection.fetch(sql.RUNS_OF_LEASES, tokens)}

        held = await self._pool.write(work)
        return held & {claim.run_id for claim in claims}

    async def finalize(self, completions: Sequence[Completion], settle: Settle) -> list[SettledRun | None]:
        return await finalize(self._pool, Batch(completions, settle, self._ids))

    async def sweep(self, *, now: datetime, limit: int, sweeping: Sweeping) -> list[SettledRun]:
        work = partial(
            sweep, now=now, limit=limit, sweeping=sweeping, tables=self._endpoint_tables, ids=self._ids
        )
        return await self._pool.write(with_turns_and_alerts(work, lambda abandoned: abandoned))

    async def next_due(self) -> datetime | None:
        rows = await self._pool.ask(sql.NEXT_DUE)
        return rows[0][0] if rows else None

    def listen(self) -> MemoryBell:
        return self._listener.bell()


class PostgresRuns(SqlRuns):
    """Runs and hints of the past."""

    def __init__(self, pool: PostgresPool) -> None:
        super().__init__(pool)
        self._pool = pool

    async def keep_history(self, retention: Retention, now: datetime) -> int:
        await ensure_partitions(self._pool, now)
        return await drop_runs(self._pool, now=now, **retention._asdict())
