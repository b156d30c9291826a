"""The demo's world answers, whatever becomes of its log."""

import logging
import os

import aiohttp
import pytest

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.adapters.telemetry.log import StructuredLog
from cadenza.roots.demo import FlashSale
from cadenza.testing import FakeIds, FakeLog


async def test_a_log_that_nobody_reads_does_not_stop_the_world() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w")
    log = StructuredLog(level=logging.DEBUG, stream=stream)
    sale = FlashSale(store=MemoryStore(FakeIds()), clock=SystemClock(), log=log)
    async with sale.open(0) as address, aiohttp.ClientSession() as session:
        for name in sale._table:
            async with session.get(f"http://{address}/{name}") as response:
                assert response.status == 200
                assert await response.json()
    with pytest.raises(BrokenPipeError):
        stream.close()


async def test_without_its_world_nothing_of_the_sale_is_due() -> None:
    store = MemoryStore(FakeIds())

    async def due() -> bool:
        return await store.endpoints.next_due() is not None

    for _ in range(2):
        async with FlashSale(store=store, clock=SystemClock(), log=FakeLog()).open(0):
            assert await due()
        assert not await due()
