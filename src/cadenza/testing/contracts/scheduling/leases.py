"""Leases: fenced, renewed, lost, and swept."""

import pytest

from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import RunStatus
from cadenza.testing.contracts.harness import LEASE_MS, MINUTE, Bench, Contract


class LeaseContract(Contract):
    """`renew`, `sweep`, and what a lease protects."""

    async def test_a_lost_lease_cannot_finalize(self, bench: Bench) -> None:
        endpoint = await bench.add()
        lost = await bench.claim_one()
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        taken_over = await bench.claim_one()
        before = await bench.fresh(endpoint)
        assert await bench.end(lost, status=RunStatus.FAILURE) == [None]
        assert await bench.fresh(endpoint) == before
        (settled,) = await bench.end(taken_over)
        assert settled is not None
        assert [run.status for run in await bench.runs(endpoint)] == [RunStatus.ABANDONED, RunStatus.SUCCESS]

    async def test_a_settled_run_cannot_be_settled_again(self, bench: Bench) -> None:
        endpoint = await bench.add()
        claim = await bench.claim_one()
        await bench.end(claim)
        before = await bench.fresh(endpoint)
        assert await bench.end(claim, status=RunStatus.FAILURE) == [None]
        assert await bench.fresh(endpoint) == before

    async def test_a_lease_that_ran_out_and_was_not_swept_still_settles(self, bench: Bench) -> None:
        endpoint = await bench.add()
        claim = await bench.claim_one()
        bench.pass_ms(LEASE_MS + 1)
        (settled,) = await bench.end(claim)
        assert settled is not None
        assert [run.status for run in await bench.runs(endpoint)] == [RunStatus.SUCCESS]

    async def test_a_renewed_lease_is_not_swept(self, bench: Bench) -> None:
        await bench.add()
        claim = await bench.claim_one()
        bench.pass_ms(LEASE_MS - 1)
        assert await bench.store.endpoints.renew([claim], bench.ms(LEASE_MS)) == {claim.run_id}
        bench.pass_ms(LEASE_MS - 1)
        assert await bench.sweep() == []
        bench.pass_ms(1)
        assert len(await bench.sweep()) == 1

    async def test_only_leases_that_are_held_are_renewed(self, bench: Bench) -> None:
        await bench.add("settled")
        await bench.add("held")
        settled, held = await bench.claim()
        await bench.end(settled)
        assert await bench.store.endpoints.renew([settled, held], bench.ms(LEASE_MS)) == {held.run_id}

    async def test_a_live_lease_is_not_swept(self, bench: Bench) -> None:
        await bench.add()
        await bench.claim_one()
        bench.pass_ms(LEASE_MS - 1)
        assert await bench.sweep() == []

    async def test_a_swept_run_is_abandoned_and_counts_as_a_failure(self, bench: Bench) -> None:
        endpoint = await bench.add(failure_count=1)
        claim = await bench.claim_one()
        started = bench.ms(0)
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        (run,) = await bench.runs(endpoint)
        after = await bench.fresh(endpoint)
        assert (run.id, run.status, run.verdict) == (claim.run_id, RunStatus.ABANDONED, False)
        assert (after.failure_count, after.last_run_at, after.lease) == (2, started, None)

    async def test_an_abandoned_slot_stays_due_with_the_same_key_and_the_next_attempt(
        self, bench: Bench
    ) -> None:
        await bench.add()
        first = await bench.claim_one()
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        second = await bench.claim_one()
        assert (second.slot, second.attempt) == (first.slot, 2)
        assert second.idempotency_key == first.idempotency_key
        assert second.run_id != first.run_id

    async def test_an_abandoned_slot_waits_for_the_minimum_interval(self, bench: Bench) -> None:
        endpoint = await bench.add(guard=Guard(min_interval_ms=LEASE_MS + 5_000))
        await bench.claim_one()
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        assert await bench.claim() == []
        assert (await bench.fresh(endpoint)).next_run_at == bench.ms(5_000)

    async def test_what_was_claimed_ahead_and_never_dispatched_did_not_run(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(100))
        await bench.claim_one(within_ms=100)
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        after = await bench.fresh(endpoint)
        assert (after.last_run_at, after.failure_count) == (None, 1)

    async def test_an_endpoint_abandoned_three_times_in_a_row_is_paused_and_says_so(
        self, bench: Bench
    ) -> None:
        endpoint = await bench.add()
        for _ in range(3):
            await bench.claim_one()
            bench.pass_ms(LEASE_MS)
            await bench.sweep()
        after = await bench.fresh(endpoint)
        assert after.paused(bench.ms(0))
        assert (
            after.pause_reason == "its process died 3 times while it ran alone; resume it when that is fixed"
        )
        assert after.next_source is Source.PAUSED
        assert await bench.claim() == []
        assert [run.verdict for run in await bench.runs(endpoint)] == [False, False, True]

    @pytest.mark.parametrize("between", [RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT])
    async def test_a_run_that_ended_breaks_the_row_of_abandonments(
        self, bench: Bench, between: RunStatus
    ) -> None:
        endpoint = await bench.add()
        for abandoned in (True, True, False, True, True):
            claim = await bench.claim_one()
            if not abandoned:
                await bench.end(claim, status=between)
            bench.pass_ms(MINUTE)
            await bench.sweep()
        assert not (await bench.fresh(endpoint)).paused(bench.ms(0))

    async def test_many_runs_are_swept_at_once(self, bench: Bench) -> None:
        for number in range(20):
            await bench.add(f"endpoint-{number}")
        await bench.claim()
        bench.pass_ms(LEASE_MS)
        assert len(await bench.sweep()) == 20
        assert len(await bench.claim()) == 20
