"""What a finished run does to its endpoint."""

import pytest

from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Backoff, Guard, Policy
from cadenza.domain.scheduling.run import Outcome, RunStatus
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract


class SettleContract(Contract):
    """`finalize`."""

    async def test_a_settled_run_keeps_what_the_dispatcher_saw(self, bench: Bench) -> None:
        endpoint = await bench.add()
        claim = await bench.claim_one()
        bench.pass_ms(120)
        response = {"status": 200, "body": {"visitors": [1, 2.5, None, "ä\N{SNOWMAN}"]}}
        await bench.end(claim, duration_ms=120, response=response)
        (run,) = await bench.runs(endpoint)
        assert (run.status, run.duration_ms, run.response) == (RunStatus.SUCCESS, 120, response)
        assert (run.started_at, run.finished_at, run.verdict) == (bench.ms(-120), bench.ms(0), True)

    @pytest.mark.parametrize("others", [0, 3])
    async def test_a_run_keeps_the_traceback_of_its_function(self, bench: Bench, others: int) -> None:
        endpoint = await bench.add()
        for number in range(others):
            await bench.add(f"other-{number}")
        claims = await bench.claim()
        raised = "Traceback (most recent call last):\n  ä\0\ud800\nValueError: no"
        failed = Outcome(RunStatus.FAILURE, error="ValueError: no", traceback=raised)
        done = Outcome(RunStatus.SUCCESS)
        await bench.finalize([(one, failed if one.key == endpoint.key else done) for one in claims])
        closed = {one.key: await bench.store.runs.run(one.key.tenant_id, one.run_id) for one in claims}
        kept = closed.pop(endpoint.key).traceback
        assert kept is not None
        assert kept.startswith("Traceback (most recent call last):\n  ä")
        assert kept.endswith("\nValueError: no")
        assert [run.traceback for run in closed.values()] == [None] * others

    async def test_the_next_run_is_planned_from_the_start_of_the_last(self, bench: Bench) -> None:
        endpoint = await bench.add(baseline=Every(MINUTE))
        claim = await bench.claim_one()
        bench.pass_ms(5_000)
        await bench.end(claim)
        after = await bench.fresh(endpoint)
        assert (after.last_run_at, after.next_run_at) == (bench.ms(-5_000), bench.ms(55_000))
        assert (after.next_source, after.lease) == (Source.BASELINE_INTERVAL, None)

    async def test_a_cron_endpoint_is_planned_in_its_time_zone(self, bench: Bench) -> None:
        endpoint = await bench.add(baseline=Cron("30 1 * * *", "Europe/Berlin"))
        await bench.run_once()
        after = await bench.fresh(endpoint)
        assert (after.next_run_at, after.next_source) == (bench.ms(30 * MINUTE), Source.BASELINE_CRON)

    async def test_hints_written_during_a_run_count(self, bench: Bench) -> None:
        endpoint = await bench.add()
        claim = await bench.claim_one()
        await bench.tool(endpoint, "propose_interval", intervalMs=20_000, reason="surge")
        await bench.end(claim)
        after = await bench.fresh(endpoint)
        assert (after.next_run_at, after.next_source) == (bench.ms(20_000), Source.AI_INTERVAL)

    async def test_a_pause_written_during_a_run_counts(self, bench: Bench) -> None:
        endpoint = await bench.add()
        claim = await bench.claim_one()
        await bench.tool(endpoint, "pause_until", untilIso="2025-01-02T00:00:00Z")
        await bench.end(claim)
        assert (await bench.fresh(endpoint)).next_run_at == bench.ms(24 * 60 * MINUTE)

    async def test_expired_hints_are_cleared_when_the_next_run_settles(self, bench: Bench) -> None:
        endpoint = await bench.add()
        await bench.tool(endpoint, "propose_interval", intervalMs=30_000, ttlMinutes=1)
        await bench.run_once()
        assert (await bench.fresh(endpoint)).interval_hint is not None
        bench.pass_ms(MINUTE)
        await bench.run_once()
        after = await bench.fresh(endpoint)
        assert (after.interval_hint, after.next_run_at) == (None, bench.ms(MINUTE))

    async def test_a_one_shot_fires_once(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(MINUTE))
        await bench.tool(endpoint, "propose_next_time", nextRunInMs=5_000)
        bench.pass_ms(5_000)
        run = await bench.run_once()
        after = await bench.fresh(endpoint)
        assert run.source is Source.AI_ONESHOT
        assert (after.one_shot_hint, after.next_run_at) == (None, bench.ms(MINUTE))

    async def test_failures_are_counted_and_a_success_resets_them(self, bench: Bench) -> None:
        endpoint = await bench.add()
        counts = []
        for status in (RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.SUCCESS, RunStatus.FAILURE):
            await bench.run_once(status)
            counts.append((await bench.fresh(endpoint)).failure_count)
            bench.pass_ms(MINUTE)
        assert counts == [1, 2, 0, 1]

    @pytest.mark.parametrize("status", [RunStatus.SKIPPED, RunStatus.CANCELLED])
    async def test_what_did_not_end_leaves_the_failure_count_alone(
        self, bench: Bench, status: RunStatus
    ) -> None:
        endpoint = await bench.add(failure_count=2)
        await bench.run_once(status)
        assert (await bench.fresh(endpoint)).failure_count == 2

    async def test_backoff_counts_the_failure_that_just_happened_and_ends_with_success(
        self, bench: Bench
    ) -> None:
        endpoint = await bench.add(policy=Policy(backoff=Backoff.EXPONENTIAL))
        for status, minutes in ((RunStatus.FAILURE, 2), (RunStatus.FAILURE, 4), (RunStatus.SUCCESS, 1)):
            await bench.run_once(status)
            assert (await bench.fresh(endpoint)).next_run_at == bench.ms(minutes * MINUTE)
            bench.pass_ms(minutes * MINUTE)

    async def test_a_failed_slot_is_retried_under_the_same_key(self, bench: Bench) -> None:
        endpoint = await bench.add(policy=Policy(max_attempts=3, retry_delay_ms=1_000))
        first = await bench.claim_one()
        await bench.end(first, status=RunStatus.FAILURE, error="no")
        assert (await bench.fresh(endpoint)).next_source is Source.RETRY
        bench.pass_ms(1_000)
        second = await bench.claim_one()
        assert (second.attempt, second.idempotency_key) == (2, first.idempotency_key)
        await bench.end(second)
        assert [(run.attempt, run.slot, run.verdict) for run in await bench.runs(endpoint)] == [
            (1, first.slot, False),
            (2, first.slot, True),
        ]
        assert (await bench.fresh(endpoint)).open_slot is None

    async def test_the_last_attempt_is_the_verdict(self, bench: Bench) -> None:
        endpoint = await bench.add(policy=Policy(max_attempts=2, retry_delay_ms=0))
        await bench.run_once(RunStatus.FAILURE)
        await bench.run_once(RunStatus.FAILURE)
        assert [run.verdict for run in await bench.runs(endpoint)] == [False, True]
        assert (await bench.fresh(endpoint)).next_run_at == bench.ms(MINUTE)

    async def test_a_retry_keeps_the_minimum_interval(self, bench: Bench) -> None:
        policy = Policy(max_attempts=2, retry_delay_ms=1_000)
        endpoint = await bench.add(policy=policy, guard=Guard(min_interval_ms=9_000))
        await bench.run_once(RunStatus.FAILURE)
        assert (await bench.fresh(endpoint)).next_run_at == bench.ms(9_000)

    async def test_what_runs_once_is_finished_by_its_verdict(self, bench: Bench) -> None:
        endpoint = await bench.add(
            baseline=Once(bench.ms(0)), policy=Policy(max_attempts=2, retry_delay_ms=0)
        )
        await bench.run_once(RunStatus.FAILURE)
        assert (await bench.fresh(endpoint)).next_run_at == bench.ms(0)
        await bench.run_once(RunStatus.FAILURE)
        after = await bench.fresh(endpoint)
        assert (after.next_run_at, after.next_source) == (None, Source.FINISHED)
        bench.pass_ms(24 * 60 * MINUTE)
        assert await bench.claim() == []

    async def test_what_was_cancelled_while_it_ran_is_run_again(self, bench: Bench) -> None:
        endpoint = await bench.add(baseline=Once(bench.ms(0)))
        await bench.run_once(RunStatus.CANCELLED, reason="its worker stopped before it ended")
        run = await bench.run_once()
        assert (run.attempt, run.verdict) == (2, True)
        assert [run.verdict for run in await bench.runs(endpoint)] == [False, True]

    async def test_a_batch_is_settled_each_by_its_own_outcome_and_in_order(self, bench: Bench) -> None:
        for name in ("a", "b", "c"):
            await bench.add(name)
        claims = await bench.claim()
        outcomes = [RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT]
        settled = await bench.finalize(
            [(claim, Outcome(status)) for claim, status in zip(claims, outcomes, strict=True)]
        )
        assert [(one.run.id, one.run.status) for one in settled if one is not None] == [
            (claim.run_id, status) for claim, status in zip(claims, outcomes, strict=True)
        ]

    async def test_a_lost_lease_in_a_batch_costs_the_others_nothing(self, bench: Bench) -> None:
        await bench.add("lost")
        await bench.add("held")
        lost, held = await bench.claim()
        await bench.end(lost)
        answers = await bench.end(lost, held)
        assert [answer is None for answer in answers] == [True, False]
