"""procrastinate: jobs that defer themselves again, so that the next run of each is stored."""

import asyncio
import logging
import sys

from benchmarks.counting import COUNTER
from procrastinate import App, PsycopgConnector

CONCURRENCY = 10


async def main(url: str, jobs: int) -> None:
    """Run jobs until the input ends."""
    logging.disable(logging.CRITICAL)
    app = App(connector=PsycopgConnector(conninfo=url, min_size=CONCURRENCY, max_size=CONCURRENCY + 2))

    @app.task(name="count")
    async def count() -> None:
        COUNTER.add()
        await count.defer_async()

    async with app.open_async():
        if not await app.check_connection_async():
            await app.schema_manager.apply_schema_async()
        await count.batch_defer_async(*({} for _ in range(jobs)))
        worker = app.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=False)
        running = asyncio.create_task(worker)
        await asyncio.to_thread(COUNTER.answer_all)
        running.cancel()
        await asyncio.wait([running])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
