"""A quota is asked before a dispatch; what it refuses is skipped and planned for when it opens."""

from typing import Any

from tests.scheduling.worker.call_recorder import once
from tests.scheduling.worker.running_worker import Worker, by_hand
from tests.scheduling.worker.worker_fixtures import MINUTE, Corridor

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.policy import Misfire, Policy
from cadenza.domain.scheduling.run import RunStatus
from cadenza.ports.access import QuotaKind, QuotaRequest
from cadenza.testing.clock import NEW_YEAR


async def test_the_quota_is_asked_with_the_tenant_of_each_endpoint() -> None:
    corridor = Corridor()
    await corridor.add("a", tenant_id="north")
    await corridor.add("b", tenant_id="south")
    await corridor.tick()
    assert sorted(corridor.quota.asked) == [
        QuotaRequest(QuotaKind.ENDPOINT, "north"),
        QuotaRequest(QuotaKind.ENDPOINT, "south"),
    ]


async def test_a_closed_quota_leaves_a_skipped_row_and_plans_for_when_it_opens() -> None:
    corridor = Corridor()
    await corridor.add()
    opens_at = corridor.at(10 * MINUTE)
    corridor.quota.close(opens_at)
    await corridor.tick()
    run, after = await corridor.only_run(), await corridor.endpoint()
    assert (run.status, run.reason, run.verdict) == (RunStatus.SKIPPED, "the quota is used up", True)
    assert (after.next_run_at, after.next_source) == (opens_at, "quota")
    assert (after.failure_count, after.last_run_at, corridor.dispatcher.executed) == (0, None, [])


async def test_a_closure_leaves_one_row_however_often_the_worker_looks() -> None:
    corridor = Corridor()
    await corridor.add()
    corridor.quota.close(corridor.at(10 * MINUTE))
    for _ in range(9):
        await corridor.tick()
        await corridor.clock.sleep(MINUTE)
    assert len(await corridor.runs()) == len(corridor.quota.asked) == 1


async def test_each_closure_has_its_row() -> None:
    corridor = Corridor()
    await corridor.add()
    for _ in range(3):
        corridor.quota.close(corridor.at(MINUTE))
        await corridor.tick()
        await corridor.clock.sleep(MINUTE)
    assert [run.slot for run in await corridor.runs()] == [corridor.at(-MINUTE * ago) for ago in (3, 2, 1)]


async def test_when_the_quota_opens_the_endpoint_runs_and_is_back_on_its_baseline() -> None:
    corridor = Corridor()
    await corridor.add()
    corridor.quota.close(corridor.at(10 * MINUTE))
    await corridor.tick()
    corridor.quota.open()
    await corridor.clock.sleep(10 * MINUTE)
    ((after, run, *_),) = await corridor.tick()
    assert (run.status, run.source, run.late_ms) == (RunStatus.SUCCESS, "quota", 0)
    assert (after.next_run_at, after.quota_opens_at) == (corridor.at(MINUTE), None)


async def test_a_nudge_waits_for_the_quota() -> None:
    corridor = Corridor()
    await corridor.add()
    opens_at = corridor.at(10 * MINUTE)
    corridor.quota.close(opens_at)
    await corridor.tick()
    await corridor.tool("propose_next_time", nextRunInMs=0)
    assert (await corridor.endpoint()).next_run_at == opens_at


async def test_a_tenant_without_quota_costs_the_others_nothing() -> None:
    corridor = Corridor()
    await corridor.add("poor", tenant_id="north")
    await corridor.add("rich")
    corridor.quota.close(corridor.at(MINUTE), tenant_id="north")
    await corridor.tick()
    assert corridor.dispatcher.names() == ["rich"]


async def test_a_loop_skips_what_the_quota_refuses_and_runs_it_when_it_opens() -> None:
    corridor = by_hand()
    await corridor.add()
    moments = corridor.moments()
    corridor.quota.close(corridor.at(5_000))
    async with Worker(corridor):
        corridor.quota.open()
        await corridor.clock.advance(MINUTE)
    assert moments == [5_000]
    assert [run.status for run in await corridor.runs()] == ["skipped", "success"]


async def test_a_quota_that_cannot_be_asked_gives_the_claims_back() -> None:
    corridor = by_hand()
    for name in ("a", "b"):
        await corridor.add(name)

    async def fail() -> Any:
        raise Unavailable("the quota sleeps")

    corridor.asked.before["check"] = once(fail)
    async with Worker(corridor):
        await corridor.clock.advance(2_000)
    for name in ("a", "b"):
        given_back, run = await corridor.runs(name)
        assert (given_back.status, given_back.reason) == ("cancelled", "the quota could not be asked")
        assert (given_back.verdict, given_back.started_at) == (False, None)
        assert (run.status, run.slot, run.attempt, run.verdict) == ("success", NEW_YEAR, 1, True)


async def test_a_quota_that_cannot_be_asked_makes_no_busy_loop() -> None:
    corridor = by_hand()
    await corridor.add()
    corridor.asked.breaks("check", Unavailable("The quota is away."))
    async with Worker(corridor):
        for _ in range(5):
            await corridor.clock.advance(0)
        assert corridor.store.calls["claim_due"] <= 2
        assert len(await corridor.runs()) <= 2


async def test_a_claim_that_was_lost_while_the_quota_was_asked_is_not_dispatched() -> None:
    corridor = by_hand(lease_ms=3_000)
    await corridor.add()
    ahead = Corridor(store=corridor.store.port)

    async def slowly() -> Any:
        await corridor.clock.sleep(2_000)

    corridor.asked.before["check"] = slowly
    async with Worker(corridor):
        ahead.clock.jump(MINUTE)
        await ahead.sweeper.sweep()
        assert len(await ahead.claim(1)) == 1
        await corridor.clock.advance(2_500)
        assert "leases were lost; their runs are stopped" in corridor.log.events("warning")
        assert corridor.dispatcher.executed == []


async def test_what_misfired_is_not_charged() -> None:
    corridor = Corridor()
    policy = Policy(misfire=Misfire.SKIP, misfire_grace_ms=1_000)
    await corridor.add("late", in_ms=-5_000, policy=policy)
    await corridor.add("due")
    await corridor.tick()
    assert len(corridor.quota.asked) == 1
    assert (await corridor.only_run("late")).status is RunStatus.SKIPPED
    assert (await corridor.only_run("due")).status is RunStatus.SUCCESS


async def test_a_quota_that_opened_already_is_open() -> None:
    corridor = Corridor()
    await corridor.add()
    corridor.quota.close(corridor.clock.now())
    await corridor.tick()
    assert (await corridor.only_run()).status is RunStatus.SUCCESS
