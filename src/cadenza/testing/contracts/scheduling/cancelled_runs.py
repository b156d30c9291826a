"""Runs that are cancelled: the request is stored with the lease, and the run is the verdict of its slot."""

from functools import partial

import pytest

from cadenza.domain.errors import Conflict
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.requested_runs.cancelling import cancel_open_run
from cadenza.domain.scheduling.requested_runs.queue import CancelRequest
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.testing.contracts.harness import LEASE_MS, MINUTE, Bench, Contract

WORDS = "cancelled by person: key person: wrong data"


async def cancel(bench: Bench, endpoint: Endpoint, run_id: str) -> ChangedEndpoint:
    """Ask to cancel an open run."""
    now = bench.clock.now()
    asked = CancelRequest(run_id, "key:person", now, "wrong data")
    change = partial(cancel_open_run, asked=asked, now=now, cron=bench.cron)
    return await bench.store.endpoints.amend_with_open_run(endpoint.key, change)


class CancelledRunContract(Contract):
    """`amend_with_open_run` and `to_cancel`."""

    async def test_a_run_that_goes_on_is_told_to_the_worker_that_has_it(self, bench: Bench) -> None:
        endpoint = await bench.add(baseline=Every(MINUTE))
        other = await bench.add("other")
        claims = await bench.claim()
        mine = next(one for one in claims if one.key == endpoint.key)
        assert await bench.store.endpoints.to_cancel(claims) == set()
        asked = await cancel(bench, endpoint, mine.run_id)
        assert asked.endpoint == await bench.fresh(endpoint)
        assert await bench.store.endpoints.to_cancel(claims) == {mine.run_id}
        assert await bench.store.endpoints.to_cancel([one for one in claims if one.key == other.key]) == set()
        (settled,) = await bench.end(mine, status=RunStatus.CANCELLED)
        assert settled is not None
        assert (settled.run.status, settled.run.verdict, settled.run.reason) == (
            RunStatus.CANCELLED,
            True,
            WORDS,
        )
        after = await bench.fresh(endpoint)
        assert (after.cancel_request, after.next_run_at, after.failure_count) == (None, bench.ms(MINUTE), 0)
        assert await bench.store.endpoints.to_cancel(claims) == set()

    async def test_a_run_that_ended_before_the_request_reached_it_keeps_its_outcome_and_is_not_retried(
        self, bench: Bench
    ) -> None:
        endpoint = await bench.add(baseline=Every(MINUTE))
        claim = await bench.claim_one()
        await cancel(bench, endpoint, claim.run_id)
        await bench.end(claim, status=RunStatus.FAILURE)
        (run,) = await bench.runs(endpoint)
        assert (run.status, run.verdict) == (RunStatus.FAILURE, True)
        assert (await bench.fresh(endpoint)).open_slot is None

    async def test_a_claimed_run_that_has_not_begun_is_closed_at_once(self, bench: Bench) -> None:
        endpoint = await bench.add(baseline=Every(MINUTE), next_run_at=bench.ms(1_000))
        claim = await bench.claim_one(within_ms=2_000)
        closed = await cancel(bench, endpoint, claim.run_id)
        assert closed.closed is not None
        after = await bench.fresh(endpoint)
        assert (after.lease, after.next_run_at) == (None, bench.ms(1_000 + MINUTE))
        (run,) = await bench.runs(endpoint)
        assert (run.id, run.status, run.verdict, run.reason) == (
            claim.run_id,
            RunStatus.CANCELLED,
            True,
            WORDS,
        )
        bench.pass_ms(1_000)
        assert await bench.start(claim) == [None]
        assert await bench.end(claim) == [None]
        assert await bench.store.endpoints.renew([claim], bench.ms(LEASE_MS)) == set()
        assert await bench.claim() == []
        bench.pass_ms(MINUTE)
        assert (await bench.claim_one()).slot == bench.clock.now()

    async def test_a_run_whose_worker_is_gone_is_closed_by_the_sweep_as_cancelled(self, bench: Bench) -> None:
        endpoint = await bench.add(baseline=Every(MINUTE), failure_count=1)
        claim = await bench.claim_one()
        await cancel(bench, endpoint, claim.run_id)
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        (run,) = await bench.runs(endpoint)
        assert (run.status, run.verdict, run.reason) == (RunStatus.CANCELLED, True, WORDS)
        after = await bench.fresh(endpoint)
        assert (after.failure_count, after.open_slot, after.lease) == (1, None, None)
        assert await bench.end(claim) == [None]

    async def test_what_has_ended_cannot_be_cancelled(self, bench: Bench) -> None:
        endpoint = await bench.add()
        run = await bench.run_once()
        with pytest.raises(Conflict):
            await cancel(bench, endpoint, run.id)
        assert len(await bench.runs(endpoint)) == 1

    async def test_a_request_to_cancel_wakes_workers(self, bench: Bench) -> None:
        endpoint = await bench.add()
        claim = await bench.claim_one()
        async with bench.wakes_workers():
            await cancel(bench, endpoint, claim.run_id)
