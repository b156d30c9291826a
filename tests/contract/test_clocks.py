"""Every clock, stopwatch and cron calculator keeps its contract."""

import pytest

from cadenza.adapters.clock import ClockStopwatch, FastClock, SystemClock, SystemStopwatch
from cadenza.adapters.cron import CronsimCron
from cadenza.ports.clock import Clock, CronCalculator, Stopwatch
from cadenza.testing import FakeClock
from cadenza.testing.contracts import ClockContract, CronContract, StopwatchContract


class TestSystemClock(ClockContract):
    @pytest.fixture
    def clock(self) -> Clock:
        return SystemClock()


class TestFastClock(ClockContract):
    @pytest.fixture
    def clock(self) -> Clock:
        return FastClock(speed=10)


class TestFakeClock(ClockContract):
    @pytest.fixture
    def clock(self) -> Clock:
        return FakeClock()


class TestManualFakeClock(ClockContract):
    @pytest.fixture
    def clock(self) -> Clock:
        return FakeClock(manual=True)

    async def let_time_pass(self, clock: Clock, span_ms: int) -> None:
        assert isinstance(clock, FakeClock)
        await clock.advance(span_ms)


class TestSystemStopwatch(StopwatchContract):
    @pytest.fixture
    def stopwatch(self) -> Stopwatch:
        return SystemStopwatch()


class TestClockStopwatch(StopwatchContract):
    @pytest.fixture
    def stopwatch(self) -> Stopwatch:
        return ClockStopwatch(FakeClock())


class TestCronsimCron(CronContract):
    @pytest.fixture
    def cron(self) -> CronCalculator:
        return CronsimCron()
