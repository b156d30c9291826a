"""A quota is asked before a dispatch; what it refuses is skipped and planned for when it opens."""

from typing import Any

from tests.scheduling.worker.call_recorder import once
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.policy import Misfire, Policy
from cadenza.domain.scheduling.run import RunStatus
from cadenza.ports.access import QuotaKind, QuotaRequest
from cadenza.testing.clock import NEW_YEAR


async def test_the_quota_is_asked_with_the_tenant_of_each_endpoint() -> None:
    fixture = WorkerFixture()
    await fixture.add("a", tenant_id="north")
    await fixture.add("b", tenant_id="south")
    await fixture.tick()
    assert sorted(fixture.quota.asked) == [
        QuotaRequest(QuotaKind.ENDPOINT, "north"),
        QuotaRequest(QuotaKind.ENDPOINT, "south"),
    ]


async def test_a_closed_quota_leaves_a_skipped_row_and_plans_for_when_it_opens() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    opens_at = fixture.at(10 * MINUTE)
    fixture.quota.close(opens_at)
    await fixture.tick()
    run, after = await fixture.only_run(), await fixture.endpoint()
    assert (run.status, run.reason, run.verdict) == (RunStatus.SKIPPED, "the quota is used up", True)
    assert (after.next_run_at, after.next_source) == (opens_at, "quota")
    assert (after.failure_count, after.last_run_at, fixture.dispatcher.executed) == (0, None, [])


async def test_a_closure_leaves_one_row_however_often_the_worker_looks() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    fixture.quota.close(fixture.at(10 * MINUTE))
    for _ in range(9):
        await fixture.tick()
        await fixture.clock.sleep(MINUTE)
    assert len(await fixture.runs()) == len(fixture.quota.asked) == 1


async def test_each_closure_has_its_row() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    for _ in range(3):
        fixture.quota.close(fixture.at(MINUTE))
        await fixture.tick()
        await fixture.clock.sleep(MINUTE)
    assert [run.slot for run in await fixture.runs()] == [fixture.at(-MINUTE * ago) for ago in (3, 2, 1)]


async def test_when_the_quota_opens_the_endpoint_runs_and_is_back_on_its_baseline() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    fixture.quota.close(fixture.at(10 * MINUTE))
    await fixture.tick()
    fixture.quota.open()
    await fixture.clock.sleep(10 * MINUTE)
    ((after, run, *_),) = await fixture.tick()
    assert (run.status, run.source, run.late_ms) == (RunStatus.SUCCESS, "quota", 0)
    assert (after.next_run_at, after.quota_opens_at) == (fixture.at(MINUTE), None)


async def test_a_nudge_waits_for_the_quota() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    opens_at = fixture.at(10 * MINUTE)
    fixture.quota.close(opens_at)
    await fixture.tick()
    await fixture.tool("propose_next_time", nextRunInMs=0)
    assert (await fixture.endpoint()).next_run_at == opens_at


async def test_a_tenant_without_quota_costs_the_others_nothing() -> None:
    fixture = WorkerFixture()
    await fixture.add("poor", tenant_id="north")
    await fixture.add("rich")
    fixture.quota.close(fixture.at(MINUTE), tenant_id="north")
    await fixture.tick()
    assert fixture.dispatcher.names() == ["rich"]


async def test_a_loop_skips_what_the_quota_refuses_and_runs_it_when_it_opens() -> None:
    fixture = on_manual_clock()
    await fixture.add()
    moments = fixture.moments()
    fixture.quota.close(fixture.at(5_000))
    async with RunningWorker(fixture):
        fixture.quota.open()
        await fixture.clock.advance(MINUTE)
    assert moments == [5_000]
    assert [run.status for run in await fixture.runs()] == ["skipped", "success"]


async def test_a_quota_that_cannot_be_asked_gives_the_claims_back() -> None:
    fixture = on_manual_clock()
    for name in ("a", "b"):
        await fixture.add(name)

    async def fail() -> Any:
        raise Unavailable("the quota sleeps")

    fixture.asked.before["check"] = once(fail)
    async with RunningWorker(fixture):
        await fixture.clock.advance(2_000)
    for name in ("a", "b"):
        given_back, run = await fixture.runs(name)
        assert (given_back.status, given_back.reason) == ("cancelled", "the quota could not be asked")
        assert (given_back.verdict, given_back.started_at) == (False, None)
        assert (run.status, run.slot, run.attempt, run.verdict) == ("success", NEW_YEAR, 1, True)


async def test_a_quota_that_cannot_be_asked_makes_no_busy_loop() -> None:
    fixture = on_manual_clock()
    await fixture.add()
    fixture.asked.fail("check", Unavailable("The quota is away."))
    async with RunningWorker(fixture):
        for _ in range(5):
            await fixture.clock.advance(0)
        assert fixture.store.calls["claim_due"] <= 2
        assert len(await fixture.runs()) <= 2


async def test_a_claim_that_was_lost_while_the_quota_was_asked_is_not_dispatched() -> None:
    fixture = on_manual_clock(lease_ms=3_000)
    await fixture.add()
    ahead = WorkerFixture(store=fixture.store.port)

    async def slowly() -> Any:
        await fixture.clock.sleep(2_000)

    fixture.asked.before["check"] = slowly
    async with RunningWorker(fixture):
        ahead.clock.jump(MINUTE)
        await ahead.sweeper.sweep()
        assert len(await ahead.claim(1)) == 1
        await fixture.clock.advance(2_500)
        assert "leases were lost; their runs are cancelled" in fixture.log.events("warning")
        assert fixture.dispatcher.executed == []


async def test_what_misfired_is_not_charged() -> None:
    fixture = WorkerFixture()
    policy = Policy(misfire=Misfire.SKIP, misfire_grace_ms=1_000)
    await fixture.add("late", in_ms=-5_000, policy=policy)
    await fixture.add("due")
    await fixture.tick()
    assert len(fixture.quota.asked) == 1
    assert (await fixture.only_run("late")).status is RunStatus.SKIPPED
    assert (await fixture.only_run("due")).status is RunStatus.SUCCESS


async def test_a_quota_that_opened_already_is_open() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    fixture.quota.close(fixture.clock.now())
    await fixture.tick()
    assert (await fixture.only_run()).status is RunStatus.SUCCESS
