"""Endpoints, their claims and their runs on PostgreSQL."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from cadenza.adapters.stores.postgres import cycle_statements as sql
from cadenza.adapters.stores.postgres.claim import ClaimRequest, PostgresClaimer, next_due
from cadenza.adapters.stores.postgres.listen_notify import WakeupsByNotification
from cadenza.adapters.stores.postgres.partitions import delete_runs, drop_runs, ensure_partitions
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.postgres.settle import finalize, with_effects
from cadenza.adapters.stores.postgres.start import start
from cadenza.adapters.stores.postgres.sweep import sweep
from cadenza.adapters.stores.sql.scheduling.endpoint_store import SqlEndpoints, SqlRuns
from cadenza.adapters.stores.sql.scheduling.endpoints import EndpointTables
from cadenza.adapters.stores.sql.scheduling.settling import CompletedBatch
from cadenza.adapters.stores.wakeup import EventWakeup
from cadenza.domain.access.places import NO_BOUNDS, ClaimShares
from cadenza.domain.scheduling.due import Recheck
from cadenza.domain.scheduling.run import Claim, Completion
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.ports.ids import Ids
from cadenza.ports.scheduling import Now, RecheckClaim, Retention, Settle, SweepRules


class PostgresEndpoints(SqlEndpoints):
    """Endpoints, their claims and the commits that open and close their runs."""

    def __init__(
        self, pool: PostgresPool, tables: EndpointTables, *, ids: Ids, listener: WakeupsByNotification
    ) -> None:
        super().__init__(pool, tables)
        self._pool = pool
        self._ids = ids
        self._claimer = PostgresClaimer(pool, ids)
        self._listener = listener

    async def claim_due(
        self,
        *,
        now: datetime,
        within: timedelta,
        lease_until: datetime,
        limit: int,
        bounds: Mapping[str, int] = NO_BOUNDS,
        can_run: Collection[str] | None = None,
        holder: str | None = None,
    ) -> list[Claim]:
        wanted = ClaimRequest(now, now + within, lease_until, ClaimShares(limit, bounds), can_run, holder)
        return await self._claimer.claim(wanted)

    async def start(self, claims: Sequence[Claim], decide: RecheckClaim) -> list[Recheck | None]:
        return await start(self._pool, claims, decide)

    async def renew(self, claims: Sequence[Claim], lease_until: datetime) -> set[str]:
        tokens = list({held.token for held in claims})

        async def work(connection: Connection) -> set[str]:
            await connection.execute(sql.RENEW, lease_until, tokens)
            return {row[0] for row in await connection.fetch(sql.RUNS_OF_LEASES, tokens)}

        held = await self._pool.write(work)
        return held & {claim.run_id for claim in claims}

    async def finalize(self, completions: Sequence[Completion], settle: Settle) -> list[SettledRun | None]:
        return await finalize(self._pool, CompletedBatch(completions, settle, self._ids))

    async def sweep(self, *, now: Now, limit: int, rules: SweepRules) -> list[SettledRun]:
        work = partial(sweep, now=now, limit=limit, rules=rules, tables=self._endpoint_tables, ids=self._ids)
        return await self._pool.write(with_effects(work, lambda abandoned: abandoned))

    async def next_due(
        self, can_run: Collection[str] | None = None, *, without: Collection[str] = ()
    ) -> datetime | None:
        return await next_due(self._pool, can_run, without)

    async def database_time(self) -> datetime:
        ((now,),) = await self._pool.ask("SELECT clock_timestamp()")
        assert isinstance(now, datetime)
        return now

    def listen(self) -> EventWakeup:
        return self._listener.listen()


class PostgresRuns(SqlRuns):
    """Runs and hints of the past."""

    def __init__(self, pool: PostgresPool) -> None:
        super().__init__(pool)
        self._pool = pool

    async def delete_old_runs(self, retention: Retention, now: datetime) -> int:
        if not self._pool.profile.partitions:
            return await delete_runs(self._pool, now=now, **retention._asdict())
        await ensure_partitions(self._pool, now)
        return await drop_runs(self._pool, now=now, **retention._asdict())
