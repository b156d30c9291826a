"""The memory store keeps every promise of a store."""

import asyncio
from collections import Counter
from threading import Thread

import pytest

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.testing import FakeIds
from cadenza.testing.contracts import StoreContract
from cadenza.testing.contracts.harness import Bench


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore(FakeIds())

    async def test_threads_share_one_store(self, bench: Bench) -> None:
        for number in range(400):
            await bench.add(f"endpoint-{number}")
        claimed: list[str] = []

        def work() -> None:
            while batch := asyncio.run(bench.claim(limit=7)):
                claimed.extend(claim.endpoint.name for claim in batch)

        threads = [Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
        assert Counter(claimed) == Counter(f"endpoint-{number}" for number in range(400))
