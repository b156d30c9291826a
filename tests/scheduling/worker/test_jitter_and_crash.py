"""What waits out its jitter has not run, also when its worker dies."""

import asyncio

from tests.scheduling.worker.running_worker import Worker, by_hand

from cadenza.domain.scheduling.baseline import Cron
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import RunStatus


async def test_what_was_abandoned_while_its_jitter_lasted_was_never_dispatched() -> None:
    corridor = by_hand(lease_ms=10_000)
    await corridor.add(baseline=Cron("0 0 * * *"), next_source=Source.BASELINE_CRON)
    async with Worker(corridor, jitter_ms=3_000) as worker:
        worker.task.cancel()
        await asyncio.wait({worker.task})
    assert corridor.dispatcher.executed == []
    corridor.clock.jump(10_000)
    await corridor.sweeper.sweep()
    run, after = await corridor.only_run(), await corridor.endpoint()
    assert (run.status, run.started_at, after.last_run_at) == (RunStatus.ABANDONED, None, None)
