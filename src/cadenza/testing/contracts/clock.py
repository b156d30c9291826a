"""What a clock, a stopwatch and a cron calculator promise."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from cadenza.domain.errors import InvalidRequest
from cadenza.ports.clock import Clock, CronCalculator, Stopwatch

SPAN_MS = 20
HOUR_MS = 3_600_000
PATIENCE_S = 30
RESOLUTION = timedelta(milliseconds=1)
"""A sleep goes by monotonic time, and may end by so much sooner on the clock on the wall."""
BERLIN = "Europe/Berlin"


class ClockContract:
    """A subclass gives the fixture `clock`; a clock that only a test moves also says how time passes."""

    async def let_time_pass(self, clock: Clock, span_ms: int) -> None:
        """Time passes by itself; a clock that a test moves is moved here."""

    async def sleep(self, clock: Clock, span_ms: int) -> None:
        """A whole sleep of this clock."""
        sleeping = asyncio.create_task(clock.sleep(span_ms))
        await asyncio.sleep(0)
        await self.let_time_pass(clock, span_ms)
        await asyncio.wait_for(sleeping, PATIENCE_S)

    def test_now_is_a_moment_in_utc(self, clock: Clock) -> None:
        assert clock.now().utcoffset() == timedelta()

    async def test_a_sleep_lasts_at_least_its_span_by_the_same_clock(self, clock: Clock) -> None:
        before = clock.now()
        await self.sleep(clock, SPAN_MS)
        assert clock.now() - before >= timedelta(milliseconds=SPAN_MS) - RESOLUTION

    async def test_a_sleep_of_no_length_ends(self, clock: Clock) -> None:
        await self.sleep(clock, 0)

    async def test_a_cancelled_sleep_ends_at_once(self, clock: Clock) -> None:
        sleeping = asyncio.create_task(clock.sleep(HOUR_MS))
        await asyncio.sleep(0)
        sleeping.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(sleeping, PATIENCE_S)
        assert sleeping.done()


class StopwatchContract:
    """A subclass gives the fixture `stopwatch`."""

    def test_it_never_runs_back(self, stopwatch: Stopwatch) -> None:
        read = [stopwatch.elapsed_ms() for _ in range(100)]
        assert read == sorted(read)


def utc(*parts: int) -> datetime:
    """A moment in UTC."""
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


class CronContract:
    """A subclass gives the fixture `cron`."""

    @pytest.mark.parametrize(
        ("expression", "after", "fire"),
        [
            ("0 9 * * *", utc(2025, 1, 1, 8, 59, 59), utc(2025, 1, 1, 9)),
            ("0 9 * * *", utc(2025, 1, 1, 9), utc(2025, 1, 2, 9)),
            ("@hourly", utc(2025, 1, 1, 8, 30), utc(2025, 1, 1, 9)),
            ("0 0 * * 0", utc(2025, 1, 1), utc(2025, 1, 5)),
            ("0 0 * * 7", utc(2025, 1, 1), utc(2025, 1, 5)),
            ("0 0 29 2 *", utc(2025, 1, 1), utc(2028, 2, 29)),
        ],
    )
    def test_it_fires_first_strictly_after_a_moment(
        self, cron: CronCalculator, expression: str, after: datetime, fire: datetime
    ) -> None:
        assert cron.next(expression, after) == fire

    def test_a_fire_in_a_zone_is_a_moment_in_utc(self, cron: CronCalculator) -> None:
        fire = cron.next("30 9 * * *", utc(2025, 1, 1), BERLIN)
        assert (fire, fire.utcoffset()) == (utc(2025, 1, 1, 8, 30), timedelta())

    def test_a_fixed_time_in_a_skipped_hour_fires_once_right_after_it(self, cron: CronCalculator) -> None:
        fire = cron.next("30 2 * * *", utc(2025, 3, 29, 12), BERLIN)
        assert utc(2025, 3, 30, 1) <= fire < utc(2025, 3, 30, 2)
        assert cron.next("30 2 * * *", fire, BERLIN) == utc(2025, 3, 31, 0, 30)

    def test_a_fixed_time_in_a_repeated_hour_fires_once(self, cron: CronCalculator) -> None:
        fire = cron.next("30 2 * * *", utc(2025, 10, 25, 12), BERLIN)
        assert cron.next("30 2 * * *", fire, BERLIN) == utc(2025, 10, 27, 1, 30)

    def test_a_wildcard_line_follows_elapsed_time_in_a_repeated_hour(self, cron: CronCalculator) -> None:
        fires = [utc(2025, 10, 25, 23)]
        while len(fires) < 8:
            fires.append(cron.next("*/30 * * * *", fires[-1], BERLIN))
        assert {after - before for before, after in pairwise(fires)} == {timedelta(minutes=30)}

    @pytest.mark.parametrize(
        ("expression", "timezone"),
        [
            ("* * * *", "UTC"),
            ("61 * * * *", "UTC"),
            ("often", "UTC"),
            ("0 0 30 2 *", "UTC"),
            ("0 9 * * *", "Mars/Olympus"),
        ],
        ids=["fields", "minute", "words", "never", "zone"],
    )
    def test_what_can_never_fire_is_refused(
        self, cron: CronCalculator, expression: str, timezone: str
    ) -> None:
        with pytest.raises(InvalidRequest):
            cron.check(expression, timezone)

    @pytest.mark.parametrize("expression", ["*/5 * * * *", "0 9 * * MON-FRI", "@daily", "0 0 29 2 *"])
    def test_what_can_fire_is_accepted(self, cron: CronCalculator, expression: str) -> None:
        cron.check(expression, BERLIN)
