"""Attempts: within the window, not too often, not too many at a time, and not for ever."""

from datetime import UTC, datetime, time, timedelta

import pytest
from tests.daily.daily_fixtures import FAILED, AWorld, until

from cadenza.domain.daily.user import DONE, DayStatus

MIDNIGHT = datetime(2026, 3, 10, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize("due", [time(0), time(0, 30), time(1), time(13, 37), time(23, 59)], ids=str)
@pytest.mark.parametrize("offset_s", [0, 59])
async def test_a_user_whose_every_attempt_fails_at_once_gets_exactly_six(
    a_world: AWorld, due: time, offset_s: int
) -> None:
    world = a_world(MIDNIGHT - timedelta(hours=2) + timedelta(seconds=offset_s))
    world.jobs.answer = lambda *_: FAILED
    await world.enroll("ann", due)
    await world.every_minute(28 * 60)
    days = {job.service_date for job in world.jobs.started}
    attempts = [job.service_date for job in world.jobs.started]
    assert [attempts.count(day) for day in sorted(days)] == [6] * len(days)
    assert {one.status for one in await world.verdicts("ann")} == {DayStatus.CUTOFF_REACHED}


async def test_the_window_opens_and_closes_to_the_second(a_world: AWorld) -> None:
    world = a_world(MIDNIGHT + timedelta(hours=9) - SECOND)
    await world.enroll("ann", time(10))
    await world.tick()
    assert world.jobs.started == []
    world.clocks.advance(SECOND)
    await world.tick()
    assert [job.service_date for job in world.jobs.started] == [MIDNIGHT.date()]
    world.clocks.go_to(MIDNIGHT + timedelta(hours=10) - SECOND)
    await world.tick()
    assert await world.verdicts("ann") == []
    world.clocks.advance(SECOND)
    await world.tick()
    (verdict,) = await world.verdicts("ann")
    assert (verdict.status, verdict.late) == (DayStatus.CUTOFF_REACHED, False)


async def test_the_soonest_cutoff_goes_first_and_slots_are_never_exceeded(a_world: AWorld) -> None:
    world = a_world(MIDNIGHT + timedelta(hours=9, minutes=30), max_concurrency=2)
    for number in range(6):
        await world.enroll(f"user-{number}", time(10, 10 - number))
    await world.tick()
    assert [job.user_id for job in world.jobs.started] == ["user-5", "user-4"]
    await world.finish(world.jobs.running[0], FAILED)
    await world.finish(world.jobs.running[0])
    assert [job.user_id for job in world.jobs.started[2:]] == ["user-3", "user-2"]
    assert world.jobs.most_at_once == 2


async def test_who_waited_past_the_cutoff_is_not_attempted_any_more(a_world: AWorld) -> None:
    world = a_world(MIDNIGHT + timedelta(hours=9, minutes=59), max_concurrency=1)
    await world.enroll("ann", time(10))
    await world.enroll("bob", time(10))
    await world.tick()
    world.clocks.advance(timedelta(minutes=1))
    await world.finish(world.jobs.running[0])
    await world.tick()
    assert [job.user_id for job in world.jobs.started] == ["ann"]
    assert [(await world.verdicts(name))[0].status for name in ("ann", "bob")] == ["cutoff_reached"] * 2


async def test_a_job_that_outlives_its_timeout_keeps_its_slot_until_it_ends(a_world: AWorld) -> None:
    world = a_world(MIDNIGHT + timedelta(hours=9, minutes=30), max_concurrency=1, job_timeout_ms=1)
    await world.enroll("ann", time(10))
    await world.enroll("bob", time(10, 1))
    await world.tick()
    (job,) = world.jobs.running
    await until(lambda: job.cancelled > 0)
    await world.tick()
    assert world.runner.executor.in_flight == 1
    assert [one.user_id for one in world.jobs.started] == ["ann"]
    await world.finish(job, FAILED)
    assert [one.user_id for one in world.jobs.started] == ["ann", "bob"]


async def test_a_job_that_ends_when_it_is_cut_off_has_timed_out_and_is_tried_again(a_world: AWorld) -> None:
    world = a_world(MIDNIGHT + timedelta(hours=9, minutes=30), job_timeout_ms=1)
    await world.enroll("ann", time(10))
    await world.tick()
    (job,) = world.jobs.running
    job.killed = True
    await until(lambda: not world.jobs.running)
    await world.spin()
    (stopped,) = [event for event in world.telemetry.events if event.name == "sched.job.stop"]
    assert stopped.metadata["result"] == "timeout"
    assert stopped.metadata["error_class"] == "unknown"
    world.clocks.advance(timedelta(minutes=10))
    await world.tick()
    assert len(world.jobs.started) == 2


async def test_a_job_that_succeeds_after_its_timeout_has_succeeded(a_world: AWorld) -> None:
    world = a_world(MIDNIGHT + timedelta(hours=9, minutes=30), job_timeout_ms=1)
    await world.enroll("ann", time(10))
    await world.tick()
    (job,) = world.jobs.running
    await until(lambda: job.cancelled > 0)
    await world.finish(job, DONE)
    await world.settle()
    assert [one.status for one in await world.verdicts("ann")] == ["success"]


async def test_an_exception_costs_nobody_else_anything(a_world: AWorld) -> None:
    world = a_world(MIDNIGHT + timedelta(hours=9, minutes=30))
    await world.enroll("ann", time(10))
    await world.enroll("bob", time(10))

    def answer(user_id: str, _: object) -> object:
        if user_id == "ann":
            raise RuntimeError("oh")
        return DONE

    world.jobs.answer = answer  # type: ignore[assignment]
    await world.tick()
    await world.tick()
    assert [len(await world.verdicts(name)) for name in ("ann", "bob")] == [0, 1]
    failed = [event for event in world.telemetry.events if event.metadata.get("result") == "error"]
    assert [event.metadata["error_class"] for event in failed] == ["unknown"]


async def test_a_user_who_is_being_served_is_not_served_twice(a_world: AWorld) -> None:
    world = a_world(MIDNIGHT + timedelta(hours=9))
    await world.enroll("ann", time(10))
    await world.every_minute(59)
    assert len(world.jobs.started) == 1
    assert any(line.facts.get("reason") == "queued or running" for line in world.log.lines)


async def test_a_success_that_is_not_written_yet_is_not_tried_again(a_world: AWorld) -> None:
    world = a_world(MIDNIGHT + timedelta(hours=9))
    await world.enroll("ann", time(10))
    await world.tick()
    world.clocks.advance(timedelta(minutes=15))
    await world.finish(world.jobs.running[0])
    await world.runner.tick()
    await world.pump()
    assert len(world.jobs.started) == 1
    await world.settle()
    assert [one.status for one in await world.verdicts("ann")] == ["success"]
