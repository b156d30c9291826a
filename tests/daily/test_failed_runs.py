"""How failed daily runs are told: one class for timeouts, and where a function raised."""

from datetime import UTC, date, datetime, time, timedelta

from tests.daily.daily_fixtures import MakeDaily

from cadenza.adapters.daily.http_target import HttpTargetRunner
from cadenza.domain.daily.user import DailyRunResult
from cadenza.domain.job_failure import ErrorClass
from cadenza.domain.scheduling.run import Outcome, RunStatus
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.testing import FakeClock, FakeDispatcher
from cadenza.testing.fakes import FakeIds

MORNING = datetime(2026, 3, 10, 9, 30, tzinfo=UTC)


async def test_a_daily_request_that_times_out_by_itself_is_a_timeout(make_daily: MakeDaily) -> None:
    daily = make_daily(MORNING)
    await daily.enroll("ann", time(10))
    late = DailyRunResult("no answer within 5 ms", ErrorClass.REQ, timed_out=True)
    daily.runs.answer = lambda *_: late
    await daily.tick()
    await daily.spin()
    (stopped,) = [event.metadata for event in daily.telemetry.events if event.name == "sched.job.stop"]
    assert (stopped["result"], stopped["error_class"]) == ("timeout", "unknown")


async def test_a_daily_request_says_that_it_timed_out() -> None:
    dispatcher, clock = FakeDispatcher(), FakeClock()
    dispatcher.on("daily", lambda _: Outcome(RunStatus.TIMEOUT, error="no answer within 5 ms"))
    runner = HttpTargetRunner(
        HttpTarget("https://example.com"),
        dispatcher=dispatcher,
        clock=clock,
        ids=FakeIds(),
        timeout_ms=5,
    )
    result = await runner.run("ann", date(2026, 3, 10), tenant_id="default")
    assert (result.ok, result.timed_out) == (False, True)


async def test_a_daily_function_that_raises_is_warned_of_once_for_each_kind(make_daily: MakeDaily) -> None:
    daily = make_daily(MORNING)
    await daily.enroll("ann", time(10))
    await daily.enroll("bob", time(10))

    def answer(*_: object) -> DailyRunResult:
        raise RuntimeError("oh")

    daily.runs.answer = answer
    await daily.tick()
    await daily.spin()
    daily.clocks.advance(timedelta(minutes=10))
    await daily.tick()
    await daily.spin()
    (warned,) = [line for line in daily.log.lines if line.event == "a daily function raised"]
    assert (warned.level, warned.facts["error"]) == ("warning", "RuntimeError: oh")
    assert "in answer" in str(warned.facts["traceback"])
    details = [line for line in daily.log.lines if line.event == "a daily job failed"]
    assert [line.level for line in details] == ["debug"] * 4
    assert all("in answer" in str(line.facts["traceback"]) for line in details)
