"""The demo's world answers, whatever becomes of its log."""

import os

import aiohttp
import pytest

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.log import StructuredLog
from cadenza.adapters.memory import MemoryStore
from cadenza.roots.demo import FlashSale
from cadenza.testing import FakeIds


async def test_a_log_that_nobody_reads_does_not_stop_the_world() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w")
    sale = FlashSale(store=MemoryStore(FakeIds()), clock=SystemClock(), log=StructuredLog(stream=stream))
    async with sale.open(0) as address, aiohttp.ClientSession() as session:
        for name in sale._table:
            async with session.get(f"http://{address}/{name}") as response:
                assert response.status == 200
                assert await response.json()
    with pytest.raises(BrokenPipeError):
        stream.close()
