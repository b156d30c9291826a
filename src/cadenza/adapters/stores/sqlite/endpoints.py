"""Endpoints, their claims and their runs in a SQLite file."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from cadenza.adapters.stores.common import not_found, users_with_turns
from cadenza.adapters.stores.sql.rows import VERSION, from_micros, holds_lease, read_endpoint, to_micros
from cadenza.adapters.stores.sql.scheduling.endpoint_store import SqlEndpoints
from cadenza.adapters.stores.sql.scheduling.endpoints import EndpointTables
from cadenza.adapters.stores.sql.scheduling.settling import CompletedBatch
from cadenza.adapters.stores.sqlite import cycle_statements as sql
from cadenza.adapters.stores.sqlite.claim import LeaseTerms, SettledEndpoints, claim_rows, next_due
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.dialect import SqliteDatabase
from cadenza.adapters.stores.sqlite.settle import (
    ChangedSinceClaim,
    settle_fresh,
    settled_as_claimed,
    with_effects,
    write_as_claimed,
)
from cadenza.adapters.stores.sqlite.snapshot import Rows
from cadenza.adapters.stores.sqlite.sweep import sweep
from cadenza.adapters.stores.wakeup import EventWakeup, UserWakeups, Wakeups
from cadenza.domain.access.places import NO_BOUNDS, ClaimShares
from cadenza.domain.scheduling.due import Cancel, Recheck
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Claim, Completion
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.ports.ids import Ids
from cadenza.ports.scheduling import Now, RecheckClaim, Settle, SweepRules


class SqliteEndpoints(SqlEndpoints):
    """Endpoints, their claims and the commits that open and close their runs."""

    def __init__(
        self,
        database: SqliteDatabase,
        tables: EndpointTables,
        *,
        file: SqliteFile,
        ids: Ids,
        wakeups: Wakeups,
        user_wakeups: UserWakeups,
    ) -> None:
        super().__init__(database, tables)
        self._file = file
        self._ids = ids
        self._wakeups = wakeups
        self._user_wakeups = user_wakeups
        self._settled_endpoints = SettledEndpoints()

    async def get(self, key: EndpointKey) -> Endpoint:
        """Read by its key, as nearly every command does: at once, in the thread of the caller."""
        found = await self._file.read_by_key(sql.GET_ALONE, key, _endpoints)
        if not found:
            raise not_found("endpoint", key.id)
        return found[0]

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
        def work(connection: sqlite3.Connection) -> list[Claim]:
            return claim_rows(
                connection,
                LeaseTerms(now, lease_until, holder),
                horizon=now + within,
                limits=ClaimShares(limit, bounds),
                can_run=can_run,
                settled=self._settled_endpoints,
                ids=self._ids,
            )

        return await self._file.write(work)

    async def start(self, claims: Sequence[Claim], decide: RecheckClaim) -> list[Recheck | None]:
        return await self._file.write(
            lambda connection: [_recheck(connection, held, decide) for held in claims]
        )

    async def renew(self, claims: Sequence[Claim], lease_until: datetime) -> set[str]:
        tokens = {(held.token,) for held in claims}

        def work(connection: sqlite3.Connection) -> set[str]:
            connection.executemany(sql.RENEW, [(to_micros(lease_until), *token) for token in tokens])
            held = {row[0] for token in tokens for row in connection.execute(sql.RUNS_OF_LEASE, token)}
            return held & {claim.run_id for claim in claims}

        return await self._file.write(work)

    async def finalize(self, completions: Sequence[Completion], settle: Settle) -> list[SettledRun | None]:
        batch = CompletedBatch(completions, settle, self._ids)
        held = settled_as_claimed(batch)
        settled: list[SettledRun | None] = [one.settled for one in held]
        with suppress(ChangedSinceClaim):
            as_claimed = partial(write_as_claimed, held=held, ids=self._ids)
            await self._file.write(with_effects(as_claimed, lambda _: settled))
            self._settled_endpoints.add(held)
            self._user_wakeups.notify(users_with_turns(settled))
            return settled
        fresh = partial(settle_fresh, batch=batch, held=held)
        answers = await self._file.write(with_effects(fresh, lambda answers: answers))
        self._user_wakeups.notify(users_with_turns(answers))
        self._settled_endpoints.add(
            [one for one, answer in zip(held, answers, strict=True) if answer is one.settled]
        )
        return answers

    async def sweep(self, *, now: Now, limit: int, rules: SweepRules) -> list[SettledRun]:
        work = partial(sweep, now=now, limit=limit, rules=rules, ids=self._ids)
        abandoned = await self._file.write(with_effects(work, lambda abandoned: abandoned))
        if abandoned:
            self._wakeups.notify(one.run.tenant_id for one in abandoned)
            self._user_wakeups.notify(users_with_turns(abandoned))
        return abandoned

    async def next_due(
        self, can_run: Collection[str] | None = None, *, without: Collection[str] = ()
    ) -> datetime | None:
        return await self._file.read(partial(next_due, can_run=can_run, without=without))

    async def database_time(self) -> None:
        return None

    def listen(self) -> EventWakeup:
        return self._wakeups.listen()


def _endpoints(rows: Rows) -> list[Endpoint]:
    return [read_endpoint(row, from_micros) for row in rows]


def _recheck(connection: sqlite3.Connection, held: Claim, decide: RecheckClaim) -> Recheck | None:
    row = connection.execute(sql.GET, held.key).fetchone()
    if row is None or not holds_lease(row, held):
        return None
    answer = decide(read_endpoint(row, from_micros), held)
    if isinstance(answer, Cancel):
        return answer
    claim = answer.claim._replace(version=row[VERSION])
    moments = (to_micros(claim.slot), to_micros(claim.due_at))
    connection.execute(sql.START, (*moments, claim.source.value, to_micros(claim.started_at), *claim.key))
    return answer._replace(claim=claim)
