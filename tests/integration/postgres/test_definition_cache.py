"""What owners wrote is read once, and again when they write something else."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.integration.postgres.postgres_fixtures import a_store

from cadenza.adapters.stores.postgres.claim import READ_OWNED, Claimed, DefinitionCache
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.scheduling.definition import LONGEST_REMEMBERED
from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import EndpointKey, evolve
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.testing import FakeIds
from cadenza.testing.contracts.agents.conversation_fixtures import ANNA, ConversationFixture, a_schedule
from cadenza.testing.contracts.harness import LEASE_MS, Bench

HOUR_MS = 3_600_000


class CountedPool(PostgresPool):
    """Counts how often definitions were read, and lets something happen before."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.asked: list[list[str]] = []
        self.before: list[Callable[[], Awaitable[None]]] = []

    async def ask(self, statement: str, *arguments: Any) -> list[Any]:
        if statement == READ_OWNED:
            self.asked.append(sorted(arguments[1]))
            if self.before:
                await self.before.pop()()
        return await super().ask(statement, *arguments)


async def refuse() -> None:
    raise Unavailable("The connection was lost.")


async def claimable(store: PostgresStore, *names: str) -> list[Claimed]:
    """Endpoints as a claim names them."""
    rows = await store._pool.ask("SELECT tenant_id, endpoint_id, version FROM endpoint_states")
    versions = {row[1]: (row[0], row[1], row[2]) for row in rows}
    return [versions[name] for name in names]


async def test_what_another_process_changed_holds_from_the_next_claim_on(database_url: str) -> None:
    async with a_store(database_url) as store, a_store(database_url, name="other") as other:
        bench = Bench(store)
        changed = await bench.add("changed")
        await bench.add("kept")
        await bench.end(*await bench.claim())
        target = HttpTarget("http://127.0.0.1:9/new")
        await other.endpoints.amend(
            changed.key,
            lambda fresh: ChangedEndpoint(evolve(fresh, target=target, name="New", baseline=Every(7_000))),
        )
        bench.pass_ms(HOUR_MS)
        claims = {claim.endpoint.id: claim.endpoint for claim in await bench.claim()}
        assert (claims["changed"].target, claims["changed"].name) == (target, "New")
        assert claims["changed"] == await other.endpoints.get(changed.key)
        assert claims["kept"].name == "kept"


async def test_a_definition_is_read_once_until_it_changes(database_url: str) -> None:
    async with a_store(database_url) as store:
        pool = CountedPool(database_url)
        definitions, bench = DefinitionCache(pool), Bench(store)
        for name in ("one", "two"):
            await bench.add(name)
        first = await definitions.read(await claimable(store, "one", "two"))
        assert await definitions.read(await claimable(store, "one", "two")) == first
        assert pool.asked == [["one", "two"]]
        await store.endpoints.amend(EndpointKey("default", "two"), ChangedEndpoint)
        await definitions.read(await claimable(store, "one", "two"))
        assert pool.asked == [["one", "two"], ["two"]]
        await pool.close()


async def test_the_oldest_are_forgotten_and_what_is_gone_is_told(database_url: str) -> None:
    async with a_store(database_url) as store:
        pool, bench = CountedPool(database_url), Bench(store)
        definitions = DefinitionCache(pool, most=2)
        for name in ("one", "two", "three"):
            await bench.add(name)
        for name in ("one", "two", "three", "three", "one"):
            assert await definitions.read(await claimable(store, name)) != [None]
        assert pool.asked == [["one"], ["two"], ["three"], ["one"]]
        assert await definitions.read([("default", "nobody", 0)]) == [None]
        await pool.close()


async def test_after_a_dump_was_restored_nobody_runs_what_was_written_since(database_url: str) -> None:
    async with a_store(database_url) as store:
        bench = Bench(store)
        endpoint = await bench.add()

        async def call(name: str) -> None:
            await store.endpoints.amend(endpoint.key, lambda fresh: ChangedEndpoint(evolve(fresh, name=name)))

        async def run() -> str:
            bench.pass_ms(HOUR_MS)
            claim = await bench.claim_one()
            await bench.end(claim)
            return claim.endpoint.name

        await call("dumped")
        ((version,),) = await store._pool.ask("SELECT version FROM endpoint_states")
        await call("forgotten")
        assert await run() == "forgotten"
        await store._pool.ask("UPDATE endpoints SET name = 'dumped'")
        await store._pool.ask("UPDATE endpoint_states SET version = $1", version)
        await call("new")
        assert await run() == "new"


async def test_long_definitions_are_read_every_time(database_url: str) -> None:
    async with a_store(database_url) as store:
        pool, bench = CountedPool(database_url), Bench(store)
        definitions = DefinitionCache(pool)
        await bench.add("short")
        await bench.add(
            "long", target=HttpTarget("http://127.0.0.1:9/", "POST", body="x" * LONGEST_REMEMBERED)
        )
        first = await definitions.read(await claimable(store, "short", "long"))
        assert await definitions.read(await claimable(store, "short", "long")) == first
        assert pool.asked == [["long", "short"], ["long"]]
        await pool.close()


async def test_what_was_leased_and_could_not_be_read_is_answered_by_the_next_claim(database_url: str) -> None:
    pool = CountedPool(database_url)
    store = PostgresStore(pool, FakeIds())
    bench = Bench(store)
    endpoints = [await bench.add(name) for name in ("one", "two", "three")]
    pool.before = [refuse, refuse]
    for _ in range(2):
        with pytest.raises(Unavailable):
            await bench.claim()
        bench.pass_ms(1_000)
    claims = [await bench.claim(limit=limit) for limit in (1, 8, 8)]
    assert [[claim.endpoint.id for claim in batch] for batch in claims] == [["one"], ["two", "three"], []]
    assert None not in await bench.end(*claims[0], *claims[1])
    assert [[run.status for run in await bench.runs(one)] for one in endpoints] == [[RunStatus.SUCCESS]] * 3
    await store.close()


async def test_what_could_not_be_read_in_time_is_left_to_the_sweeper(database_url: str) -> None:
    pool = CountedPool(database_url)
    store = PostgresStore(pool, FakeIds())
    bench = Bench(store)
    await bench.add()
    pool.before = [refuse]
    with pytest.raises(Unavailable):
        await bench.claim()
    bench.pass_ms(LEASE_MS)
    assert await bench.claim() == []
    assert [one.run.status for one in await bench.sweep()] == [RunStatus.ABANDONED]
    await store.close()


async def test_what_goes_before_it_is_read_is_not_claimed(database_url: str) -> None:
    pool = CountedPool(database_url)
    store = PostgresStore(pool, FakeIds())
    bench = Bench(store)
    await ConversationFixture(bench).add_users_and_agents()
    await store.endpoints.add(a_schedule(next_run_at=bench.clock.now()))
    await bench.add("stays", tenant_id="north")
    pool.before = [lambda: store.users.remove_user(ANNA)]
    assert [claim.endpoint.id for claim in await bench.claim()] == ["stays"]
    await store.close()
