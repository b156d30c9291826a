"""The store on PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.memory.wakeup import MemoryBell
from cadenza.adapters.stores.postgres import endpoints as keeping
from cadenza.adapters.stores.postgres import listing
from cadenza.adapters.stores.postgres import statements as sql
from cadenza.adapters.stores.postgres.analyses import PostgresAnalyses
from cadenza.adapters.stores.postgres.catalog import PostgresCatalog
from cadenza.adapters.stores.postgres.claim import Turns, Wanted
from cadenza.adapters.stores.postgres.conversations import PostgresConversations
from cadenza.adapters.stores.postgres.listen_notify import Listener
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.postgres.rules import PostgresRules
from cadenza.adapters.stores.postgres.settle import Batch, finalize
from cadenza.adapters.stores.postgres.start import start
from cadenza.adapters.stores.postgres.statistics import PostgresFigures
from cadenza.adapters.stores.postgres.sweep import sweep
from cadenza.adapters.stores.postgres.turns import speaking
from cadenza.adapters.stores.postgres.users_agents import PostgresPeople
from cadenza.adapters.stores.sql.access import SqlKeys, SqlSessions
from cadenza.adapters.stores.sql.daily import SqlDaily
from cadenza.adapters.stores.sql.daily_statistics import SqlDailyStatistics
from cadenza.adapters.stores.sql.idempotency import SqlReplies
from cadenza.adapters.stores.sql.partitions import ensure_partitions
from cadenza.adapters.stores.sql.retention import retain
from cadenza.adapters.stores.sql.slo_alerts import SqlSloAlerts
from cadenza.adapters.stores.sql.tenants import SqlTenants
from cadenza.domain.scheduling.due import Recheck
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Claim, Completion, Run
from cadenza.domain.scheduling.settle import Settled
from cadenza.domain.scheduling.steer import Amended, EndpointChange, HintRecord
from cadenza.ports.catalog import ANY, FIRST_PAGE, Admission, Page
from cadenza.ports.ids import Ids
from cadenza.ports.store import Decide, Retention, Settle, Sweeping
from cadenza.ports.telemetry import Logger

NO_LOG = NoLog()


class PostgresStore(
    PostgresCatalog,
    PostgresRules,
    PostgresAnalyses,
    PostgresPeople,
    PostgresConversations,
    SqlKeys,
    PostgresFigures,
    SqlDaily,
    SqlDailyStatistics,
    SqlSessions,
    SqlTenants,
    SqlReplies,
    SqlSloAlerts,
):
    """Each method is one commit, however many workers share the database."""

    def __init__(self, pool: PostgresPool, ids: Ids, log: Logger = NO_LOG) -> None:
        self._pool = self._database = pool
        self._ids = ids
        self._turns = Turns(pool, ids)
        self._listener = Listener(pool, log, ids.new())

    async def close(self) -> None:
        """Listen no more, let running work end, and hang up."""
        await self._listener.close()
        await self._pool.close()

    async def add(self, endpoint: Endpoint, admission: Admission = ANY) -> None:
        await self._pool.write(partial(keeping.add, endpoint=endpoint, admission=admission))

    async def get(self, key: EndpointKey) -> Endpoint:
        return await listing.get(self._pool, key)

    async def amend(self, key: EndpointKey, change: EndpointChange) -> Amended:
        return await keeping.amend(self._pool, key, change=change, ids=self._ids)

    async def claim_due(
        self, *, now: datetime, within: timedelta, lease_until: datetime, limit: int
    ) -> list[Claim]:
        return await self._turns.claim(Wanted(now, now + within, lease_until, limit))

    async def start(self, claims: Sequence[Claim], decide: Decide) -> list[Recheck | None]:
        return await start(self._pool, claims, decide)

    async def renew(self, claims: Sequence[Claim], lease_until: datetime) -> set[str]:
        tokens = list({held.token for held in claims})

        async def work(connection: Connection) -> set[str]:
            await connection.execute(sql.RENEW, lease_until, tokens)
            return {row[0] for row in await connection.fetch(sql.HELD, tokens)}

        held = await self._pool.write(work)
        return held & {claim.run_id for claim in claims}

    async def finalize(self, completions: Sequence[Completion], settle: Settle) -> list[Settled | None]:
        return await finalize(self._pool, Batch(completions, settle, self._ids))

    async def sweep(self, *, now: datetime, limit: int, sweeping: Sweeping) -> list[Settled]:
        work = partial(sweep, now=now, limit=limit, sweeping=sweeping, ids=self._ids)
        return await self._pool.write(speaking(work, lambda abandoned: abandoned))

    async def next_due(self) -> datetime | None:
        rows = await self._pool.ask(sql.NEXT_DUE)
        return rows[0][0] if rows else None

    def listen(self) -> MemoryBell:
        return self._listener.bell()

    async def run(self, tenant_id: str, run_id: str) -> Run:
        return await listing.run(self._pool, tenant_id, run_id)

    async def runs(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[Run]:
        return await listing.runs(self._pool, key, page)

    async def hints(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[HintRecord]:
        return await listing.hints(self._pool, key, page)

    async def keep_history(self, retention: Retention, now: datetime) -> int:
        await ensure_partitions(self._pool, now)
        return await retain(self._pool, now=now, **retention._asdict())
