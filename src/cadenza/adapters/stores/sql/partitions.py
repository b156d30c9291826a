"""The runs on PostgreSQL, a day to a partition: made ahead, and dropped whole when they are old."""

from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # The driver is an extra; who uses SQLite does not need it.
    from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool

DAYS_AHEAD = 7
BATCH = 5_000
ONE_AT_A_TIME = 7_236_836_943
# Whoever waits for a table stops all who come after: rather try again another time.
IMPATIENT = "SET LOCAL lock_timeout = '3s'"

PARTITIONS = """
    SELECT c.relname, greatest(c.reltuples, -1)::bigint
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'runs'::regclass AND c.relname <> 'runs_default' ORDER BY c.relname
"""
DELETE_OLD = (
    "DELETE FROM runs_default WHERE ctid = ANY (ARRAY"
    " (SELECT ctid FROM runs_default WHERE finished_at < $1 LIMIT $2))"
)
DELETE_OLDEST = (
    "DELETE FROM runs_default WHERE ctid = ANY (ARRAY"
    " (SELECT ctid FROM runs_default ORDER BY finished_at LIMIT $1))"
)


class Partition(NamedTuple):
    """A day's runs, and how many they are by the last count of the database; -1 if it never counted."""

    name: str
    counted: int

    @property
    def ends(self) -> datetime:
        """The first moment after it."""
        day = datetime.strptime(self.name.removeprefix("runs_"), "%Y%m%d").replace(tzinfo=UTC)
        return day + timedelta(days=1)


DEFAULT = Partition("runs_default", -1)


async def ensure_partitions(pool: "PostgresPool", now: datetime) -> list[str]:
    """Make the partitions of today and the days ahead; the names of those that were missing.

    Without them nothing fails: runs then go to the default partition, and are
    moved from there when the partition of their day is made.
    """
    today = now.astimezone(UTC).date()
    days = [today + timedelta(days=ahead) for ahead in range(DAYS_AHEAD + 1)]
    return [_name(day) for day in days if await pool.write(partial(_ensure, day=day))]


async def drop_runs(
    pool: "PostgresPool", *, now: datetime, max_age: timedelta | None, max_count: int | None
) -> int:
    """Drop the partitions that nobody wants any more; how many runs went, by the counts of the database."""
    gone = 0
    if max_age is not None:
        oldest = now - max_age
        gone += await pool.write(partial(_drop_older, oldest=oldest))
        delete = partial(_delete, statement=DELETE_OLD, arguments=(oldest, BATCH))
        while deleted := await pool.write(delete):
            gone += deleted
    if max_count is not None:
        gone += await pool.write(partial(_drop_surplus, max_count=max_count))
        gone += await _trim_default(pool, max_count)
    return gone


def _name(day: date) -> str:
    return f"runs_{day:%Y%m%d}"


async def _ensure(connection: "Connection", day: date) -> bool:
    """Make a day's partition, unless it is there; what already ran that day moves into it."""
    name, start, end = _name(day), f"{day}T00:00:00Z", f"{day + timedelta(days=1)}T00:00:00Z"
    if await connection.fetchval("SELECT to_regclass($1)", name) is not None:
        return False
    await connection.execute(f"SELECT pg_advisory_xact_lock({ONE_AT_A_TIME})")
    if await connection.fetchval("SELECT to_regclass($1)", name) is not None:
        return False
    await connection.execute(
        f"""{IMPATIENT};
        LOCK TABLE runs_default IN EXCLUSIVE MODE;
        CREATE TABLE {name} (LIKE runs INCLUDING DEFAULTS);
        WITH moved AS (
            DELETE FROM runs_default WHERE finished_at >= '{start}' AND finished_at < '{end}' RETURNING *
        ) INSERT INTO {name} SELECT * FROM moved;
        ALTER TABLE runs ATTACH PARTITION {name} FOR VALUES FROM ('{start}') TO ('{end}')"""
    )
    return True


async def _partitions(connection: "Connection") -> list[Partition]:
    """All but the default, oldest first."""
    await connection.execute(f"SELECT pg_advisory_xact_lock({ONE_AT_A_TIME})")
    return [Partition(*row) for row in await connection.fetch(PARTITIONS)]


async def _drop_older(connection: "Connection", oldest: datetime) -> int:
    return await _drop(connection, [one for one in await _partitions(connection) if one.ends <= oldest])


async def _drop_surplus(connection: "Connection", max_count: int) -> int:
    """Drop the oldest partitions without which there are still enough runs."""
    newer = await _count(connection, DEFAULT)
    surplus = []
    for partition in reversed(await _partitions(connection)):
        if newer >= max_count:
            surplus.append(partition)
        else:
            newer += await _count(connection, partition)
    return await _drop(connection, surplus)


async def _drop(connection: "Connection", partitions: list[Partition]) -> int:
    gone = 0
    for partition in partitions:
        gone += await _count(connection, partition)
        await connection.execute(f"{IMPATIENT}; DROP TABLE {partition.name}")
    return gone


async def _count(connection: "Connection", partition: Partition) -> int:
    """By the database's last count, which is only ever too low; what it never counted is small."""
    if partition.counted >= 0:
        return partition.counted
    counted: int = await connection.fetchval(f"SELECT count(*) FROM {partition.name}")
    return counted


async def _trim_default(pool: "PostgresPool", max_count: int) -> int:
    surplus = await pool.write(partial(_count, partition=DEFAULT)) - max_count
    gone = 0
    while gone < surplus:
        batch = min(BATCH, surplus - gone)
        gone += await pool.write(partial(_delete, statement=DELETE_OLDEST, arguments=(batch,)))
    return gone


async def _delete(connection: "Connection", statement: str, arguments: tuple[object, ...]) -> int:
    return int((await connection.execute(statement, *arguments)).split()[-1])
