"""Every slot ends in one row that says what became of it."""

import pytest

from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import RunStatus
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract


class SlotContract(Contract):
    """Misfires, coalescing, quotas, one-shots that nobody served."""

    async def test_a_late_run_says_how_late(self, bench: Bench) -> None:
        await bench.add()
        bench.pass_ms(1_500)
        assert (await bench.run_once()).late_ms == 1_500

    async def test_slots_missed_while_nobody_worked_coalesce_into_one_with_their_number(
        self, bench: Bench
    ) -> None:
        endpoint = await bench.add(baseline=Every(MINUTE))
        slot = bench.ms(0)
        bench.pass_ms(4 * MINUTE + 30_000)
        run = await bench.run_once()
        assert (run.slot, run.coalesced) == (slot, 4)
        assert (await bench.fresh(endpoint)).next_run_at == bench.ms(MINUTE)
        assert len(await bench.runs(endpoint)) == 1

    async def test_slots_missed_during_a_long_run_coalesce_into_the_next(self, bench: Bench) -> None:
        endpoint = await bench.add(baseline=Every(MINUTE))
        claim = await bench.claim_one()
        bench.pass_ms(3 * MINUTE + 30_000)
        await bench.end(claim)
        assert (await bench.fresh(endpoint)).next_run_at == bench.ms(0)
        assert (await bench.run_once()).coalesced == 2
        assert (await bench.fresh(endpoint)).missed_slots == 0

    async def test_cron_fires_missed_coalesce_too(self, bench: Bench) -> None:
        await bench.add(baseline=Cron("*/5 * * * *"))
        bench.pass_ms(16 * MINUTE)
        assert (await bench.run_once()).coalesced == 3

    async def test_moments_during_a_pause_are_no_slots(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(MINUTE))
        await bench.tool(endpoint, "pause_until", untilIso="2025-01-01T01:00:00Z")
        bench.pass_ms(60 * MINUTE)
        run = await bench.run_once()
        assert (run.coalesced, run.late_ms, run.source) == (0, 0, Source.PAUSED)

    async def test_a_skipped_slot_moves_where_planning_starts_and_not_the_last_run(
        self, bench: Bench
    ) -> None:
        endpoint = await bench.add(last_run_at=bench.ms(-MINUTE))
        bench.pass_ms(90_000)
        run = await bench.run_once(RunStatus.SKIPPED, reason="late")
        after = await bench.fresh(endpoint)
        assert (run.status, run.verdict, run.coalesced) == (RunStatus.SKIPPED, True, 1)
        assert (after.last_run_at, after.next_run_at) == (bench.ms(-150_000), bench.ms(MINUTE))

    async def test_a_closed_quota_is_one_skipped_row_and_the_plan_waits_for_it(self, bench: Bench) -> None:
        endpoint = await bench.add()
        opens_at = bench.ms(30 * MINUTE)
        await bench.run_once(RunStatus.SKIPPED, reason="the quota is used up", opens_at=opens_at)
        after = await bench.fresh(endpoint)
        assert (after.next_run_at, after.next_source) == (opens_at, Source.QUOTA)
        bench.pass_ms(29 * MINUTE)
        assert await bench.claim() == []
        bench.pass_ms(MINUTE)
        assert (await bench.run_once()).status is RunStatus.SUCCESS
        assert len(await bench.runs(endpoint)) == 2

    async def test_nudges_wait_for_the_quota(self, bench: Bench) -> None:
        endpoint = await bench.add()
        opens_at = bench.ms(30 * MINUTE)
        await bench.run_once(RunStatus.SKIPPED, opens_at=opens_at)
        await bench.tool(endpoint, "propose_next_time", nextRunInMs=1_000)
        assert (await bench.fresh(endpoint)).next_run_at == opens_at

    async def test_what_runs_once_outlives_a_closed_quota(self, bench: Bench) -> None:
        endpoint = await bench.add(baseline=Once(bench.ms(0)))
        await bench.run_once(RunStatus.SKIPPED, opens_at=bench.ms(MINUTE))
        bench.pass_ms(MINUTE)
        await bench.run_once()
        assert (await bench.fresh(endpoint)).next_run_at is None

    @pytest.mark.parametrize("ended_by", ["sweep", "another one-shot"])
    async def test_a_one_shot_that_expires_unserved_leaves_a_skipped_run(
        self, bench: Bench, ended_by: str
    ) -> None:
        endpoint = await bench.add(
            paused_until=bench.ms(24 * 60 * MINUTE), next_run_at=bench.ms(24 * 60 * MINUTE)
        )
        await bench.tool(endpoint, "propose_next_time", nextRunInMs=MINUTE, ttlMinutes=5)
        slot = bench.ms(MINUTE)
        bench.pass_ms(5 * MINUTE)
        if ended_by == "sweep":
            await bench.sweep()
        else:
            await bench.tool(endpoint, "propose_next_time", nextRunInMs=MINUTE)
        await bench.sweep()
        (run,) = await bench.runs(endpoint)
        assert (run.slot, run.status, run.source) == (slot, RunStatus.SKIPPED, Source.AI_ONESHOT)
        assert (run.verdict, run.reason) == (True, "the one-shot hint expired unserved")

    async def test_a_one_shot_that_is_due_is_served_late_rather_than_skipped(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(60 * MINUTE))
        await bench.tool(endpoint, "propose_next_time", nextRunInMs=MINUTE, ttlMinutes=2)
        bench.pass_ms(10 * MINUTE)
        await bench.sweep()
        await bench.run_once()
        assert [run.status for run in await bench.runs(endpoint)] == [RunStatus.SUCCESS]

    async def test_a_slot_that_was_due_when_the_pause_came_is_skipped_with_that_reason(
        self, bench: Bench
    ) -> None:
        endpoint = await bench.add()
        await bench.tool(endpoint, "pause_until", untilIso="2025-02-01T00:00:00Z")
        (run,) = await bench.runs(endpoint)
        assert (run.slot, run.status) == (bench.ms(0), RunStatus.SKIPPED)
        assert run.reason == "paused before it could start"
