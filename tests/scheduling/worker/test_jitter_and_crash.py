"""What waits out its jitter has not run, also when its worker dies."""

import asyncio

from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock

from cadenza.domain.scheduling.baseline import Cron
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import RunStatus


async def test_what_was_abandoned_while_its_jitter_lasted_was_never_dispatched() -> None:
    fixture = on_manual_clock(lease_ms=10_000)
    await fixture.add(baseline=Cron("0 0 * * *"), next_source=Source.BASELINE_CRON)
    async with RunningWorker(fixture, jitter_ms=3_000) as worker:
        worker.task.cancel()
        await asyncio.wait({worker.task})
    assert fixture.dispatcher.executed == []
    fixture.clock.jump(10_000)
    await fixture.sweeper.sweep()
    run, after = await fixture.only_run(), await fixture.endpoint()
    assert (run.status, run.started_at, after.last_run_at) == (RunStatus.ABANDONED, None, None)
