"""Batches are sent as columns, and a column that repeats as one value: what arrives is still each its own."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.integration.postgres.postgres_fixtures import a_store

from cadenza.domain.scheduling.baseline import Every, Once
from cadenza.domain.scheduling.due import Start
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Bench

LATER = NEW_YEAR.replace(year=2026)
KINDS: list[dict[str, Any]] = [
    {},
    {"baseline": Every(7_000), "failure_count": 3},
    {"baseline": Once(NEW_YEAR)},
    {"interval_hint": IntervalHint(5_000, LATER, "surge"), "job_id": "other"},
    {"one_shot_hint": OneShotHint(LATER.replace(month=2), LATER.replace(month=3)), "tenant_id": "other"},
    {"last_run_at": NEW_YEAR.replace(year=2024)},
]
OUTCOMES = [
    Outcome(RunStatus.SUCCESS),
    Outcome(RunStatus.SUCCESS, 12, response={"visitors": 3}),
    Outcome(RunStatus.FAILURE, 5, error="no answer"),
    Outcome(RunStatus.SKIPPED, reason="the quota is used up", opens_at=LATER),
    Outcome(RunStatus.CANCELLED, reason="its worker stopped"),
]

Mix = Callable[[int], tuple[dict[str, Any], Outcome]]


def all_alike(_: int) -> tuple[dict[str, Any], Outcome]:
    return KINDS[0], OUTCOMES[0]


def all_mixed(number: int) -> tuple[dict[str, Any], Outcome]:
    return KINDS[number % len(KINDS)], OUTCOMES[number % len(OUTCOMES)]


def all_ordinary(number: int) -> tuple[dict[str, Any], Outcome]:
    return KINDS[number % 2], OUTCOMES[number % 3]


def one_differs(number: int) -> tuple[dict[str, Any], Outcome]:
    return (KINDS[3], OUTCOMES[2]) if number == 1 else all_alike(number)


@pytest.mark.parametrize("mix", [all_alike, all_ordinary, all_mixed, one_differs])
@pytest.mark.parametrize("size", [1, 2, 60])
async def test_what_is_settled_together_is_stored_each_as_it_was_settled(
    database_url: str, mix: Mix, size: int
) -> None:
    async with a_store(database_url) as store:
        bench = Bench(store)
        outcomes = {}
        for number in range(size):
            fields, outcomes[f"endpoint-{number}"] = mix(number)
            await bench.add(f"endpoint-{number}", **fields)
        claims = await bench.claim()
        bench.pass_ms(1_234)
        answers = await bench.finalize([(claim, outcomes[claim.endpoint.id]) for claim in claims])
        assert len(answers) == size
        for claim, answer in zip(claims, answers, strict=True):
            assert answer is not None
            assert answer.run.id == claim.run_id
            assert await bench.fresh(claim.endpoint) == answer.endpoint
            assert await bench.runs(claim.endpoint) == [answer.run]


@pytest.mark.parametrize("backwards", [False, True])
async def test_a_run_that_is_settled_twice_in_one_batch_is_stored_once(
    database_url: str, *, backwards: bool
) -> None:
    async with a_store(database_url) as store:
        bench = Bench(store)
        for number in range(3):
            await bench.add(f"endpoint-{number}")
        claims = await bench.claim()
        twice: list[Claim] = [*claims, claims[1]]
        await bench.end(*(reversed(twice) if backwards else twice))
        assert [len(await bench.runs(claim.endpoint)) for claim in claims] == [1, 1, 1]


async def test_an_earlier_run_of_an_endpoint_cannot_be_settled_beside_its_next_one(database_url: str) -> None:
    async with a_store(database_url) as store:
        bench = Bench(store)
        endpoint = await bench.add()
        lost = await bench.claim_one()
        bench.pass_ms(3_600_000)
        await bench.sweep()
        held = await bench.claim_one()
        first, second = await bench.end(lost, held)
        assert first is None
        assert second is not None
        assert [run.status for run in await bench.runs(endpoint)] == [RunStatus.ABANDONED, RunStatus.SUCCESS]


async def test_what_is_disabled_while_it_runs_is_not_claimed_again(database_url: str) -> None:
    async with a_store(database_url) as store:
        bench = Bench(store)
        for number in range(3):
            await bench.add(f"endpoint-{number}")
        claims = await bench.claim()
        disabled = claims[1].endpoint
        await store.endpoints.amend(disabled.key, lambda fresh: ChangedEndpoint(evolve(fresh, enabled=False)))
        await bench.end(*claims)
        bench.pass_ms(3_600_000)
        assert {claim.endpoint.id for claim in await bench.claim()} == {"endpoint-0", "endpoint-2"}


async def test_a_claim_carries_the_version_of_its_row_whatever_its_place_in_the_batch(
    database_url: str,
) -> None:
    async with a_store(database_url) as store:
        bench = Bench(store)
        for times in (2, 0, 5):
            endpoint = await bench.add(f"steered-{times}-times")
            for _ in range(times):
                await store.endpoints.amend(endpoint.key, ChangedEndpoint)
        claims = await bench.claim()
        versions = await store._pool.ask("SELECT endpoint_id, version FROM endpoint_states")
        assert {claim.endpoint.id: claim.version for claim in claims} == {row[0]: row[1] for row in versions}
        assert len({row[1] for row in versions}) == 3


async def test_runs_are_settled_where_claims_left_them_also_those_that_waited(
    database_url: str,
) -> None:
    """Who is not found there is settled all the same, but as one who was steered, and that takes longer."""
    async with a_store(database_url) as store:
        bench = Bench(store)
        for number, after_ms in enumerate((0, 1_000, 1_000)):
            await bench.add(f"endpoint-{number}", next_run_at=bench.ms(after_ms))
        at_once, *waiting = await bench.claim(within_ms=1_000)
        bench.pass_ms(1_000)
        started = [answer.claim for answer in await bench.start(*waiting) if isinstance(answer, Start)]
        held = [at_once, *started]
        places = await store._pool.ask(
            "SELECT ctid::text, endpoint_id FROM endpoint_states ORDER BY endpoint_id"
        )
        assert [(claim.endpoint.id, claim.place) for claim in held] == [
            (endpoint_id, place) for place, endpoint_id in places
        ]
        moved, nowhere = held[1]._replace(place=at_once.place), held[2]._replace(place=0)
        settled = await bench.end(at_once, moved, nowhere)
        assert [one is not None and one.run.id for one in settled] == [claim.run_id for claim in held]


async def test_ids_that_hold_what_others_are_joined_by_are_settled_all_the_same(database_url: str) -> None:
    async with a_store(database_url, name=";a;") as store:
        bench = Bench(store)
        endpoints = [await bench.add(f"endpoint-{number}") for number in range(3)]
        settled = await bench.end(*await bench.claim())
        assert [one is not None and one.endpoint.id for one in settled] == [one.id for one in endpoints]
        assert [len(await bench.runs(one)) for one in endpoints] == [1, 1, 1]
