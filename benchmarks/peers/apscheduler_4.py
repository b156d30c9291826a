"""APScheduler 4 on PostgreSQL: schedules at an interval so short that each is always due."""

import asyncio
import logging
import sys

from apscheduler import AsyncScheduler, CoalescePolicy
from apscheduler.datastores.sqlalchemy import SQLAlchemyDataStore
from apscheduler.eventbrokers.asyncpg import AsyncpgEventBroker
from apscheduler.triggers.interval import IntervalTrigger
from benchmarks.counting import COUNTER, count_async
from sqlalchemy.ext.asyncio import create_async_engine

INTERVAL_US = 50_000


async def main(url: str, schedules: int) -> None:
    """Run schedules until the input ends."""
    logging.disable(logging.CRITICAL)
    engine = create_async_engine(url.replace("postgresql:", "postgresql+asyncpg:"))
    store, broker = SQLAlchemyDataStore(engine), AsyncpgEventBroker.from_async_sqla_engine(engine)
    async with AsyncScheduler(store, broker) as scheduler:
        for number in range(schedules):
            trigger = IntervalTrigger(microseconds=INTERVAL_US)
            await scheduler.add_schedule(
                count_async, trigger, id=f"schedule-{number}", coalesce=CoalescePolicy.latest
            )
        await scheduler.start_in_background()
        await asyncio.to_thread(COUNTER.answer_all)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
