"""The five events, with the seed's names, measurements and metadata."""

from datetime import UTC, datetime, time, timedelta

from tests.daily.daily_fixtures import FAILED, DailyFixture, MakeDaily

from cadenza.domain.daily.user import DONE
from cadenza.testing.fakes import EmittedEvent

MORNING = datetime(2026, 3, 10, 9, 59, tzinfo=UTC)

OF_DAILY = {"programme": "daily"}


def told(daily: DailyFixture, name: str) -> list[EmittedEvent]:
    """The events of one kind since the last question."""
    events, daily.telemetry.events = daily.telemetry.events, []
    found = [event for event in events if event.name == name]
    daily.telemetry.events = [event for event in events if event.name != name]
    assert {event.metadata["scheduler"] for event in found} <= {"daily"}
    return [
        EmittedEvent(name, event.measurements, {k: v for k, v in event.metadata.items() if k != "scheduler"})
        for event in found
    ]


async def test_a_tick_tells_its_cost_and_what_it_found(make_daily: MakeDaily) -> None:
    daily = make_daily(MORNING, max_concurrency=1)
    for name, due in (("ann", time(10)), ("bob", time(10, 30)), ("cyd", time(11)), ("dan", time(9, 59))):
        await daily.enroll(name, due)
    await daily.tick()
    (tick,) = told(daily, "sched.tick.stop")
    assert tick.measurements.keys() == {"duration_ms"}
    assert tick.metadata == {
        "users_scanned": 2,
        "eligible_in_window": 2,
        "enqueued": 2,
        "cutoff_finalized": 0,
    }
    assert told(daily, "sched.queue.depth") == [
        EmittedEvent("sched.queue.depth", {"depth": 2}, {"today": "2026-03-10"})
    ]
    daily.clocks.advance(timedelta(minutes=1))
    await daily.tick()
    (tick,) = told(daily, "sched.tick.stop")
    assert tick.metadata == {
        "users_scanned": 3,
        "eligible_in_window": 2,
        "enqueued": 1,
        "cutoff_finalized": 0,
    }
    await daily.tick()
    (tick,) = told(daily, "sched.tick.stop")
    assert (tick.metadata["users_scanned"], tick.metadata["cutoff_finalized"]) == (2, 1)


async def test_jobs_tell_how_many_run_how_long_they_took_and_what_became_of_them(
    make_daily: MakeDaily,
) -> None:
    daily = make_daily(MORNING, max_concurrency=7)
    await daily.enroll("ann", time(10))
    await daily.enroll("bob", time(10))
    await daily.tick()
    in_flight = told(daily, "sched.executor.in_flight")
    assert [event.measurements["in_flight"] for event in in_flight] == [0, 1, 2]
    assert {event.metadata["max_concurrency"] for event in in_flight} == {7}
    daily.clocks.advance(timedelta(seconds=1.5))
    await daily.finish(daily.runs.running[0], DONE)
    await daily.finish(daily.runs.running[0], FAILED)
    assert told(daily, "sched.job.stop") == [
        EmittedEvent("sched.job.stop", {"duration_ms": 1_500}, {"result": "ok", **OF_DAILY}),
        EmittedEvent(
            "sched.job.stop", {"duration_ms": 1_500}, {"result": "error", "error_class": "req", **OF_DAILY}
        ),
    ]
    assert [e.measurements["in_flight"] for e in told(daily, "sched.executor.in_flight")] == [1, 0]


async def test_each_verdict_is_told_once(make_daily: MakeDaily) -> None:
    daily = make_daily(MORNING)
    await daily.enroll("ann", time(10))
    await daily.enroll("bob", time(10))
    await daily.tick()
    await daily.finish(daily.runs.running[0])
    daily.clocks.advance(timedelta(minutes=1))
    await daily.tick()
    await daily.tick()
    assert told(daily, "sched.finalize") == [
        EmittedEvent(
            "sched.finalize",
            {"days": 1},
            {"status": status, "due_bucket": 600, "today": "2026-03-10", "late": False, **OF_DAILY},
        )
        for status in ("success", "cutoff_reached")
    ]


async def test_users_are_named_in_debug_lines_alone(make_daily: MakeDaily) -> None:
    daily = make_daily(MORNING)
    await daily.enroll("ann", time(10))
    await daily.tick()
    await daily.finish(daily.runs.running[0], FAILED)
    await daily.tick()
    daily.clocks.step(timedelta(hours=-1))
    await daily.tick()
    assert not any("ann" in event.metadata.values() for event in daily.telemetry.events)
    by_user = [line for line in daily.log.lines if line.facts.get("user") == "ann"]
    assert {line.level for line in by_user} == {"debug"}
    assert [line.facts.get("reason") for line in by_user if line.event == "not enqueued"] == [
        "tried a moment ago"
    ]
    assert daily.log.events("warning") == [
        "the clock was stepped: no daily jobs and no results until it is reliable"
    ]
