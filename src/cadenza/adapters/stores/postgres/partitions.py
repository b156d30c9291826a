"""Partitions of runs, one for each day: created ahead, and dropped whole when they are old."""

from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import NamedTuple

from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool

DAYS_AHEAD = 7
BATCH = 5_000
PARTITIONS_LOCK = 7_236_836_943
# A statement that waits for a table blocks all that come after it: rather try again another time.
LOCK_TIMEOUT = "SET LOCAL lock_timeout = '3s'"

PARTITIONS = """
    SELECT c.relname, greatest(c.reltuples, -1)::bigint
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'runs'::regclass AND c.relname <> 'runs_default' ORDER BY c.relname
"""
# A query of the catalog's table: to_regclass answers from a cache that does not know what others just made.
HAS_PARTITION = """
    SELECT EXISTS (
        SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'runs'::regclass AND c.relname = $1)
"""
DELETE_OLD = (
    "DELETE FROM {0} WHERE (tenant_id, endpoint_id, id) IN"
    " (SELECT tenant_id, endpoint_id, id FROM {0} WHERE finished_at < $1 LIMIT $2)"
)
DELETE_OLDEST = (
    "DELETE FROM {0} WHERE (tenant_id, endpoint_id, id) IN"
    " (SELECT tenant_id, endpoint_id, id FROM {0} ORDER BY finished_at LIMIT $1)"
)
COUNT = "SELECT count(*) FROM {0}"


class Partition(NamedTuple):
    """A day's runs, and their number as the database last estimated it; -1 if it never did."""

    name: str
    estimate: int

    @property
    def ends(self) -> datetime:
        """The first moment after it."""
        day = datetime.strptime(self.name.removeprefix("runs_"), "%Y%m%d").replace(tzinfo=UTC)
        return day + timedelta(days=1)


DEFAULT = Partition("runs_default", -1)
WHOLE = Partition("runs", -1)
"""All runs, where they are not partitioned."""


async def ensure_partitions(pool: PostgresPool, now: datetime) -> list[str]:
    """Create the partitions of today and the days ahead; the names of those that were missing.

    Without them nothing fails: runs then go to the default partition, and are
    moved from there when the partition of their day is created.
    """
    return [_name(day) for day in days_ahead(now) if await pool.write(partial(make_partition, day=day))]


def days_ahead(now: datetime) -> list[date]:
    """The days that should have a partition."""
    today = now.astimezone(UTC).date()
    return [today + timedelta(days=ahead) for ahead in range(DAYS_AHEAD + 1)]


async def drop_runs(
    pool: PostgresPool, *, now: datetime, max_age: timedelta | None = None, max_count: int | None = None
) -> int:
    """Drop runs that are older than `max_age`, and the oldest beyond `max_count`; about how many it were.

    Whole days are dropped: at least what is asked for remains, and up to a day more.
    """
    deleted = 0
    if max_age is not None:
        oldest = now - max_age
        deleted += await pool.write(partial(_drop_older, oldest=oldest))
        deleted += await _delete_older(pool, DEFAULT, oldest)
    if max_count is not None:
        deleted += await pool.write(partial(_drop_surplus, max_count=max_count))
        deleted += await _trim(pool, DEFAULT, max_count)
    return deleted


async def delete_runs(
    pool: PostgresPool, *, now: datetime, max_age: timedelta | None = None, max_count: int | None = None
) -> int:
    """Delete runs that are older than `max_age`, and the oldest beyond `max_count`, row by row; how many.

    It is for a table that is not partitioned. Each batch is a commit of its own.
    """
    deleted = 0 if max_age is None else await _delete_older(pool, WHOLE, now - max_age)
    return deleted + (0 if max_count is None else await _trim(pool, WHOLE, max_count))


def _name(day: date) -> str:
    return f"runs_{day:%Y%m%d}"


async def make_partition(connection: Connection, day: date) -> bool:
    """Create a day's partition, unless it exists, and move the runs of that day into it."""
    name, start, end = _name(day), f"{day}T00:00:00Z", f"{day + timedelta(days=1)}T00:00:00Z"
    if await connection.fetchval(HAS_PARTITION, name):
        return False
    await connection.execute(f"SELECT pg_advisory_xact_lock({PARTITIONS_LOCK})")
    if await connection.fetchval(HAS_PARTITION, name):
        return False
    # To attach takes this lock; to take a weaker one before could end in a deadlock.
    await connection.execute(
        f"""{LOCK_TIMEOUT};
        LOCK TABLE runs_default IN ACCESS EXCLUSIVE MODE;
        CREATE TABLE {name} (LIKE runs INCLUDING DEFAULTS);
        WITH moved AS (
            DELETE FROM runs_default WHERE finished_at >= '{start}' AND finished_at < '{end}' RETURNING *
        ) INSERT INTO {name} SELECT * FROM moved;
        ALTER TABLE runs ATTACH PARTITION {name} FOR VALUES FROM ('{start}') TO ('{end}')"""
    )
    return True


async def _partitions(connection: Connection) -> list[Partition]:
    """All but the default, oldest first."""
    await connection.execute(f"SELECT pg_advisory_xact_lock({PARTITIONS_LOCK})")
    return [Partition(*row) for row in await connection.fetch(PARTITIONS)]


async def _drop_older(connection: Connection, oldest: datetime) -> int:
    return await _drop(connection, [one for one in await _partitions(connection) if one.ends <= oldest])


async def _drop_surplus(connection: Connection, max_count: int) -> int:
    """Drop the oldest partitions without which there are still enough runs."""
    newer = await _count(connection, DEFAULT)
    surplus = []
    for partition in reversed(await _partitions(connection)):
        if newer >= max_count:
            surplus.append(partition)
        else:
            newer += await _count(connection, partition)
    return await _drop(connection, surplus)


async def _drop(connection: Connection, partitions: list[Partition]) -> int:
    deleted = 0
    for partition in partitions:
        deleted += await _count(connection, partition)
        await connection.execute(f"{LOCK_TIMEOUT}; DROP TABLE {partition.name}")
    return deleted


async def _count(connection: Connection, partition: Partition) -> int:
    """The database's estimate, which is only ever too low; a partition without one is small."""
    if partition.estimate >= 0:
        return partition.estimate
    counted: int = await connection.fetchval(COUNT.format(partition.name))
    return counted


async def _delete_older(pool: PostgresPool, partition: Partition, oldest: datetime) -> int:
    delete = partial(_delete, statement=DELETE_OLD.format(partition.name), arguments=(oldest, BATCH))
    deleted = 0
    while rows := await pool.write(delete):
        deleted += rows
    return deleted


async def _trim(pool: PostgresPool, partition: Partition, max_count: int) -> int:
    """Delete the oldest rows beyond a number."""
    surplus = await pool.write(partial(_count, partition=partition)) - max_count
    statement, deleted = DELETE_OLDEST.format(partition.name), 0
    while deleted < surplus:
        batch = min(BATCH, surplus - deleted)
        deleted += await pool.write(partial(_delete, statement=statement, arguments=(batch,)))
    return deleted


async def _delete(connection: Connection, statement: str, arguments: tuple[object, ...]) -> int:
    return int((await connection.execute(statement, *arguments)).split()[-1])
