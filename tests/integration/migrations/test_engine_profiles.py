"""Tables made for engines that lack something."""

import asyncio

from tests.postgres import Databases, databases, newest_databases

from cadenza.adapters.stores.postgres.engines.profile import DISTRIBUTED
from cadenza.adapters.stores.postgres.engines.reduced_connection import make_migration_lock
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sql.migrations import HEAD

__all__ = ["databases", "newest_databases"]

KINDS = "SELECT relname, relkind::text FROM pg_class WHERE relname ~ '^runs' AND relkind IN ('r', 'p')"
BY_AGE = "SELECT indexname FROM pg_indexes WHERE tablename = 'runs' AND indexname = 'runs_by_age'"


async def test_without_locks_and_partitions_several_processes_make_the_tables_once(
    newest_databases: Databases,
) -> None:
    url = await asyncio.to_thread(newest_databases.empty)
    made = await asyncio.gather(*(migrate(url, DISTRIBUTED) for _ in range(4)))
    assert [one.after for one in made] == [HEAD] * 4
    pool = PostgresPool(url, size=1)
    assert [tuple(row) for row in await pool.ask(KINDS)] == [("runs", "r")]
    assert len(await pool.ask(BY_AGE)) == 1
    await pool.close()
    await asyncio.to_thread(newest_databases.drop, url)


async def test_of_processes_that_make_the_lock_at_once_none_is_refused(newest_databases: Databases) -> None:
    url = await asyncio.to_thread(newest_databases.empty)
    pools = [PostgresPool(url, size=1) for _ in range(8)]
    for _ in range(40):
        await asyncio.gather(*map(make_migration_lock, pools))
        await pools[0].ask("DROP TABLE migration_lock")
    await asyncio.gather(*(pool.close() for pool in pools))
    await asyncio.to_thread(newest_databases.drop, url)
