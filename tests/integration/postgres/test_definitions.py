"""What owners wrote is read once, and again when they write something else."""

from tests.integration.postgres.world import a_store

from cadenza.adapters.sql.postgres.definitions import READ_OWNED, Definitions
from cadenza.adapters.sql.postgres.pool import PostgresPool
from cadenza.domain.baseline import Every
from cadenza.domain.endpoint import EndpointKey, evolve
from cadenza.domain.steer import Amended
from cadenza.domain.target import HttpTarget
from cadenza.testing.contracts.bench import Bench

HOUR_MS = 3_600_000


class CountedPool(PostgresPool):
    """Counts how often definitions were read."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.read: list[list[str]] = []

    async def ask(self, statement: str, *arguments: object) -> list[object]:
        if statement == READ_OWNED:
            self.read.append(sorted(arguments[1]))  # type: ignore[call-overload]
        return await super().ask(statement, *arguments)


async def test_what_another_process_changed_holds_from_the_next_claim_on(database_url: str) -> None:
    async with a_store(database_url) as store, a_store(database_url, name="other") as other:
        bench = Bench(store)
        changed = await bench.add("changed")
        await bench.add("kept")
        await bench.end(*await bench.claim())
        target = HttpTarget("http://127.0.0.1:9/new")
        await other.amend(
            changed.key,
            lambda fresh: Amended(evolve(fresh, target=target, name="New", baseline=Every(7_000))),
        )
        bench.pass_ms(HOUR_MS)
        claims = {claim.endpoint.id: claim.endpoint for claim in await bench.claim()}
        assert (claims["changed"].target, claims["changed"].name) == (target, "New")
        assert claims["changed"] == await other.get(changed.key)
        assert claims["kept"].name == "kept"


async def test_a_definition_is_read_once_until_it_changes(database_url: str) -> None:
    async with a_store(database_url) as store:
        pool = CountedPool(database_url)
        definitions, bench = Definitions(pool), Bench(store)
        for name in ("one", "two"):
            await bench.add(name)
        versions = {name: ("default", name, 0) for name in ("one", "two")}
        first = await definitions.of(list(versions.values()))
        assert await definitions.of(list(versions.values())) == first
        assert pool.read == [["one", "two"]]
        await store.amend(EndpointKey("default", "two"), Amended)
        await definitions.of([("default", "one", 0), ("default", "two", 1)])
        assert pool.read == [["one", "two"], ["two"]]
        await pool.close()


async def test_the_oldest_are_forgotten_and_what_is_gone_is_told(database_url: str) -> None:
    async with a_store(database_url) as store:
        pool, bench = CountedPool(database_url), Bench(store)
        definitions = Definitions(pool, most=2)
        for name in ("one", "two", "three"):
            await bench.add(name)
        for name in ("one", "two", "three", "three", "one"):
            assert await definitions.of([("default", name, 0)]) != [None]
        assert pool.read == [["one"], ["two"], ["three"], ["one"]]
        assert await definitions.of([("default", "nobody", 0)]) == [None]
        await pool.close()
