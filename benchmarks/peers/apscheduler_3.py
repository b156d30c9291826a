"""APScheduler 3 on PostgreSQL: jobs at an interval so short that each is always due; it records no runs."""

import logging
import sys

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger
from benchmarks.counting import COUNTER

THREADS = 10
INTERVAL_S = 0.05
DEFAULTS = {"coalesce": True, "misfire_grace_time": None}


def main(url: str, jobs: int) -> None:
    """Run jobs until the input ends."""
    logging.disable(logging.CRITICAL)
    store = SQLAlchemyJobStore(url.replace("postgresql:", "postgresql+psycopg:"))
    executors = {"default": ThreadPoolExecutor(THREADS)}
    scheduler = BackgroundScheduler(
        jobstores={"default": store}, executors=executors, job_defaults=DEFAULTS, timezone="UTC"
    )
    scheduler.start(paused=True)
    for number in range(jobs):
        trigger = IntervalTrigger(seconds=INTERVAL_S)
        scheduler.add_job("benchmarks.counting:count", trigger, id=f"job-{number}")
    scheduler.resume()
    COUNTER.answer_all()
    scheduler.shutdown(wait=False)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
