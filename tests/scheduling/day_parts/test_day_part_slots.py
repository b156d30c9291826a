"""What a baseline of day parts holds between two moments: slots, gaps to backfill, forecasts."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.day_parts.day_part_fixtures import (
    A_MINUTE,
    Spans,
    Written,
    a_calendar,
    every,
    in_force,
    literal,
    minute,
    one_by_one,
    spans,
    written,
)
from tests.scheduling.scheduling_fixtures import CRON, NOW, an_endpoint

from cadenza.domain.access.tenant import Limits
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.monitoring import forecast as forecasts
from cadenza.domain.monitoring.forecast import DueForecaster, UpcomingRun, forecast_runs
from cadenza.domain.scheduling.baseline import Cron, DayPart, DayParts, Every
from cadenza.domain.scheduling.calendars.calendar import calendar_of
from cadenza.domain.scheduling.calendars.rules import CalendarRules
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import HintMode, IntervalHint
from cadenza.domain.scheduling.nudge import INTERVAL_PARTS, after_clock_step, offset_of, unserved_plan
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.requested_runs.asking import missed_slots
from cadenza.domain.scheduling.slots import MOST_COUNTED, cadence_ms, slots_between, slots_missed

minutes = st.integers(-200, 400)
WORK = a_calendar("work", (10, 70))
BY_DAY = DayParts((DayPart(WORK, every(1)),), every(15))


@given(written(), minutes, st.integers(0, 300))
def test_slots_are_counted_as_if_one_by_one(one: Written, since: int, span: int) -> None:
    endpoint, until = an_endpoint(baseline=one.day_parts), minute(since + span)
    due = literal(one, last=minute(since), after=until)
    has_passed = due.at <= until
    expected = max(len(list(one_by_one(one, minute(since), until))), has_passed)
    assert slots_between(endpoint, minute(since), until, CRON) == expected
    assert slots_missed(endpoint, minute(since), until, CRON) == expected - has_passed


@given(written(), spans(), minutes, st.integers(0, 300))
def test_of_slots_only_those_count_at_which_the_calendars_are_open(
    one: Written, open_spans: Spans, since: int, span: int
) -> None:
    begin, until = minute(since), minute(since + span)
    rules = CalendarRules(only_during=calendar_of("only", "UTC", [*open_spans, (until, until + A_MINUTE)]))
    endpoint = an_endpoint(baseline=one.day_parts, calendar_rules=rules)
    assert rules.only_during is not None
    expected = sum(rules.only_during.is_open(slot) for slot in one_by_one(one, begin, until))
    assert slots_between(endpoint, begin, until, CRON) == expected


def test_an_interval_begins_at_the_start_of_its_endpoint_if_its_part_is_in_force_then() -> None:
    lines = DayParts((DayPart(WORK, Cron("*/30 * * * *")),), every(15))
    for start, first in ((5, 5), (20, 35)):
        rules = CalendarRules(starts_at=minute(start))
        plan = plan_next_run(NOW, an_endpoint(baseline=lines, calendar_rules=rules), CRON)
        assert plan.next_run_at == minute(first)


def test_counting_slots_ends() -> None:
    fast = DayParts((DayPart(WORK, Cron("*/1 * * * *")),), Cron("*/1 * * * *"))
    assert slots_between(an_endpoint(baseline=fast), NOW, minute(10 * MOST_COUNTED), CRON) == MOST_COUNTED


@pytest.mark.parametrize(
    ("mode", "minutes", "slots"),
    [(HintMode.OVERRIDE, 30, 2), (HintMode.TIGHTEN, 30, 51), (HintMode.TIGHTEN, 1, 60)],
)
def test_a_fresh_hint_counts_instead_of_all_parts_or_beside_them(
    mode: HintMode, minutes: int, slots: int
) -> None:
    hint = IntervalHint(every(minutes).interval_ms, minute(999))
    hinted = an_endpoint(baseline=BY_DAY, interval_hint=hint, hint_mode=mode)
    assert slots_between(hinted, NOW, minute(60), CRON) == slots


def test_the_interval_in_force_is_that_of_the_part_within_the_guard() -> None:
    endpoint = an_endpoint(baseline=BY_DAY, guard=Guard(every(2).interval_ms))
    assert cadence_ms(endpoint, minute(20)) == every(2).interval_ms
    assert cadence_ms(endpoint, minute(80)) == every(15).interval_ms
    line = an_endpoint(baseline=DayParts((DayPart(WORK, Cron("*/5 * * * *")),), every(15)))
    assert cadence_ms(line, minute(20)) is None


def schedule_of(one: Written, since: int, until: int) -> list[int]:
    """The slots from one minute on, before another; an interval has one at the first itself."""
    begin, end = minute(since), minute(until)
    if isinstance(in_force(one, begin), Every):
        first = begin
    else:
        first = literal(one, last=begin, after=begin - A_MINUTE).at
    if first >= end:
        return []
    found = [first, *(slot for slot in one_by_one(one, first, end) if slot < end)]
    return [(slot - NOW) // A_MINUTE for slot in found]


@given(written(), minutes, st.integers(1, 300))
def test_a_backfill_has_the_slots_that_the_schedule_had(one: Written, since: int, span: int) -> None:
    endpoint = an_endpoint(baseline=one.day_parts)
    slots = list(missed_slots(endpoint, minute(since), minute(since + span), [], CRON))
    assert [(slot - NOW) // A_MINUTE for slot in slots] == schedule_of(one, since, since + span)
    assert list(missed_slots(endpoint, minute(since), minute(since + span), slots, CRON)) == []


def test_a_slot_that_a_run_was_for_late_is_not_missed() -> None:
    endpoint = an_endpoint(baseline=BY_DAY)
    served = [minute(3), minute(12)]  # The second of the third slot of the faster part.
    slots = missed_slots(endpoint, minute(0), minute(14), served, CRON)
    assert [(slot - NOW) // A_MINUTE for slot in slots] == [10, 11, 13]


SPANS, SPAN = 10, timedelta(minutes=30)


@given(written(), st.integers(-60, 320))
def test_a_forecast_of_many_counts_day_parts_as_if_one_by_one(one: Written, at: int) -> None:
    due = DueForecaster(CRON, begin=NOW, span=SPAN, spans=SPANS).forecast(
        [UpcomingRun(minute(at), one.day_parts, None)]
    )
    first = minute(max(at, 0))
    expected = [0] * SPANS
    for run in (first, *one_by_one(one, first, NOW + SPANS * SPAN)):
        if run < NOW + SPANS * SPAN:
            expected[(run - NOW) // SPAN] += 1
    assert (due.due, due.overdue) == (expected, int(at < 0))


def test_a_forecast_of_many_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecasts, "MOST_PARTS", 2)
    forecaster = DueForecaster(CRON, begin=NOW, span=SPAN, spans=SPANS)
    due = forecaster.forecast([UpcomingRun(minute(10), BY_DAY, None)] * 3).due
    assert due[0] == 3 * 20, "within the part that each begins in, all are counted"
    assert due[-1] == 2 + 2 * 30, "after that, endpoints stay in the part that they are in"


def test_a_forecast_of_one_endpoint_goes_over_the_borders_of_parts() -> None:
    endpoint = an_endpoint(baseline=BY_DAY, last_run_at=minute(-16), next_run_at=minute(-1))
    runs = forecast_runs(endpoint, now=NOW, cron=CRON, most=3)
    assert [(run.at - NOW) // A_MINUTE for run in runs] == [0, 10, 11]


def test_an_offset_is_a_part_of_the_interval_in_force() -> None:
    endpoint = an_endpoint(baseline=BY_DAY)
    tenths = [offset_of(endpoint, minute(one), every(60).interval_ms) for one in (20, 80)]
    assert tenths[0] <= A_MINUTE / INTERVAL_PARTS < tenths[1] <= 15 * A_MINUTE / INTERVAL_PARTS


def test_a_fire_that_another_clock_has_served_gives_way_to_the_next_run_of_any_part() -> None:
    lines = DayParts((DayPart(WORK, Cron("*/30 * * * *")),), every(15))
    served = an_endpoint(baseline=lines, last_run_at=minute(65))
    assert unserved_plan(minute(64), served, CRON).next_run_at == minute(80)


@pytest.mark.parametrize(("step", "expected"), [(10, 65), (40, 35)])
def test_after_a_step_of_the_clock_a_fire_repeats_only_if_the_next_run_is_no_further_than_the_step(
    step: int, expected: int
) -> None:
    lines = DayParts((DayPart(WORK, Cron("*/30 * * * *")),), every(15))
    stored = an_endpoint(
        baseline=lines,
        last_run_at=minute(35),
        next_run_at=minute(65),
        next_source=Source.BASELINE_CRON,
    )
    stepped = after_clock_step(stored, now=minute(30), step=step * A_MINUTE, cron=CRON)
    assert stepped.next_run_at == minute(expected)


def test_the_least_interval_of_a_tenant_holds_for_all_parts() -> None:
    limits = Limits(min_interval_ms=every(2).interval_ms)
    with pytest.raises(InvalidRequest, match="Limited by minimum interval"):
        limits.apply_to(an_endpoint(baseline=BY_DAY))
    slower = DayParts((DayPart(WORK, every(2)),), every(15))
    assert limits.apply_to(an_endpoint(baseline=slower)).guard == Guard(every(2).interval_ms)
