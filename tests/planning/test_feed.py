"""The feed of ended runs, across lives that end before anything is dealt with."""

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.engine.planning.feed import RunFeed
from cadenza.testing import FakeIds
from cadenza.testing.contracts.harness import Bench


async def test_a_reader_that_dies_before_a_run_is_processed_gets_it_again() -> None:
    store = MemoryStore(FakeIds())
    bench = Bench(store)
    await bench.add()
    first = RunFeed(store=store.analyses, clock=bench.clock)
    await first.resume()
    assert (await first.read()).runs == []
    await first.save_cursor(None)
    await bench.run_once()
    for _ in range(3):
        feed = RunFeed(store=store.analyses, clock=bench.clock)
        await feed.resume()
        assert len((await feed.read()).runs) == 1
        await feed.save_cursor(feed.page)
