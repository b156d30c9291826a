"""How many slots pass between two moments, and when a slot is served too late."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import endpoints, spans
from tests.scheduling.scheduling_fixtures import (
    CRON,
    DAY,
    EPOCH,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    an_endpoint,
    at,
    claimed,
)

from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.due import misfired
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import HintMode, IntervalHint
from cadenza.domain.scheduling.policy import Backoff, Guard, Misfire, Policy
from cadenza.domain.scheduling.slots import MOST_COUNTED, cadence_ms, slots_between, slots_missed
from cadenza.domain.validation import milliseconds

FRESH = at(DAY)


def counted(endpoint: Endpoint, until_ms: int, since_ms: int = 0) -> int:
    return slots_between(endpoint, at(since_ms), at(until_ms), CRON)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, MINUTE),
        ({"interval_hint": IntervalHint(SECOND, FRESH)}, SECOND),
        ({"interval_hint": IntervalHint(HOUR, FRESH)}, HOUR),
        ({"interval_hint": IntervalHint(HOUR, NOW)}, MINUTE),
        ({"interval_hint": IntervalHint(HOUR, FRESH), "hint_mode": HintMode.TIGHTEN}, MINUTE),
        ({"interval_hint": IntervalHint(SECOND, FRESH), "hint_mode": HintMode.TIGHTEN}, SECOND),
        ({"guard": Guard(HOUR)}, HOUR),
        ({"guard": Guard(SECOND)}, MINUTE),
        ({"guard": Guard(None, SECOND)}, SECOND),
        ({"guard": Guard(None, HOUR)}, MINUTE),
        ({"guard": Guard(1, 2)}, 2),
        ({"failure_count": 2, "policy": Policy(backoff=Backoff.EXPONENTIAL)}, 4 * MINUTE),
        ({"baseline": Cron("*/5 * * * *")}, None),
        ({"baseline": Cron("*/5 * * * *"), "guard": Guard(HOUR, HOUR)}, None),
        ({"baseline": Cron("*/5 * * * *"), "interval_hint": IntervalHint(HOUR, FRESH)}, HOUR),
        ({"baseline": Once(at(MINUTE)), "guard": Guard(HOUR)}, None),
    ],
)
def test_the_cadence_is_the_interval_in_force_within_the_guard(
    parts: dict[str, Any], expected: int | None
) -> None:
    assert cadence_ms(an_endpoint(**parts), NOW) == expected


@given(spans(), st.integers(0, 50), st.sampled_from((-1, 0, 1)))
def test_an_interval_s_slots_are_its_whole_multiples(interval_ms: int, number: int, beside_ms: int) -> None:
    interval_ms += SECOND
    passed = counted(an_endpoint(baseline=Every(interval_ms)), number * interval_ms + beside_ms)
    assert passed == max(0, number - 1 if beside_ms < 0 else number)


@given(st.sampled_from((1, 5, 15, 30)), st.integers(-HOUR, HOUR), st.integers(0, HOUR))
def test_a_cron_line_s_slots_are_its_fires_after_the_first_moment_up_to_the_second(
    minutes: int, since_ms: int, length_ms: int
) -> None:
    step = milliseconds(minutes * MINUTE)
    fires = (at(since_ms + length_ms) - EPOCH) // step - (at(since_ms) - EPOCH) // step
    assert (
        counted(an_endpoint(baseline=Cron(f"*/{minutes} * * * *")), since_ms + length_ms, since_ms) == fires
    )


def test_counting_fires_has_an_end() -> None:
    endpoint = an_endpoint(baseline=Cron("*/1 * * * *"))
    assert counted(endpoint, (MOST_COUNTED - 1) * MINUTE) == MOST_COUNTED - 1
    assert counted(endpoint, 2 * MOST_COUNTED * MINUTE) == MOST_COUNTED == 1_000


def test_a_line_is_counted_in_its_own_time_zone() -> None:
    zones: set[tuple[str, str]] = set()

    class Listening:
        def next(self, expression: str, after: datetime, timezone: str = "UTC") -> datetime:
            zones.add((expression, timezone))
            return after + milliseconds(MINUTE)

    line = Cron("0 9 * * *", "Asia/Tokyo")
    assert slots_between(an_endpoint(baseline=line), NOW, at(3 * MINUTE), Listening()) == 3
    assert zones == {("0 9 * * *", "Asia/Tokyo")}


@given(endpoints(), st.integers(0, HOUR))
def test_nothing_passes_between_a_moment_and_an_earlier_one(endpoint: Endpoint, length_ms: int) -> None:
    assert counted(endpoint, -length_ms) == 0


def test_what_runs_once_has_no_slots_to_miss() -> None:
    assert counted(an_endpoint(baseline=Once(at(MINUTE))), HOUR) == 0


@pytest.mark.parametrize(
    ("lasting_ms", "missed"), [(MINUTE - 1, 0), (MINUTE, 0), (2 * MINUTE, 1), (330_000, 4)]
)
def test_of_the_slots_that_an_interval_missed_the_next_run_is_one(lasting_ms: int, missed: int) -> None:
    assert slots_missed(an_endpoint(), NOW, at(lasting_ms), CRON) == missed


@pytest.mark.parametrize(
    ("lasting_ms", "missed"), [(MINUTE - 1, 0), (MINUTE, 1), (2 * MINUTE, 2), (330_000, 5)]
)
def test_of_the_fires_that_a_cron_line_missed_the_next_run_is_none(lasting_ms: int, missed: int) -> None:
    assert slots_missed(an_endpoint(baseline=Cron("*/1 * * * *")), NOW, at(lasting_ms), CRON) == missed


def test_of_the_slots_that_a_hinted_cron_line_missed_the_next_run_is_one() -> None:
    hinted = an_endpoint(baseline=Cron("*/5 * * * *"), interval_hint=IntervalHint(MINUTE, FRESH))
    assert slots_missed(hinted, NOW, at(5 * MINUTE), CRON) == 4


def test_a_hint_that_competes_with_a_cron_line_hides_none_of_its_fires() -> None:
    hint = IntervalHint(HOUR, FRESH)
    line = an_endpoint(baseline=Cron("*/1 * * * *"), interval_hint=hint, hint_mode=HintMode.TIGHTEN)
    assert counted(line, 5 * MINUTE) == 5
    assert slots_missed(line, NOW, at(5 * MINUTE), CRON) == 5


@pytest.mark.parametrize(("until_ms", "missed"), [(0, 2), (3 * MINUTE + 1, 0)])
def test_moments_during_a_pause_are_no_slots(until_ms: int, missed: int) -> None:
    endpoint = an_endpoint(paused_until=at(until_ms))
    assert slots_missed(endpoint, NOW, at(3 * MINUTE), CRON) == missed


@pytest.mark.parametrize(
    ("policy", "late_ms", "expected"),
    [
        (Policy(misfire=Misfire.SKIP), MINUTE, False),
        (Policy(misfire=Misfire.SKIP), MINUTE + 1, True),
        (Policy(misfire=Misfire.RUN), DAY, False),
        (Policy(misfire=Misfire.SKIP, misfire_grace_ms=0), 0, False),
        (Policy(misfire=Misfire.SKIP, misfire_grace_ms=0), 1, True),
    ],
)
def test_a_slot_misfires_when_it_is_later_than_its_grace_and_its_owner_wants_it_skipped(
    policy: Policy, late_ms: int, *, expected: bool
) -> None:
    held = claimed(an_endpoint(policy=policy, next_run_at=NOW))
    assert misfired(held, at(late_ms)) is expected
