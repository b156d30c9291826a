"""The store on one SQLite file."""

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from cadenza.adapters.stores.common import spoken_to
from cadenza.adapters.stores.memory.wakeup import Belfry, Doorbells, MemoryBell
from cadenza.adapters.stores.sql.access import SqlKeys, SqlSessions
from cadenza.adapters.stores.sql.daily import SqlDaily
from cadenza.adapters.stores.sql.daily_statistics import SqlDailyStatistics
from cadenza.adapters.stores.sql.idempotency import SqlReplies
from cadenza.adapters.stores.sql.retention import retain
from cadenza.adapters.stores.sql.rows import VERSION, from_micros, read_endpoint, to_micros
from cadenza.adapters.stores.sql.slo_alerts import SqlSloAlerts
from cadenza.adapters.stores.sql.tenants import SqlTenants
from cadenza.adapters.stores.sqlite import endpoints as keeping
from cadenza.adapters.stores.sqlite import listing
from cadenza.adapters.stores.sqlite import statements as sql
from cadenza.adapters.stores.sqlite.analyses import SqliteAnalyses
from cadenza.adapters.stores.sqlite.catalog import SqliteCatalog
from cadenza.adapters.stores.sqlite.claim import Known, due_rows, lease_rows
from cadenza.adapters.stores.sqlite.conversations import SqliteConversations
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.dialect import SqliteDatabase
from cadenza.adapters.stores.sqlite.rules import SqliteRules
from cadenza.adapters.stores.sqlite.settle import (
    Batch,
    Steered,
    holds,
    settle_fresh,
    settled_as_claimed,
    write_unsteered,
)
from cadenza.adapters.stores.sqlite.statistics import SqliteFigures
from cadenza.adapters.stores.sqlite.sweep import sweep
from cadenza.adapters.stores.sqlite.turns import speaking
from cadenza.adapters.stores.sqlite.users_agents import SqlitePeople
from cadenza.domain.scheduling.due import Cancel, Recheck
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Claim, Completion, Run
from cadenza.domain.scheduling.settle import Settled
from cadenza.domain.scheduling.steer import Amended, EndpointChange, HintRecord
from cadenza.ports.catalog import ANY, FIRST_PAGE, Admission, Page
from cadenza.ports.ids import Ids
from cadenza.ports.store import Decide, Retention, Settle, Sweeping


class SqliteStore(
    SqliteCatalog,
    SqliteRules,
    SqliteAnalyses,
    SqlitePeople,
    SqliteConversations,
    SqlKeys,
    SqliteFigures,
    SqlDaily,
    SqlDailyStatistics,
    SqlSessions,
    SqlTenants,
    SqlReplies,
    SqlSloAlerts,
):
    """Each method is one transaction of the file's single writer, or a read beside it."""

    def __init__(self, file: SqliteFile, ids: Ids) -> None:
        self._file = file
        self._database = SqliteDatabase(file)
        self._ids = ids
        self._known = Known()
        self._belfry = Belfry()
        self._doorbells = Doorbells()

    async def close(self) -> None:
        """Close the file."""
        await self._file.close()

    async def add(self, endpoint: Endpoint, admission: Admission = ANY) -> None:
        await self._file.write(partial(keeping.add, endpoint=endpoint, admission=admission))
        self._belfry.ring()

    async def get(self, key: EndpointKey) -> Endpoint:
        return await self._file.look(partial(keeping.get, key=key))

    async def amend(self, key: EndpointKey, change: EndpointChange) -> Amended:
        work = partial(keeping.amend, key=key, change=change, ids=self._ids)
        amended, moved = await self._file.write(work)
        if moved:
            self._belfry.ring()
        return amended

    async def claim_due(
        self, *, now: datetime, within: timedelta, lease_until: datetime, limit: int
    ) -> list[Claim]:
        def work(connection: sqlite3.Connection) -> list[Claim]:
            rows = due_rows(connection, now + within, limit)
            return lease_rows(connection, rows, known=self._known, ids=self._ids, now=now, until=lease_until)

        return await self._file.write(work)

    async def start(self, claims: Sequence[Claim], decide: Decide) -> list[Recheck | None]:
        return await self._file.write(
            lambda connection: [_recheck(connection, held, decide) for held in claims]
        )

    async def renew(self, claims: Sequence[Claim], lease_until: datetime) -> set[str]:
        tokens = {(held.token,) for held in claims}

        def work(connection: sqlite3.Connection) -> set[str]:
            connection.executemany(sql.RENEW, [(to_micros(lease_until), *token) for token in tokens])
            held = {row[0] for token in tokens for row in connection.execute(sql.HELD, token)}
            return held & {claim.run_id for claim in claims}

        return await self._file.write(work)

    async def finalize(self, completions: Sequence[Completion], settle: Settle) -> list[Settled | None]:
        batch = Batch(completions, settle, self._ids)
        held = settled_as_claimed(batch)
        settled: list[Settled | None] = [one.settled for one in held]
        with suppress(Steered):
            as_claimed = partial(write_unsteered, held=held, ids=self._ids)
            await self._file.write(speaking(as_claimed, lambda _: settled))
            self._known.keep(held)
            self._doorbells.ring(spoken_to(settled))
            return settled
        fresh = partial(settle_fresh, batch=batch, held=held)
        answers = await self._file.write(speaking(fresh, lambda answers: answers))
        self._doorbells.ring(spoken_to(answers))
        self._known.keep([one for one, answer in zip(held, answers, strict=True) if answer is one.settled])
        return answers

    async def sweep(self, *, now: datetime, limit: int, sweeping: Sweeping) -> list[Settled]:
        work = partial(sweep, now=now, limit=limit, sweeping=sweeping, ids=self._ids)
        abandoned = await self._file.write(speaking(work, lambda abandoned: abandoned))
        if abandoned:
            self._belfry.ring()
            self._doorbells.ring(spoken_to(abandoned))
        return abandoned

    async def next_due(self) -> datetime | None:
        (first,) = await self._file.read(lambda connection: connection.execute(sql.NEXT_DUE).fetchone())
        return from_micros(first)

    def listen(self) -> MemoryBell:
        return self._belfry.listen()

    async def run(self, tenant_id: str, run_id: str) -> Run:
        return await self._file.read(partial(listing.run, tenant_id=tenant_id, run_id=run_id))

    async def runs(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[Run]:
        return await self._file.read(partial(listing.runs, key=key, page=page))

    async def hints(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[HintRecord]:
        return await self._file.read(partial(listing.hints, key=key, page=page))

    async def keep_history(self, retention: Retention, now: datetime) -> int:
        return await retain(self._file, now=now, **retention._asdict())


def _recheck(connection: sqlite3.Connection, held: Claim, decide: Decide) -> Recheck | None:
    row = connection.execute(sql.GET, held.key).fetchone()
    if row is None or not holds(row, held):
        return None
    answer = decide(read_endpoint(row, from_micros), held)
    if isinstance(answer, Cancel):
        return answer
    claim = answer.claim._replace(version=row[VERSION])
    moments = (to_micros(claim.slot), to_micros(claim.due_at))
    connection.execute(sql.START, (*moments, claim.source.value, to_micros(claim.started_at), *claim.key))
    return answer._replace(claim=claim)
