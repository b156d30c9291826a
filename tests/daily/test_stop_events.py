"""Ticks and runs emit their stop events also when the store is away, at shutdown, and when a lane is lost."""

from datetime import UTC, datetime, time, timedelta

import pytest
from tests.daily.daily_fixtures import DailyFixture, MakeDaily, UnavailableDaily, until
from tests.daily.test_runner import running

from cadenza.domain.errors import Unavailable
from cadenza.testing.fakes import EmittedEvent

TEN = datetime(2026, 3, 10, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
UNTIL_WARNED = 30


def told(daily: DailyFixture, name: str) -> list[EmittedEvent]:
    return [event for event in daily.telemetry.events if event.name == name]


async def with_a_run(make_daily: MakeDaily, **settings: int) -> DailyFixture:
    daily = make_daily(TEN - 5 * MINUTE, **settings)
    await daily.enroll("ann", time(10))
    await daily.tick()
    daily.clocks.advance(timedelta(seconds=2))
    assert len(daily.runs.running) == 1
    return daily


async def test_a_tick_that_meets_an_unavailable_store_emits_its_events(make_daily: MakeDaily) -> None:
    store = UnavailableDaily()
    daily = make_daily(TEN - MINUTE, store=store)
    await daily.enroll("ann", time(10))
    store.away = True
    with pytest.raises(Unavailable):
        await daily.runner.tick()
    (tick,) = told(daily, "sched.tick.stop")
    assert tick.metadata["users_scanned"] == 0
    assert len(told(daily, "sched.queue.depth")) == 1


async def test_a_tick_that_is_interrupted_tells_what_it_found_until_then(
    make_daily: MakeDaily, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = UnavailableDaily()
    daily = make_daily(TEN - MINUTE, store=store, page=1)
    for name in ("ann", "bob", "cid"):
        await daily.enroll(name, time(10))
    rightly, asked = store.pending_days, 0

    async def away_later(shard: int, **given: object) -> object:
        nonlocal asked
        found = await rightly(shard, **given)
        asked += bool(found)
        if asked > 2:
            raise Unavailable("the store is away")
        return found

    monkeypatch.setattr(store, "pending_days", away_later)
    with pytest.raises(Unavailable):
        await daily.runner.tick()
    (tick,) = told(daily, "sched.tick.stop")
    assert (tick.metadata["users_scanned"], tick.metadata["eligible_in_window"]) == (2, 2)


async def test_a_run_that_is_cut_off_when_its_lane_is_lost_emits_its_event(make_daily: MakeDaily) -> None:
    daily = await with_a_run(make_daily)
    daily.runs.running[0].killed = True
    daily.runner.serve(())
    await daily.spin()
    (job,) = told(daily, "sched.job.stop")
    assert job.measurements == {"duration_ms": 2_000}
    assert job.metadata == {
        "result": "error",
        "error_class": "unknown",
        "programme": "daily",
        "scheduler": "daily",
    }
    assert told(daily, "sched.executor.in_flight")[-1].measurements == {"in_flight": 0}


async def test_a_run_that_is_cut_off_at_shutdown_emits_its_event(make_daily: MakeDaily) -> None:
    daily = await with_a_run(make_daily)
    daily.runs.running[0].killed = True
    await daily.runner.drain(0)
    (job,) = told(daily, "sched.job.stop")
    assert job.metadata["result"] == "error"
    (line,) = [line for line in daily.log.lines if line.event == "a daily job failed"]
    assert "cut off" in str(line.facts["error"])


async def test_a_run_that_is_cut_off_before_it_began_emits_its_event(make_daily: MakeDaily) -> None:
    daily = make_daily(TEN - 5 * MINUTE)
    await daily.enroll("ann", time(10))
    await daily.runner.tick()
    daily.runner.executor.start_ready()
    daily.runner.serve(())
    await daily.spin()
    assert daily.runs.started == []
    assert len(told(daily, "sched.job.stop")) == 1


async def test_a_run_that_outlives_its_process_emits_one_event(
    make_daily: MakeDaily, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cadenza.engine.daily.runner.GRACE_MS", 1)
    daily = await with_a_run(make_daily)
    (run,) = daily.runs.running
    await daily.runner.drain(0)
    assert [event.metadata["result"] for event in told(daily, "sched.job.stop")] == ["error"]
    await daily.finish(run)
    assert len(told(daily, "sched.job.stop")) == 1
    assert daily.runner.finalizer.pending == 0


async def test_a_store_that_stays_away_is_one_warning_of_each_part(make_daily: MakeDaily) -> None:
    daily = await with_a_run(make_daily)
    assert isinstance(daily.store, UnavailableDaily)
    await daily.finish(daily.runs.running[0])
    daily.store.away = True
    parts = (daily.runner.run_ticks, daily.runner.execute, daily.runner.finalize)
    async with running(*parts):
        until_minute = daily.clocks.now() + UNTIL_WARNED * MINUTE
        await until(lambda: daily.clocks.now() >= until_minute)
        daily.store.away = False
        await until(lambda: len(daily.log.events("info")) == 2)
    lines = [line for line in daily.log.lines if line.level != "debug"]
    assert sorted((line.level, line.facts["part"]) for line in lines) == [
        ("info", "daily-finalizer"),
        ("info", "daily-tick"),
        ("warning", "daily-finalizer"),
        ("warning", "daily-tick"),
    ]
    assert len([line for line in daily.log.lines if "unavailable" in line.event]) > UNTIL_WARNED


async def test_verdicts_that_cannot_be_written_at_shutdown_are_a_warning(make_daily: MakeDaily) -> None:
    daily = await with_a_run(make_daily)
    assert isinstance(daily.store, UnavailableDaily)
    await daily.finish(daily.runs.running[0])
    daily.store.away = True
    await daily.runner.drain(0)
    (line,) = [line for line in daily.log.lines if line.level == "warning"]
    assert (line.facts["part"], line.facts["users"]) == ("daily-finalizer", 1)
