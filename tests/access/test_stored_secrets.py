"""Looking secrets up: together, once a second, and never at the cost of each other."""

import asyncio
from base64 import b64encode
from collections.abc import Collection

import pytest

from cadenza.adapters.access.secret_keys import ConfiguredKeys
from cadenza.adapters.access.stored_secrets import StoredSecrets
from cadenza.adapters.stores.memory.access.keys_tenants import MemorySealed
from cadenza.domain.errors import NotFound, Unavailable
from cadenza.ports.secrets import SecretKey
from cadenza.testing.clock import NEW_YEAR

KEYS = ConfiguredKeys(b64encode(bytes(32)).decode())


class Counted(MemorySealed):
    """Notes what it is asked, and may be held up or broken."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[set[str]] = []
        self.was_asked = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()
        self.broken = False

    async def find(self, keys: Collection[SecretKey]) -> dict[SecretKey, str]:
        self.asked.append({key.name for key in keys})
        self.was_asked.set()
        await self.open.wait()
        if self.broken:
            raise Unavailable("The store is away.")
        return await super().find(keys)


class Bench:
    def __init__(self) -> None:
        self.store = Counted()
        self.now = 0.0
        self.secrets = StoredSecrets(self.store, KEYS, time=lambda: self.now)
        self.elsewhere = StoredSecrets(self.store, KEYS)

    async def reveal(self, name: str, tenant_id: str = "tenant") -> str:
        return await self.secrets.reveal(tenant_id, f"secret:{name}")

    async def put(self, name: str, value: str) -> None:
        """Put it the way another process does."""
        await self.elsewhere.put(SecretKey("tenant", name), value, now=NEW_YEAR)


@pytest.fixture
async def bench() -> Bench:
    bench = Bench()
    for name in ("a", "b", "c"):
        await bench.put(name, f"value of {name}")
    return bench


async def test_a_batch_asks_the_store_once(bench: Bench) -> None:
    revealed = await asyncio.gather(*(bench.reveal(name) for name in "abcab" * 100))
    assert revealed == [f"value of {name}" for name in "abcab" * 100]
    assert bench.store.asked == [{"a", "b", "c"}]


async def test_what_comes_while_the_store_is_asked_waits_and_is_asked_together(bench: Bench) -> None:
    bench.store.open.clear()
    first = asyncio.create_task(bench.reveal("a"))
    await bench.store.was_asked.wait()
    others = []
    for name in "bcb":
        others.append(asyncio.create_task(bench.reveal(name)))
        await asyncio.sleep(0)
    bench.store.open.set()
    await asyncio.gather(first, *others)
    assert bench.store.asked == [{"a"}, {"b", "c"}]


async def test_a_changed_secret_is_used_after_a_second(bench: Bench) -> None:
    assert await bench.reveal("a") == "value of a"
    await bench.put("a", "changed")
    bench.now = 0.99
    assert await bench.reveal("a") == "value of a"
    bench.now = 1.0
    assert await bench.reveal("a") == "changed"
    assert bench.store.asked == [{"a"}, {"a"}]


async def test_what_is_changed_or_deleted_here_is_known_at_once(bench: Bench) -> None:
    await bench.reveal("a")
    await bench.secrets.put(SecretKey("tenant", "a"), "changed", now=NEW_YEAR)
    assert await bench.reveal("a") == "changed"
    await bench.secrets.delete(SecretKey("tenant", "a"))
    with pytest.raises(NotFound):
        await bench.reveal("a")


async def test_what_was_missing_is_found_as_soon_as_it_is_there(bench: Bench) -> None:
    with pytest.raises(NotFound, match="Secret secret:d not found"):
        await bench.reveal("d")
    await bench.put("d", "new")
    assert await bench.reveal("d") == "new"


async def test_only_references_of_its_kind_are_looked_up(bench: Bench) -> None:
    for reference in ("env:a", "a", ""):
        with pytest.raises(NotFound):
            await bench.secrets.reveal("tenant", reference)
    assert bench.store.asked == []


async def test_one_that_runs_out_of_time_takes_nothing_from_the_others(bench: Bench) -> None:
    bench.store.open.clear()
    hasty, patient = (asyncio.create_task(bench.reveal("a")) for _ in range(2))
    await bench.store.was_asked.wait()
    hasty.cancel()
    await asyncio.gather(hasty, return_exceptions=True)
    bench.store.open.set()
    assert hasty.cancelled()
    assert await patient == "value of a"


async def test_a_store_that_is_away_fails_those_who_ask_and_is_asked_again(bench: Bench) -> None:
    bench.store.broken = True
    failed = await asyncio.gather(*(bench.reveal(name) for name in "ab"), return_exceptions=True)
    assert [str(problem) for problem in failed] == ["The store is away."] * 2
    bench.store.broken = False
    assert await bench.reveal("a") == "value of a"


async def test_nothing_that_was_opened_is_remembered(bench: Bench) -> None:
    await bench.reveal("a")
    assert "value of a" not in str(vars(bench.secrets._lookup))
    bench.now = 5.0
    await bench.reveal("b")
    assert {key.name for key in bench.secrets._lookup._cached} == {"b"}
