"""Of any number of workers, one gets each endpoint, in due order and in turns."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from cadenza.domain.scheduling.baseline import Cron
from cadenza.domain.scheduling.endpoint import EndpointKey, Job, evolve
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget, PromptTarget
from cadenza.ports.store import Store
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract

DAILY = Cron("0 9 * * *")
TARGETS = {
    "mine": CallableTarget("mine"),
    "theirs": CallableTarget("theirs"),
    "page": HttpTarget("https://example.com/"),
    "prompt": PromptTarget("agent", "user", "hello"),
}

DAILY = Cron("0 9 * * *")


def names(claims: Sequence[Claim]) -> list[str]:
    return [claim.endpoint.name for claim in claims]


class ClaimContract(Contract):
    """`claim_due`."""

    async def test_of_any_number_of_callers_one_gets_each_endpoint(
        self, bench: Bench, peers: Sequence[Store]
    ) -> None:
        for number in range(100):
            await bench.add(f"endpoint-{number:03}")

        async def claim_all(store: Store) -> list[str]:
            claimed: list[str] = []
            while batch := await bench.claim(limit=3, store=store):
                claimed += names(batch)
                await asyncio.sleep(0)
            return claimed

        claimed = await asyncio.gather(*(claim_all(store) for store in [*peers, *peers]))
        assert Counter(name for batch in claimed for name in batch) == Counter(
            f"endpoint-{number:03}" for number in range(100)
        )

    async def test_claims_come_soonest_first_and_ties_in_the_order_of_creation(self, bench: Bench) -> None:
        for name, late_ms in (("b", 1_000), ("c", 1_000), ("a", 1_000), ("first", 2_000), ("last", 0)):
            await bench.add(name, next_run_at=bench.ms(-late_ms))
        assert names(await bench.claim()) == ["first", "b", "c", "a", "last"]

    async def test_a_claim_opens_a_run_for_its_slot_with_its_cause(self, bench: Bench) -> None:
        endpoint = await bench.add(next_source=Source.AI_INTERVAL, next_run_at=bench.ms(-10))
        claim = await bench.claim_one()
        (run,) = await bench.runs(endpoint)
        assert (run.id, run.slot, run.source) == (claim.run_id, bench.ms(-10), Source.AI_INTERVAL)
        assert (run.status, run.attempt, run.started_at, run.verdict) == (None, 1, bench.ms(0), False)

    async def test_a_claim_carries_the_endpoint_and_its_lease(self, bench: Bench) -> None:
        endpoint = await bench.add()
        claim = await bench.claim_one()
        stored = await bench.fresh(endpoint)
        assert claim.endpoint == stored
        assert stored.lease is not None
        assert stored.lease == (claim.token, claim.run_id, claim.lease_until)

    @pytest.mark.parametrize(("ahead_ms", "claimed"), [(0, True), (1, False), (-1, True)])
    async def test_an_endpoint_is_due_at_its_moment_and_not_before(
        self, bench: Bench, ahead_ms: int, *, claimed: bool
    ) -> None:
        await bench.add(next_run_at=bench.ms(ahead_ms))
        assert bool(await bench.claim()) is claimed

    async def test_what_is_claimed_ahead_is_not_started(self, bench: Bench) -> None:
        await bench.add("now")
        await bench.add("soon", next_run_at=bench.ms(500))
        await bench.add("later", next_run_at=bench.ms(501))
        claims = await bench.claim(within_ms=500)
        assert [(claim.endpoint.name, claim.started_at) for claim in claims] == [
            ("now", bench.ms(0)),
            ("soon", None),
        ]

    @pytest.mark.parametrize("gate", ["paused_until", "quota_opens_at"])
    async def test_what_is_claimed_ahead_of_a_gate_waits_for_it(self, bench: Bench, gate: str) -> None:
        await bench.add(**{gate: bench.ms(100)})
        claim = await bench.claim_one(within_ms=100)
        assert (claim.slot, claim.due_at, claim.started_at) == (bench.ms(0), bench.ms(100), None)

    @pytest.mark.parametrize(
        "closed",
        [
            {"enabled": False},
            {"archived": True},
            {"next_run_at": None},
            {"paused_until": 1},
            {"quota_opens_at": 1},
        ],
        ids=str,
    )
    async def test_a_closed_gate_keeps_an_endpoint_from_being_claimed(
        self, bench: Bench, closed: dict[str, Any]
    ) -> None:
        fields = {
            name: bench.ms(1) if value == 1 and value is not True else value for name, value in closed.items()
        }
        await bench.add(**fields)
        assert await bench.claim() == []

    async def test_a_pause_and_a_quota_that_ended_protect_no_longer(self, bench: Bench) -> None:
        await bench.add("paused", paused_until=bench.ms(0))
        await bench.add("quota", quota_opens_at=bench.ms(0))
        assert names(await bench.claim()) == ["paused", "quota"]

    async def test_an_endpoint_of_a_job_that_is_not_active_is_not_due(self, bench: Bench) -> None:
        await bench.store.catalog.add_job(Job(id="job", name="job"))
        endpoint = await bench.add(job_id="job")
        await bench.switch("job", active=False)
        assert await bench.claim() == []
        await bench.switch("job", active=True)
        assert (await bench.claim_one()).key == endpoint.key

    async def test_an_endpoint_added_to_a_job_that_is_not_active_waits_for_it(self, bench: Bench) -> None:
        await bench.store.catalog.add_job(Job(id="job", name="job", active=False))
        await bench.add(job_id="job")
        assert await bench.claim() == []

    async def test_no_more_than_the_limit_is_claimed(self, bench: Bench) -> None:
        for number in range(5):
            await bench.add(f"endpoint-{number}", next_run_at=bench.ms(number - 5))
        assert names(await bench.claim(limit=2)) == ["endpoint-0", "endpoint-1"]
        assert names(await bench.claim(limit=2)) == ["endpoint-2", "endpoint-3"]

    async def test_what_is_claimed_is_not_claimed_again_though_its_lease_ran_out(self, bench: Bench) -> None:
        await bench.add()
        await bench.claim_one()
        assert await bench.claim() == []
        bench.pass_ms(10 * MINUTE)
        assert await bench.claim() == []

    async def test_one_tenants_backlog_does_not_keep_another_from_its_turn(self, bench: Bench) -> None:
        for number in range(20):
            await bench.add(f"big-{number:02}", tenant_id="big", next_run_at=bench.ms(-MINUTE))
        for number in range(2):
            await bench.add(f"small-{number}", tenant_id="small", next_run_at=bench.ms(-1))
        assert sorted(names(await bench.claim(limit=4))) == ["big-00", "big-01", "small-0", "small-1"]

    async def test_the_next_due_moment_is_that_of_the_first_that_can_be_claimed(self, bench: Bench) -> None:
        assert await bench.store.endpoints.next_due() is None
        await bench.add("disabled", enabled=False)
        await bench.add("paused", paused_until=bench.ms(3 * MINUTE))
        assert await bench.store.endpoints.next_due() == bench.ms(3 * MINUTE)
        later = await bench.add("later", next_run_at=bench.ms(2 * MINUTE))
        assert await bench.store.endpoints.next_due() == bench.ms(2 * MINUTE)
        await bench.tool(later, "propose_interval", intervalMs=MINUTE)
        assert await bench.store.endpoints.next_due() == bench.ms(MINUTE)

    async def test_an_endpoint_is_known_by_its_tenant_and_its_id(self, bench: Bench) -> None:
        await bench.add("same", tenant_id="one")
        await bench.add("same", tenant_id="two")
        keys = {claim.key for claim in await bench.claim()}
        assert keys == {EndpointKey("one", "same"), EndpointKey("two", "same")}

    async def test_only_what_the_caller_can_run_is_claimed(self, bench: Bench) -> None:
        for name, target in TARGETS.items():
            await bench.add(name, target=target, baseline=DAILY)
        assert await bench.claim(can_run=[]) == []
        assert await bench.claim(can_run=["callable:nothing"]) == []
        assert names(await bench.claim(can_run=["callable:mine", "callable:nothing"])) == ["mine"]
        assert sorted(names(await bench.claim(can_run=["prompt", "http"]))) == ["page", "prompt"]
        assert names(await bench.claim()) == ["theirs"]

    async def test_the_next_due_moment_is_that_of_what_the_caller_can_run(self, bench: Bench) -> None:
        await bench.add("mine", target=TARGETS["mine"], next_run_at=bench.ms(MINUTE))
        await bench.add("theirs", target=TARGETS["theirs"])
        next_due = bench.store.endpoints.next_due
        assert await next_due(["callable:mine"]) == bench.ms(MINUTE)
        assert await next_due(["callable:mine", "callable:theirs"]) == bench.ms(0)
        assert await next_due(["http"]) is None
        assert await next_due([]) is None

    async def test_what_others_run_does_not_fill_the_limit(self, bench: Bench) -> None:
        for number in range(20):
            await bench.add(f"theirs-{number:02}", target=TARGETS["theirs"], next_run_at=bench.ms(-MINUTE))
        for number in range(4):
            await bench.add(f"mine-{number}", target=TARGETS["mine"], next_run_at=bench.ms(number - 10))
        claimed = [names(await bench.claim(can_run=["callable:mine"], limit=2)) for _ in range(3)]
        assert claimed == [["mine-0", "mine-1"], ["mine-2", "mine-3"], []]

    async def test_what_the_caller_can_run_comes_soonest_first_whatever_it_requires(
        self, bench: Bench
    ) -> None:
        for late_ms, name in enumerate(TARGETS, start=1):
            await bench.add(name, target=TARGETS[name], baseline=DAILY, next_run_at=bench.ms(-late_ms))
        can_run = ["http", "prompt", "callable:mine", "callable:theirs"]
        assert names(await bench.claim(can_run=can_run)) == list(TARGETS)[::-1]

    async def test_one_functions_backlog_does_not_keep_another_from_its_turn(self, bench: Bench) -> None:
        for number in range(20):
            await bench.add(f"theirs-{number:02}", target=TARGETS["theirs"], next_run_at=bench.ms(-MINUTE))
        for number in range(2):
            await bench.add(f"mine-{number}", target=TARGETS["mine"])
        claimed = await bench.claim(can_run=["callable:theirs", "callable:mine"], limit=4)
        assert sorted(names(claimed)) == ["mine-0", "mine-1", "theirs-00", "theirs-01"]

    async def test_each_tenant_gets_its_share_of_each_function(self, bench: Bench) -> None:
        for tenant_id in ("one", "two", "three"):
            for name in ("mine", "theirs"):
                for number in range(4):
                    await bench.add(f"{name}-{number}", tenant_id=tenant_id, target=TARGETS[name])
        for _ in range(4):
            claimed = await bench.claim(can_run=["callable:mine", "callable:theirs"], limit=6)
            assert len({(claim.key.tenant_id, claim.endpoint.target) for claim in claimed}) == 6
        assert await bench.claim() == []

    async def test_a_new_target_needs_what_it_requires(self, bench: Bench) -> None:
        endpoint = await bench.add(target=TARGETS["mine"])
        await bench.store.endpoints.amend(
            endpoint.key, lambda old: ChangedEndpoint(evolve(old, target=TARGETS["page"]))
        )
        assert await bench.claim(can_run=["callable:mine"]) == []
        assert len(await bench.claim(can_run=["http"])) == 1
