"""One tenant in a PostgreSQL database, as one end of a move while others work beside it."""

from collections.abc import Sequence
from typing import Any

from cadenza.adapters.stores.moves import tenant_fences as fences
from cadenza.adapters.stores.moves.postgres_end import SENT, PostgresEnd
from cadenza.adapters.stores.moves.tables import OF_ITS_SERVER, quoted_names
from cadenza.adapters.stores.moves.tenant_tables import of_tenant, tenant_tables
from cadenza.adapters.stores.moves.travelling_secrets import TravellingSecrets
from cadenza.adapters.stores.postgres.errors import translated_errors
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.database import DUE, KEYS, NOTIFY
from cadenza.domain.access.move import Move, Row, StoredTable
from cadenza.domain.errors import Conflict, Unavailable

LOCK = "SELECT pg_try_advisory_lock(hashtextextended('move' || E'\\n' || $1, 0))"
WATERMARK = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
BEFORE, SINCE = "coalesce(txid, 0) < {}", "txid >= {}"
"""Every transaction before the watermark has ended, so nothing is added before it any more."""
BATCH = 5_000
HOLD_STATES = f"""
UPDATE endpoint_states SET tidy_at = NULL WHERE (tenant_id, endpoint_id) IN (
    SELECT tenant_id, endpoint_id FROM endpoint_states
    WHERE tenant_id = $1 AND (requirement NOT LIKE '{fences.HELD}%' OR tidy_at IS NOT NULL)
    ORDER BY endpoint_id LIMIT {BATCH})
RETURNING 1
"""
HOLD_DAILY = f"""
UPDATE daily_users SET shard = shard WHERE (tenant_id, programme_id, user_id) IN (
    SELECT tenant_id, programme_id, user_id FROM daily_users WHERE tenant_id = $1 AND shard >= 0
    ORDER BY programme_id, user_id LIMIT {BATCH})
RETURNING 1
"""
"""The triggers hold each row that is written, so each is written once."""
FREE_STATES = f"""
UPDATE endpoint_states SET requirement = substr(requirement, {len(fences.HELD) + 1}),
    tidy_at = CASE WHEN lease_token IS NULL THEN one_shot_expires_at END,
    version = greatest(version + 1, (pg_current_xact_id()::text)::bigint)
WHERE tenant_id = $1 AND requirement LIKE '{fences.HELD}%'
"""
"""The sweeper looks at hints when they expire, whether or not there is something to do then. The version is
one that no worker here can remember from before."""
FREE_DAILY = "UPDATE daily_users SET shard = -1 - shard WHERE tenant_id = $1 AND shard < 0"
MOMENTS = {
    "looks": "at",
    "alerts": "due_at",
    "alert_conditions": "decide_at",
    "alert_messages": "due_at",
    "user_channels": "due_at",
}
HOLD_MOMENT = 'UPDATE {table} SET "{column}" = "{column}" WHERE {own} AND "{column}" < {near} RETURNING 1'
FREE_MOMENT = 'UPDATE {table} SET "{column}" = "{column}" - {far} WHERE {own} AND "{column}" >= {near}'
IN_FLIGHT = "SELECT count(*) FROM endpoint_states WHERE tenant_id = $1 AND lease_token IS NOT NULL"
END_SESSIONS = "DELETE FROM sessions WHERE tenant_id = $1"
FORGET_DEPARTURE = "DELETE FROM moves WHERE tenant_id = $1 AND side = 'source'"
REMOVE = """
DELETE FROM "{table}" WHERE {own}
AND (tableoid, ctid) IN (SELECT tableoid, ctid FROM "{table}" WHERE {own} LIMIT $1)
"""
LOCK_TIMEOUT = "SET LOCAL lock_timeout = '5s'"
ATTEMPTS = 5


