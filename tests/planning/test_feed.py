"""The feed of ended runs, across lives that end before anything is dealt with."""

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.engine.planning.feed import Feed
from cadenza.testing import FakeIds
from cadenza.testing.contracts.harness import Bench


async def test_whoever_dies_again_and_again_before_a_run_is_dealt_with_is_told_it_again() -> None:
    store = MemoryStore(FakeIds())
    bench = Bench(store)
    await bench.add()
    first = Feed(store=store.analyses, clock=bench.clock)
    await first.resume()
    assert (await first.read()).runs == []
    await first.keep(None)
    await bench.run_once()
    for _ in range(3):
        feed = Feed(store=store.analyses, clock=bench.clock)
        await feed.resume()
        assert len((await feed.read()).runs) == 1
        await feed.keep(feed.page)
