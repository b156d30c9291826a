"""Analyses are kept as long as runs are."""

import asyncio
from datetime import timedelta

import pytest

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.engine.retention import RetentionLoop
from cadenza.ports.scheduling import Retention
from cadenza.testing import FakeClock, FakeIds, FakeLog
from cadenza.testing.contracts.planning.analyses import an_analysis, record

DAY = timedelta(days=1)


@pytest.mark.parametrize(("max_age", "kept"), [(DAY, ["young"]), (None, ["young", "old"])])
async def test_analyses_are_forgotten_with_runs_of_their_age(
    max_age: timedelta | None, kept: list[str]
) -> None:
    store, clock = MemoryStore(FakeIds()), FakeClock(manual=True)
    now = clock.now()
    await record(
        store, [an_analysis("young", began_at=now - DAY / 2), an_analysis("old", began_at=now - DAY * 2)]
    )
    upkeep = RetentionLoop(store=store, clock=clock, log=FakeLog(), retention=Retention(max_age))
    task = asyncio.create_task(upkeep.run())
    await clock.advance(1)
    task.cancel()
    assert [one.id for one in await store.analyses.analyses(EndpointKey("default", "endpoint"))] == kept
