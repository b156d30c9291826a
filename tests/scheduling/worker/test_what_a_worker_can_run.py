"""A worker claims only what it can run, and what it cannot run neither wakes it nor delays the rest."""

from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock
from tests.scheduling.worker.worker_fixtures import MINUTE

from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget

MINE, THEIRS = CallableTarget("mine"), CallableTarget("theirs")
LONG = 3_600_000


def only_mine() -> list[str]:
    return ["callable:mine"]


async def test_a_worker_leaves_what_it_cannot_run_to_others() -> None:
    fixture = on_manual_clock()
    await fixture.add("mine", target=MINE)
    await fixture.add("theirs", target=THEIRS)
    await fixture.add("page", target=HttpTarget("https://example.com/"))
    async with RunningWorker(fixture, can_run=only_mine):
        await fixture.clock.advance(5_000)
    assert [run.status for run in await fixture.runs("mine")] == [RunStatus.SUCCESS]
    assert await fixture.runs("theirs") == await fixture.runs("page") == []


async def test_what_is_due_elsewhere_does_not_keep_a_worker_from_sleeping() -> None:
    fixture = on_manual_clock()
    await fixture.add("mine", in_ms=40_000, target=MINE)
    for number in range(50):
        await fixture.add(f"theirs-{number}", in_ms=number, target=THEIRS)
    moments = fixture.moments("mine")
    async with RunningWorker(fixture, can_run=only_mine, poll_ms=LONG):
        await fixture.clock.advance(MINUTE)
        assert fixture.store.calls["claim_due"] <= 4
    assert moments == [40_000]


async def test_a_function_that_is_registered_later_is_claimed_at_the_next_look() -> None:
    fixture, registered = on_manual_clock(), ["callable:mine"]
    await fixture.add("theirs", target=THEIRS)
    moments = fixture.moments("theirs")
    async with RunningWorker(fixture, can_run=lambda: registered, poll_ms=1_000):
        await fixture.clock.advance(10_500)
        registered.append("callable:theirs")
        await fixture.clock.advance(2_000)
    assert [moment // 1_000 for moment in moments] == [11]


async def test_a_claim_whose_target_is_changed_before_it_starts_is_left_to_others() -> None:
    fixture = on_manual_clock(claim_ahead_ms=10_000)
    await fixture.add("mine", in_ms=5_000, target=MINE)
    moments = fixture.moments("mine")
    async with RunningWorker(fixture, can_run=only_mine):
        await fixture.clock.advance(1_000)
        await fixture.change("mine", target=THEIRS)
        await fixture.clock.advance(20_000)
    assert moments == []
    (run,) = await fixture.runs("mine")
    assert (run.status, run.reason) == (RunStatus.CANCELLED, "this worker cannot run its new target")
    assert (await fixture.endpoint("mine")).next_run_at == run.slot