class TenantEnd(PostgresEnd):
    """Reads and writes the rows of one tenant alone."""

    def __init__(self, pool: PostgresPool, secrets: TravellingSecrets, tenant_id: str) -> None:
        super().__init__(pool, secrets)
        self._tenant = tenant_id
        self._part = ""

    async def check_alone(self) -> None:
        """Conflict if this tenant is being moved by another process. Workers and servers may work."""
        if not (await self._rows(LOCK, self._tenant))[0][0]:
            raise Conflict(f"Another process is moving {self._tenant} in {self.name}.")

    async def tables(self) -> list[StoredTable]:
        return tenant_tables(await super().tables(), self._numbered)

    async def watermark(self) -> int:
        """A number of transactions: what was added before it can be copied while others work."""
        return int((await self._rows(WATERMARK))[0][0])

    def take_part(self, *, before: int | None = None, since: int | None = None) -> None:
        """Read only a part of the tables that carry transactions; without a number, all of it."""
        self._part = "" if before is None else BEFORE.format(before)
        self._part = self._part if since is None else SINCE.format(since)

    def condition(self, table: StoredTable) -> str:
        own = of_tenant(table.name, self._tenant)
        return f"{own} AND {self._part}" if self._part and table.name in OF_ITS_SERVER else own

    async def find(self, table: StoredTable, keys: Sequence[Row]) -> list[Row]:
        """The rows with these keys, by their key."""
        key = quoted_names(table.key)
        sent = [SENT[self._kinds[table.name, column]] for column in table.key]
        lists = ", ".join(f"${place}::{kind}[]" for place, (kind, _) in enumerate(sent, 1))
        values = [value.format(f'g."{column}"') for column, (_, value) in zip(table.key, sent, strict=True)]
        statement = (
            f'SELECT {", ".join(self._read(table))} FROM "{table.name}" WHERE {self.condition(table)}'
            f" AND ({key}) IN (SELECT {', '.join(values)} FROM unnest({lists}) AS g ({key})) ORDER BY {key}"
        )
        found = await self._rows(statement, *(list(column) for column in zip(*keys, strict=True)))
        return self._secrets.opened(table, found)

    async def hold(self) -> None:
        """Let nothing of the tenant be claimed or attempted any more; what is in flight goes on."""
        await self._one_by_one([*fences.FUNCTIONS, *fences.hold(self._tenant)])
        for statement in (HOLD_STATES, HOLD_DAILY):
            while await self._rows_again(statement, self._tenant):
                pass
        for statement in self._of_moments(HOLD_MOMENT):
            await self._rows_again(statement)

    async def release(self) -> None:
        """Let the tenant work here."""
        await self._one_by_one(fences.release(self._tenant))
        for statement in (FREE_STATES, FREE_DAILY):
            await self._rows_again(statement, self._tenant)
        for statement in self._of_moments(FREE_MOMENT):
            await self._rows_again(statement)
        await self._rows(NOTIFY, f"{DUE}{self._tenant}")

    async def in_flight(self) -> int:
        """How many of the tenant's endpoints a worker holds."""
        return int((await self._rows(IN_FLIGHT, self._tenant))[0][0])

    async def fence(self, move: Move) -> None:  # noqa: ARG002 - It is this tenant's.
        await self._one_by_one(fences.refuse(await self.tables(), self._tenant))

    async def unfence(self) -> None:
        await self._one_by_one(fences.allow(await self.tables(), self._tenant))

    async def activate(self) -> None:
        """Let the tenant that arrived work here, in the transaction of the caller."""
        for statement in (FREE_STATES, FREE_DAILY, FORGET_DEPARTURE):
            await self._rows(statement, self._tenant)
        for statement in self._of_moments(FREE_MOMENT):
            await self._rows(statement)
        await self._rows(NOTIFY, f"{DUE}{self._tenant}")

    async def leave(self) -> None:
        """Tell all processes that the tenant is elsewhere, and end its logins; its rows may be deleted."""
        await self._rows(END_SESSIONS, self._tenant)
        await self._rows(NOTIFY, KEYS)
        await self._one_by_one(fences.allow_deletion(await self.tables(), self._tenant))

    async def remove(self) -> int:
        deleted = await self._delete_rows([table for table in await self.tables() if not table.stays])
        await self.unfence()
        await self._one_by_one(fences.release(self._tenant))
        return deleted

    async def empty(self) -> None:
        await self._delete_rows(await self.tables())

    def _of_moments(self, statement: str) -> list[str]:
        """A statement for each table whose rows are held by a moment far off."""
        return [
            statement.format(
                table=table,
                column=column,
                own=of_tenant(table, self._tenant),
                near=fences.NEAR,
                far=fences.FAR,
            )
            for table, column in MOMENTS.items()
        ]

    async def _delete_rows(self, tables: Sequence[StoredTable]) -> int:
        """Delete in batches, what refers to others before them; how many rows there were."""
        deleted = 0
        for table in reversed(tables):
            own = of_tenant(table.name, self._tenant)
            while not table.derived and (
                rows := await self._delete(REMOVE.format(table=table.name, own=own))
            ):
                deleted += rows
        return deleted

    async def _delete(self, statement: str) -> int:
        session = await self._connected()
        with translated_errors(self._pool.address):
            return int((await session.execute(statement, BATCH)).split()[-1])

    async def _one_by_one(self, statements: Sequence[str]) -> None:
        """Each statement in a commit of its own, tried again where it would wait too long for a table."""
        for statement in statements:
            await self._again(f"{LOCK_TIMEOUT}; {statement}")

    async def _again(self, statement: str) -> None:
        for _ in range(ATTEMPTS - 1):
            try:
                async with self.transaction():
                    await self._all([statement])
            except Unavailable:
                continue
            return
        async with self.transaction():
            await self._all([statement])

    async def _rows_again(self, statement: str, *values: Any) -> list[Row]:
        """The rows of a statement, which is tried again after a deadlock with a worker."""
        for _ in range(ATTEMPTS - 1):
            try:
                return await self._rows(statement, *values)
            except Unavailable:
                continue
        return await self._rows(statement, *values)
