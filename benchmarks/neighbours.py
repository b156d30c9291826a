"""How late neighbours run while one tenant hangs in every place it may have; on SQLite and PostgreSQL.

The worker is set up as the product sets it up: 100 places, claims half a second ahead.
"""

import argparse
import asyncio
import json
import tempfile
from collections import Counter
from datetime import datetime
from pathlib import Path
from random import Random

from benchmarks.punctuality import a_store, summary
from benchmarks.servers import a_server, new_database
from benchmarks.workers import CAN_RUN, CLOCK, CRON, LOG

from cadenza import Endpoint, Every
from cadenza.adapters.clock import SystemStopwatch
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoQuota, NoTelemetry
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.validation import milliseconds
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.loop import WorkerLoop
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.engine.worker.worker_settings import WorkerSettings
from cadenza.ports.store import Store

HANGING = "hanging"
NEIGHBOURS, EACH = 20, 5
"""Tenants beside the one that hangs, and how many endpoints each runs every second."""
GOAL_MS = 100
DONE = Outcome(RunStatus.SUCCESS)


class HangingOrNot:
    """A dispatcher that never answers one tenant, and notes how late the others run."""

    def __init__(self) -> None:
        self.late_ms: list[float] = []
        self.dispatched = Counter[str]()

    async def execute(self, claim: Claim) -> Outcome:
        """Hang, or note how long after its moment it runs."""
        self.dispatched[claim.endpoint.tenant_id] += 1
        if claim.endpoint.tenant_id == HANGING:
            await asyncio.Event().wait()
        self.late_ms.append((CLOCK.now() - claim.due_at) / milliseconds(1))
        await asyncio.sleep(0.005)
        return DONE


def endpoint(number: int, tenant_id: str, first: datetime) -> Endpoint:
    """One that runs every second, and may take a day for it."""
    return Endpoint(
        id=f"{number}",
        name=f"{number}",
        tenant_id=tenant_id,
        baseline=Every(1_000),
        policy=Policy(timeout_ms=86_400_000),
        next_run_at=first,
    )


async def fill(store: Store, hanging: int) -> None:
    """Keep a backlog of one tenant, and what the others run every second."""
    chance, now = Random(1), CLOCK.now()
    for number in range(hanging):
        await store.endpoints.add(endpoint(number, HANGING, now))
    first = CLOCK.now() + milliseconds(1_000)
    for number in range(NEIGHBOURS * EACH):
        moment = first + milliseconds(1_000) * chance.random()
        await store.endpoints.add(endpoint(number, f"neighbour-{number % NEIGHBOURS}", moment))


async def measure(store: Store, hanging: int, seconds: float) -> dict[str, float]:
    """Let a worker run, and look at the neighbours."""
    await fill(store, hanging)
    dispatcher = HangingOrNot()
    loop = WorkerLoop(
        store=store.endpoints,
        executor=Executor(dispatcher=dispatcher, quota=NoQuota(), clock=CLOCK),
        sweeper=Sweeper(store=store.endpoints, clock=CLOCK, cron=CRON, log=LOG),
        clock=CLOCK,
        cron=CRON,
        telemetry=NoTelemetry(),
        log=LOG,
        settings=WorkerSettings(concurrency=100, claim_limit=500, claim_ahead_ms=500, grace_ms=0),
        can_run=lambda: CAN_RUN,
        stopwatch=SystemStopwatch(),
    )
    running = asyncio.create_task(loop.run())
    await asyncio.sleep(seconds)
    loop.stop()
    await running
    late = dispatcher.late_ms
    expected = round(NEIGHBOURS * EACH * (seconds - 1))
    places = {"places_that_hang": dispatcher.dispatched[HANGING], "runs_expected": expected}
    return {**places, **(summary(late) if len(late) > 1 else {"runs": len(late)})}


async def main(hanging: int, seconds: float) -> dict[str, dict[str, float]]:
    """The figures on both databases."""
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "neighbours.db"
        await migrate(f"sqlite:///{path}")
        store = SqliteStore(SqliteFile(path), TimeOrderedIds())
        results["sqlite"] = await measure(store, hanging, seconds)
        await store.close()
    with a_server() as cluster:
        async with a_store(await new_database(cluster, "neighbours")) as postgres:
            results["postgres"] = await measure(postgres, hanging, seconds)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--hanging", type=int, default=2_000, help="endpoints of the tenant that hangs")
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    figures = asyncio.run(main(options.hanging, options.seconds))
    print(json.dumps({**figures, "goal_p99_ms": GOAL_MS}, indent=None if options.json else 2))
