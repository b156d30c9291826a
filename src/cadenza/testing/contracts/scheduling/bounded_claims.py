"""A tenant that holds as many places as it may hides nothing that others have due."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from cadenza.domain.scheduling.run import Claim
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract

TARGETS = (CallableTarget("one"), CallableTarget("two"), HttpTarget("https://example.com/"))


def counts(claims: Sequence[Claim]) -> Mapping[str, int]:
    return Counter(claim.key.tenant_id for claim in claims)


class BoundedClaimContract(Contract):
    """`claim_due` with bounds, and `next_due` without tenants."""

    async def test_of_a_tenant_at_its_bound_nothing_is_claimed(self, bench: Bench) -> None:
        for number in range(20):
            await bench.add(f"{number}", tenant_id="full", next_run_at=bench.ms(-MINUTE))
        assert await bench.claim(bounds={"full": 0}) == []
        assert len(await bench.claim()) == 20

    @pytest.mark.parametrize("limit", [4, 5, 100])
    async def test_a_backlog_at_its_bound_does_not_hide_what_others_have_due(
        self, bench: Bench, limit: int
    ) -> None:
        for number in range(30):
            await bench.add(f"{number}", tenant_id="full", next_run_at=bench.ms(-MINUTE))
        for number in range(4):
            await bench.add(f"{number}", tenant_id=f"other-{number}", next_run_at=bench.ms(-number))
        claimed = await bench.claim(limit=limit, bounds={"full": 0})
        assert [claim.key.tenant_id for claim in claimed] == [f"other-{number}" for number in (3, 2, 1, 0)]

    async def test_of_a_tenant_no_more_than_its_bound_is_claimed_whatever_it_requires(
        self, bench: Bench
    ) -> None:
        for number in range(12):
            await bench.add(f"{number}", tenant_id="part", target=TARGETS[number % 3])
            await bench.add(f"{number}", tenant_id="other", target=TARGETS[number % 3])
        claimed = await bench.claim(bounds={"part": 4, "absent": 2})
        assert counts(claimed) == {"part": 4, "other": 12}
        assert len({claim.key for claim in claimed}) == 16

    async def test_what_is_claimed_of_a_tenant_with_a_bound_is_its_soonest(self, bench: Bench) -> None:
        for number in range(6):
            await bench.add(f"{number}", tenant_id="part", next_run_at=bench.ms(-number))
        claimed = await bench.claim(bounds={"part": 2})
        assert [claim.key.id for claim in claimed] == ["5", "4"]

    async def test_others_come_before_a_tenant_with_a_bound(self, bench: Bench) -> None:
        for number in range(6):
            await bench.add(f"{number}", tenant_id="part", next_run_at=bench.ms(-MINUTE))
            await bench.add(f"{number}", tenant_id="other", next_run_at=bench.ms(-1))
        assert counts(await bench.claim(limit=6, bounds={"part": 4})) == {"other": 6}
        assert counts(await bench.claim(limit=6, bounds={"part": 4})) == {"part": 4}

    async def test_all_that_wait_beside_a_tenant_at_its_bound_have_their_turn(self, bench: Bench) -> None:
        for number in range(10):
            await bench.add(f"{number}", tenant_id="full", next_run_at=bench.ms(-MINUTE))
        for tenant in range(9):
            for number in range(2):
                await bench.add(f"{number}", tenant_id=f"other-{tenant}", next_run_at=bench.ms(-number))
        claimed = [claim for _ in range(9) for claim in await bench.claim(limit=2, bounds={"full": 0})]
        assert counts(claimed) == {f"other-{tenant}": 2 for tenant in range(9)}
        assert await bench.claim(bounds={"full": 0}) == []

    async def test_only_what_the_caller_can_run_is_claimed_of_a_tenant_with_a_bound(
        self, bench: Bench
    ) -> None:
        for number, target in enumerate(TARGETS):
            await bench.add(f"{number}", tenant_id="part", target=target)
        claimed = await bench.claim(can_run=["callable:two", "callable:none"], bounds={"part": 2})
        assert [claim.endpoint.target for claim in claimed] == [TARGETS[1]]

    async def test_the_next_due_moment_is_that_of_others_if_a_tenant_does_not_count(
        self, bench: Bench
    ) -> None:
        await bench.add("full", tenant_id="full", next_run_at=bench.ms(-MINUTE))
        next_due = bench.store.endpoints.next_due
        assert await next_due(without=["full"]) is None
        await bench.add("later", tenant_id="other", next_run_at=bench.ms(MINUTE))
        assert await next_due(without=["full"]) == bench.ms(MINUTE)
        assert await next_due(["callable:nothing"], without=["full"]) is None
        assert await next_due(without=["full", "other"]) is None
        assert await next_due() == bench.ms(-MINUTE)
