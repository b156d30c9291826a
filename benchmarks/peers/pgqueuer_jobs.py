"""pgqueuer: jobs that put themselves into the queue again, so that the next run of each is stored."""

import asyncio
import logging
import sys

import asyncpg
from benchmarks.counting import COUNTER
from pgqueuer import Job, PgQueuer
from pgqueuer.queries import Queries

BATCH = 500
CONNECTIONS = 10


async def main(url: str, jobs: int) -> None:
    """Run jobs until the input ends."""
    logging.disable(logging.CRITICAL)
    pool = await asyncpg.create_pool(url, min_size=CONNECTIONS, max_size=CONNECTIONS)
    queries = Queries.from_asyncpg_pool(pool)
    if not await queries.schema_is_installed():
        await queries.install()
    worker = PgQueuer.from_asyncpg_pool(pool)

    @worker.entrypoint("count")
    async def count(_: Job) -> None:
        COUNTER.add()
        await queries.enqueue("count", None)

    await queries.enqueue(["count"] * jobs, [None] * jobs, [0] * jobs)
    running = asyncio.create_task(worker.run(batch_size=BATCH))
    await asyncio.to_thread(COUNTER.answer_all)
    running.cancel()
    await asyncio.wait([running])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
