"""What a cycle on SQLite skips, it may skip: rows that are as they were left, and statements for each row."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from random import Random

import pytest

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.claim import DueRow, SettledEndpoints
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.settle import SettledClaim
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling import due
from cadenza.domain.scheduling.endpoint import Lease
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus, open_run
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.testing import an_endpoint
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import LEASE_MS, MINUTE, Bench

SEEDS = range(6)
OUTCOMES = [
    Outcome(RunStatus.SUCCESS, 3),
    Outcome(RunStatus.SUCCESS, 3, response={"jobs": 1}),
    Outcome(RunStatus.FAILURE, 9, error="it broke"),
    Outcome(RunStatus.CANCELLED, reason="its worker stopped"),
    Outcome(RunStatus.SKIPPED, reason="too late"),
]


Meanwhile = Callable[[], Awaitable[object]]


async def nothing() -> None:
    """What mostly happens while a batch runs."""


class TwoStores:
    """A file with two stores on it, as two processes have it."""

    def __init__(self, path: Path) -> None:
        self.file = SqliteFile(path)
        self.mine = SqliteStore(self.file, TimeOrderedIds())
        self.theirs = SqliteStore(SqliteFile(path), TimeOrderedIds())
        self.bench, self.other = Bench(self.mine), Bench(self.theirs)

    def pass_ms(self, span_ms: float) -> None:
        """Let time pass for both."""
        self.bench.pass_ms(span_ms)
        self.other.pass_ms(span_ms)

    async def cycle(
        self, outcome: Outcome = OUTCOMES[0], *, bench: Bench | None = None, meanwhile: Meanwhile = nothing
    ) -> list[Claim]:
        """Claim what is due and settle it; the claims, after a look at what they hold."""
        bench = bench or self.bench
        claims = await bench.claim(limit=1_000)
        await self.check(claims)
        await meanwhile()
        await bench.finalize([(claim, outcome) for claim in claims])
        return claims

    async def check(self, claims: list[Claim]) -> None:
        """Whatever a claim holds is what stands in the file."""
        for claim in claims:
            assert await self.theirs.endpoints.get(claim.key) == claim.endpoint
            run = await self.theirs.runs.run(claim.endpoint.tenant_id, claim.run_id)
            told = (run.slot, run.due_at, run.attempt, run.source, run.claimed_at, run.started_at)
            held = (claim.slot, claim.due_at, claim.attempt, claim.source, claim.claimed_at, claim.started_at)
            assert told == held


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[TwoStores]:
    await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
    stores = TwoStores(tmp_path / "cadenza.db")
    yield stores
    await stores.mine.close()
    await stores.theirs.close()


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_claim_holds_what_stands_in_the_file_whoever_ran_or_steered_it_last(
    stores: TwoStores, seed: int
) -> None:
    chance, bench = Random(seed), stores.bench
    policy = Policy(max_attempts=3, retry_delay_ms=1_000)
    endpoints = [await bench.add(name, policy=policy) for name in "abcdefgh"]

    async def steer() -> None:
        steering, steered = chance.choice([bench, stores.other]), chance.sample(endpoints, 2)
        if chance.random() < 0.5:
            await steering.tool(steered[0], "propose_interval", intervalMs=chance.randint(1, 2 * MINUTE))
        if chance.random() < 0.3:
            await steering.tool(steered[1], "propose_next_time", nextRunInMs=chance.randint(0, MINUTE))

    for _ in range(12):
        stores.pass_ms(chance.choice([1, 1_000, MINUTE, 5 * MINUTE]))
        await stores.cycle(
            chance.choice(OUTCOMES), bench=chance.choice([bench, stores.other]), meanwhile=steer
        )
        await steer()


async def test_an_endpoint_that_is_run_and_steered_by_another_store_is_read_again(stores: TwoStores) -> None:
    await stores.bench.add()
    await stores.cycle()
    stores.pass_ms(MINUTE)
    await stores.cycle(OUTCOMES[2], bench=stores.other)
    stores.pass_ms(MINUTE)
    (claim,) = await stores.cycle()
    assert claim.endpoint.failure_count == 1


async def test_of_a_batch_the_steered_are_settled_fresh_and_the_lost_not_at_all(stores: TwoStores) -> None:
    bench = stores.bench
    await bench.add("lost")
    lost = await bench.claim_one()
    stores.pass_ms(LEASE_MS // 2)
    for name in ("as-claimed", "steered"):
        await bench.add(name)
    as_claimed, steered = await bench.claim()
    await stores.other.tool(steered.endpoint, "propose_interval", intervalMs=MINUTE * 2)
    stores.pass_ms(LEASE_MS // 2 + 1)
    await bench.sweep()
    answers = await bench.end(lost, as_claimed, steered)
    assert [answer and answer.endpoint.next_source for answer in answers] == [
        None,
        Source.BASELINE_INTERVAL,
        Source.AI_INTERVAL,
    ]
    counts = [len(await stores.mine.runs.runs(claim.key)) for claim in (lost, as_claimed, steered)]
    assert counts == [1, 1, 1]
    stores.pass_ms(5 * MINUTE)
    assert len(await stores.cycle()) == 3


async def test_what_could_not_be_committed_is_not_remembered(stores: TwoStores) -> None:
    bench = stores.bench
    await bench.add()
    claims = await bench.claim()
    pages = await stores.file.write(_limit(1))
    with pytest.raises(Unavailable, match="full"):
        await bench.end(*claims, response="x" * 100_000)
    await stores.file.write(_limit(pages * 1_000))
    stores.pass_ms(LEASE_MS + 1)
    await bench.sweep()
    stores.pass_ms(MINUTE)
    (claim,) = await stores.cycle()
    assert claim.endpoint.abandoned_count == 1


@pytest.mark.parametrize("count", [1, 9, 10, 11, 99, 100, 101, 257])
async def test_a_batch_of_any_size_is_claimed_and_settled_whole(stores: TwoStores, count: int) -> None:
    for number in range(count):
        await stores.bench.add(f"endpoint-{number}")
    for _ in range(2):
        claims = await stores.cycle()
        assert len({claim.key for claim in claims}) == count
        for claim in claims:
            (*_, first) = await stores.mine.runs.runs(claim.key)
            assert (first.status, first.verdict, first.duration_ms) == (RunStatus.SUCCESS, True, 3)
            assert (await stores.mine.endpoints.get(claim.key)).lease is None
        stores.pass_ms(MINUTE)


async def test_a_place_that_holds_another_endpoint_by_now_is_not_written(stores: TwoStores) -> None:
    await stores.bench.add("here")
    await stores.bench.add("there")
    here, there = await stores.bench.claim()
    await stores.bench.end(here._replace(place=there.place))
    assert (await stores.mine.endpoints.get(here.key)).last_run_at == here.started_at
    assert await stores.mine.endpoints.get(there.key) == there.endpoint
    assert [run.status for run in await stores.mine.runs.runs(there.key)] == [None]


async def test_two_stores_that_work_on_one_file_never_find_it_locked(stores: TwoStores) -> None:
    for number in range(200):
        await stores.bench.add(f"endpoint-{number}")
    for _ in range(10):
        done = await asyncio.gather(*(stores.cycle(bench=bench) for bench in (stores.bench, stores.other)))
        assert sum(map(len, done)) == 200
        stores.pass_ms(MINUTE)


def test_only_so_much_is_remembered_and_the_oldest_is_forgotten() -> None:
    settled = SettledEndpoints(most=2)
    settled.add([_settled_claim("one"), _settled_claim("two")])
    settled.add([_settled_claim("three")])
    one, two, three = settled.take([_row("one", version=0), _row("two", version=0), _row("three", version=0)])
    assert one is None
    assert two is not None
    assert three is not None


def test_what_was_taken_or_steered_is_not_known_any_more() -> None:
    settled = SettledEndpoints()
    settled.add([_settled_claim("run")])
    assert settled.take([_row("run", version=1)]) == [None]
    assert settled.take([_row("run", version=0)]) == [None]


def _row(run_id: str, *, version: int) -> DueRow:
    return (1, version, run_id, 0, 0)


def _limit(pages: int) -> Callable[[sqlite3.Connection], int]:
    def limit(connection: sqlite3.Connection) -> int:
        (most,) = connection.execute(f"PRAGMA max_page_count = {pages}").fetchone()
        return int(most)

    return limit


def _settled_claim(run_id: str) -> SettledClaim:
    claimed = due.claim(an_endpoint(), Lease("token", run_id, NEW_YEAR), NEW_YEAR)
    return SettledClaim(claimed, SettledRun(claimed.endpoint, open_run(claimed)))
