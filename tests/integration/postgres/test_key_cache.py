"""Keys that a process has read are cached until any process deletes one, while it hears of that."""

import asyncio
from typing import Any

import pytest
from tests.integration.postgres.postgres_fixtures import a_store

from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.access.keys import GET_KEY
from cadenza.testing.contracts.access.keys import a_key


class CountedReads:
    """Counts how often a store reads a key from the database."""

    def __init__(self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        self.meanwhile: list[Any] = []
        read = store._pool.ask

        async def counted(statement: str, /, *values: Any) -> list[Any]:
            rows = await read(statement, *values)
            if statement == GET_KEY:
                self.times += 1
                for work in self.meanwhile:
                    await work()
            return rows

        monkeypatch.setattr(store._pool, "ask", counted)


async def until(store: PostgresStore, *, removals_above: int = 0) -> None:
    """Wait until a store hears notifications, and has heard of so many removals."""
    store._listener.start()
    async with asyncio.timeout(30):
        while not (store._listener.hears and store._listener.key_removals > removals_above):  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_a_key_is_read_once_and_again_when_one_was_deleted_elsewhere(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_store(database_url) as here, a_store(database_url) as there:
        for name in ("key", "other"):
            await here.keys.add_key(a_key(name, "north"))
        await until(there)
        reads = CountedReads(there, monkeypatch)
        for _ in range(5):
            assert await there.keys.stored_key("key") == a_key("key", "north")
        assert reads.times == 1
        heard = there._listener.key_removals
        await here.keys.remove_key("north", "key")
        await until(there, removals_above=heard)
        assert await there.keys.stored_key("key") is None
        assert await there.keys.stored_key("other") is not None


async def test_a_key_that_was_deleted_while_it_was_read_is_not_cached(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_store(database_url) as here, a_store(database_url) as there:
        await here.keys.add_key(a_key("key", "north"))
        await until(there)
        heard = there._listener.key_removals
        reads = CountedReads(there, monkeypatch)

        async def remove() -> None:
            reads.meanwhile.clear()
            await here.keys.remove_key("north", "key")
            await until(there, removals_above=heard)

        reads.meanwhile.append(remove)
        await there.keys.stored_key("key")
        assert await there.keys.stored_key("key") is None


async def test_who_hears_no_notifications_reads_every_key_anew(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_store(database_url) as here, a_store(database_url) as deaf:
        monkeypatch.setattr(deaf._listener, "_notified", lambda *_: None)
        await here.keys.add_key(a_key("key", "north"))
        assert await deaf.keys.stored_key("key") is not None
        assert await deaf.keys.removals() != await deaf.keys.removals()
        await here.keys.remove_key("north", "key")
        assert await deaf.keys.stored_key("key") is None


async def test_a_key_is_not_cached_for_longer_than_seconds(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cadenza.adapters.stores.sql.access.key_cache.CACHED_S", 0.0)
    async with a_store(database_url) as store:
        await store.keys.add_key(a_key("key", "north"))
        await until(store)
        reads = CountedReads(store, monkeypatch)
        for _ in range(3):
            await store.keys.stored_key("key")
        assert reads.times == 3
