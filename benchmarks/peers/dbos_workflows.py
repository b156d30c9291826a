"""DBOS: workflows in a queue that put themselves into it again, so that the next run of each is stored."""

import sys

from benchmarks.counting import COUNTER
from dbos import DBOS, DBOSConfig

CONCURRENCY = 50
QUEUE = "count"
POLL_S = 0.01


@DBOS.workflow()
def count() -> None:
    """Count, and come again."""
    COUNTER.add()
    DBOS.enqueue_workflow(QUEUE, count)


def main(url: str, workflows: int) -> None:
    """Run workflows until the input ends."""
    config: DBOSConfig = {
        "name": "count",
        "system_database_url": url,
        "log_level": "CRITICAL",
        "application_version": "1",
    }
    DBOS(config=config)
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=CONCURRENCY, polling_interval_sec=POLL_S)
    for _ in range(workflows):
        DBOS.enqueue_workflow(QUEUE, count)
    COUNTER.answer_all()
    DBOS.destroy()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
