"""Requested runs: they wait beside the schedule, are claimed like any other run, and are no verdicts."""

import pytest

from cadenza.domain.errors import NotFound
from cadenza.domain.scheduling.baseline import Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job, evolve
from cadenza.domain.scheduling.plan import RunKind, Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.requested_runs.asking import take_requests
from cadenza.domain.scheduling.requested_runs.queue import RunRequest
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint, archive
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.scheduling import OpenRunFilter
from cadenza.testing.contracts.harness import LEASE_MS, MINUTE, Bench, Contract

HOUR = 60 * MINUTE


async def ask(
    bench: Bench, endpoint: Endpoint, *before_ms: int, source: Source = Source.RERUN
) -> ChangedEndpoint:
    """Ask for runs of slots so many milliseconds ago."""
    now = bench.clock.now()
    wanted = [RunRequest(bench.ms(-span), 2, source, "key:person", "a reason") for span in before_ms]
    return await bench.store.endpoints.amend(endpoint.key, lambda one: take_requests(one, wanted, now=now))


class RequestedRunContract(Contract):
    """What waits beside the schedule."""

    async def test_a_requested_run_is_claimed_at_once_and_the_schedule_keeps_its_next_run(
        self, bench: Bench
    ) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(MINUTE), baseline=Every(HOUR))
        await ask(bench, endpoint, HOUR)
        claim = await bench.claim_one()
        assert (claim.slot, claim.attempt, claim.source) == (bench.ms(-HOUR), 2, Source.RERUN)
        (settled,) = await bench.end(claim)
        assert settled is not None
        after = await bench.fresh(endpoint)
        assert after == settled.endpoint
        assert (after.next_run_at, after.requested, after.lease) == (bench.ms(MINUTE), None, None)
        (run,) = await bench.runs(endpoint)
        assert (run.kind, run.slot, run.attempt, run.verdict) == (RunKind.RERUN, bench.ms(-HOUR), 2, False)
        assert await bench.claim() == []

    async def test_what_an_endpoint_was_asked_for_comes_back_as_it_was(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(MINUTE))
        asked = await ask(bench, endpoint, HOUR, 2 * HOUR)
        assert await bench.fresh(endpoint) == asked.endpoint
        claim = await bench.claim_one()
        assert await bench.fresh(endpoint) == claim.endpoint
        assert claim.endpoint.requested is not None
        assert claim.endpoint.requested.in_flight == claim.slot

    async def test_requested_runs_come_one_after_the_other_in_their_order(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(HOUR))
        await ask(bench, endpoint, 3 * MINUTE, 2 * MINUTE, source=Source.BACKFILL)
        await ask(bench, endpoint, 3 * MINUTE, MINUTE, source=Source.BACKFILL)
        slots = []
        while claims := await bench.claim():
            slots += [claim.slot for claim in claims]
            assert await bench.claim() == []
            await bench.end(*claims)
        assert slots == [bench.ms(-span * MINUTE) for span in (3, 2, 1)]

    async def test_a_schedule_that_is_always_due_takes_turns_with_requested_runs(self, bench: Bench) -> None:
        endpoint = await bench.add(baseline=Every(1_000))
        await ask(bench, endpoint, HOUR, 2 * HOUR, source=Source.BACKFILL)
        kinds = []
        for _ in range(5):
            claim = await bench.claim_one()
            bench.pass_ms(2_000)
            (settled,) = await bench.end(claim)
            assert settled is not None
            kinds.append(settled.run.kind)
        scheduled, backfill = RunKind.SCHEDULED, RunKind.BACKFILL
        assert kinds == [scheduled, backfill, scheduled, backfill, scheduled]

    @pytest.mark.parametrize("status", [RunStatus.FAILURE, RunStatus.TIMEOUT])
    async def test_a_requested_run_that_failed_has_served_its_request(
        self, bench: Bench, status: RunStatus
    ) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(HOUR))
        await ask(bench, endpoint, HOUR)
        await bench.end(await bench.claim_one(), status=status)
        after = await bench.fresh(endpoint)
        assert (after.requested, after.failure_count, after.open_slot) == (None, 1, None)

    async def test_an_abandoned_request_is_run_again_as_the_next_attempt(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(HOUR))
        await ask(bench, endpoint, HOUR)
        lost, slot = await bench.claim_one(), bench.ms(-HOUR)
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        assert await bench.end(lost) == [None]
        (again,) = await bench.claim(can_run=None)
        assert (again.slot, again.attempt, again.idempotency_key) == (slot, 3, lost.idempotency_key)
        await bench.end(again)
        kinds = [(run.kind, run.status, run.verdict) for run in await bench.runs(endpoint)]
        rerun = RunKind.RERUN
        assert kinds == [(rerun, RunStatus.ABANDONED, False), (rerun, RunStatus.SUCCESS, False)]

    async def test_a_request_that_its_worker_gave_back_waits_on(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(HOUR))
        await ask(bench, endpoint, HOUR)
        claim = (await bench.claim_one())._replace(started_at=None)
        await bench.end(claim, status=RunStatus.CANCELLED)
        assert (await bench.claim_one()).attempt == claim.attempt
        assert (await bench.fresh(endpoint)).next_run_at == bench.ms(HOUR)

    async def test_a_pause_and_the_guard_hold_requested_runs(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(HOUR), last_run_at=bench.ms(0), guard=Guard(MINUTE))
        await ask(bench, endpoint, HOUR)
        assert await bench.claim() == []
        bench.pass_ms(MINUTE)
        await bench.tool(endpoint, "pause_until", untilIso=bench.ms(MINUTE).isoformat())
        assert await bench.claim() == []
        bench.pass_ms(MINUTE)
        assert (await bench.claim_one()).source is Source.RERUN

    async def test_a_job_that_is_switched_off_holds_requested_runs(self, bench: Bench) -> None:
        await bench.store.catalog.add_job(Job(id="job", name="job"))
        endpoint = await bench.add(next_run_at=bench.ms(HOUR), job_id="job")
        await bench.switch("job", active=False)
        await ask(bench, endpoint, HOUR)
        assert await bench.claim() == []
        await bench.switch("job", active=True)
        assert (await bench.claim_one()).source is Source.RERUN

    async def test_an_endpoint_that_is_finished_runs_what_is_requested(self, bench: Bench) -> None:
        fields = {"baseline": Once(bench.ms(-HOUR)), "last_run_at": bench.ms(-HOUR)}
        endpoint = await bench.add(next_run_at=None, next_source=Source.FINISHED, **fields)
        await ask(bench, endpoint, HOUR)
        await bench.end(await bench.claim_one())
        after = await bench.fresh(endpoint)
        assert (after.next_run_at, after.next_source) == (None, Source.FINISHED)

    async def test_what_waits_is_cancelled_when_its_endpoint_is_deleted_and_does_not_come_back(
        self, bench: Bench
    ) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(HOUR))
        await ask(bench, endpoint, HOUR, 2 * HOUR)
        claim, now = await bench.claim_one(), bench.clock.now()
        await bench.store.endpoints.amend(endpoint.key, lambda one: archive(one, now=now))
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        cancelled, abandoned = sorted(await bench.runs(endpoint), key=lambda run: run.slot)
        assert (cancelled.status, cancelled.reason) == (RunStatus.CANCELLED, "its endpoint was deleted")
        assert (cancelled.kind, cancelled.verdict) == (RunKind.RERUN, False)
        assert (abandoned.id, abandoned.status) == (claim.run_id, RunStatus.ABANDONED)
        assert (await bench.fresh(endpoint)).requested is None
        assert await bench.claim() == []

    async def test_a_request_wakes_workers(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(HOUR))
        async with bench.wakes_workers():
            await ask(bench, endpoint, HOUR)

    async def test_the_next_due_moment_counts_requested_runs(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(HOUR))
        await ask(bench, endpoint, HOUR)
        assert await bench.store.endpoints.next_due() == bench.clock.now()

    async def test_endpoints_with_open_and_requested_runs_are_found_within_their_tenant(
        self, bench: Bench
    ) -> None:
        running = await bench.add("running", job_id="other")
        await bench.add("idle", next_run_at=bench.ms(HOUR))
        waiting = await bench.add("waiting", next_run_at=bench.ms(HOUR))
        foreign = await bench.add("waiting", tenant_id="foreign", next_run_at=bench.ms(HOUR))
        claim = await bench.claim_one()
        for one in (waiting, foreign):
            await ask(bench, one, HOUR)
        found = await bench.store.runs.open_runs("default")
        assert [(one.endpoint.id, one.open_run and one.open_run.id) for one in found] == [
            ("running", claim.run_id),
            ("waiting", None),
        ]
        assert found[1].endpoint == await bench.fresh(waiting)

        async def ids(page: Page = FIRST_PAGE, **wanted: str) -> list[str]:
            some = await bench.store.runs.open_runs("default", wanted=OpenRunFilter(**wanted), page=page)
            return [one.endpoint.id for one in some]

        assert await ids(endpoint_id="waiting") == ["waiting"]
        assert await ids(job_id=running.job_id) == ["running"]
        assert await ids(Page(1)) == ["running"]
        assert await ids(Page(1, "running")) == ["waiting"]

    async def test_the_runs_of_a_slot_are_found_from_one_of_them_on(self, bench: Bench) -> None:
        endpoint = await bench.add(baseline=Every(HOUR))
        first = await bench.run_once(RunStatus.FAILURE)
        slot = first.slot
        bench.pass_ms(MINUTE)
        await ask(bench, endpoint, MINUTE)
        second = await bench.run_once()
        bench.pass_ms(HOUR)
        await bench.run_once()
        assert [run.id for run in await bench.store.runs.runs_of_slot(first)] == [first.id, second.id]
        assert [run.slot for run in await bench.store.runs.runs_of_slot(second)] == [slot]

    async def test_what_is_not_there_cannot_be_asked(self, bench: Bench) -> None:
        key = EndpointKey("default", "nowhere")
        with pytest.raises(NotFound):
            await bench.store.endpoints.amend_with_open_run(key, lambda one, _: ChangedEndpoint(evolve(one)))
