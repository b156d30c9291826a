"""The next run of a baseline of day parts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.day_parts.day_part_fixtures import (
    A_MINUTE,
    Written,
    a_calendar,
    every,
    literal,
    minute,
    written,
)
from tests.scheduling.scheduling_fixtures import CRON, NOW, an_endpoint

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.baseline import Cron, DayPart, DayParts, Every, cadence_at, interval_at
from cadenza.domain.scheduling.calendars.calendar import MOST_SPANS, Calendar, calendar_of
from cadenza.domain.scheduling.calendars.day_part_planning import INSTANT, MOST_JUMPS, check_day_parts
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.explain import explain
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import HintMode, IntervalHint
from cadenza.domain.scheduling.plan import Candidate, Source
from cadenza.domain.scheduling.policy import Backoff, Guard, Policy
from cadenza.domain.scheduling.target import HeartbeatTarget, PromptTarget

minutes = st.integers(-200, 400)
WORK = a_calendar("work", (10, 70))
LUNCH = a_calendar("lunch", (20, 30))
PROMPT = PromptTarget("agent", "user", "prompt")
BY_DAY = DayParts((DayPart(WORK, every(1)),), every(15))


def planned(baseline: DayParts, now: int = 0, **parts: Any) -> tuple[datetime | None, Source]:
    plan = plan_next_run(minute(now), an_endpoint(baseline=baseline, **parts), CRON)
    return plan.next_run_at, plan.source


def last_run(one: Written, last: int, took: int, **parts: Any) -> tuple[Endpoint, datetime]:
    endpoint = an_endpoint(baseline=one.day_parts, last_run_at=minute(last), **parts)
    return endpoint, minute(last + took)


@given(written(), minutes, st.integers(0, 60))
def test_the_plan_is_the_first_minute_at_which_the_cadence_in_force_wants_a_run(
    one: Written, last: int, took: int
) -> None:
    endpoint, now = last_run(one, last, took)
    expected = literal(one, last=minute(last), after=now)
    plan = plan_next_run(now, endpoint, CRON)
    assert (plan.next_run_at, plan.source) == (max(expected.at, now), expected.source)
    assert plan.candidates == (expected,)


@given(written(), minutes, st.integers(1, 7))
def test_failures_stretch_the_interval_of_the_part_in_force(one: Written, last: int, failures: int) -> None:
    policy = Policy(backoff=Backoff.EXPONENTIAL)
    endpoint, now = last_run(one, last, 0, failure_count=failures, policy=policy)
    expected = literal(one, last=now, after=now, times=2 ** min(failures, 5))
    assert plan_next_run(now, endpoint, CRON).candidates == (expected,)


@given(written(), minutes, st.sampled_from((1, 10, 50, 200)), st.integers(1, 200))
def test_a_hint_takes_the_place_of_all_parts_until_it_expires_and_the_baseline_resumes_then(
    one: Written, last: int, pace: int, lasts: int
) -> None:
    hint = IntervalHint(every(pace).interval_ms, minute(last + lasts))
    endpoint, now = last_run(one, last, 0, interval_hint=hint)
    plan = plan_next_run(now, endpoint, CRON)
    if pace <= lasts:
        assert (plan.next_run_at, plan.source) == (minute(last + pace), Source.AI_INTERVAL)
    else:
        expires = hint.expires_at
        resumed = literal(one, last=now, after=expires - INSTANT, not_before=expires)
        assert (plan.next_run_at, plan.source) == resumed


@given(written(), minutes, st.sampled_from((1, 10, 50, 200)))
def test_a_hint_that_may_only_tighten_competes_with_the_part_in_force(
    one: Written, last: int, pace: int
) -> None:
    hint = IntervalHint(every(pace).interval_ms, minute(last + 500))
    endpoint, now = last_run(one, last, 0, interval_hint=hint, hint_mode=HintMode.TIGHTEN)
    baseline = literal(one, last=now, after=now)
    hinted = Candidate(minute(last + pace), Source.AI_INTERVAL)
    plan = plan_next_run(now, endpoint, CRON)
    assert (plan.next_run_at, plan.source) == (hinted if hinted.at < baseline.at else baseline)


@given(written(), minutes)
def test_the_guard_and_a_pause_hold_as_ever(one: Written, last: int) -> None:
    guarded, now = last_run(one, last, 0, guard=Guard(every(5).interval_ms, every(20).interval_ms))
    moment = plan_next_run(now, guarded, CRON).next_run_at
    assert moment is not None
    assert now + 5 * A_MINUTE <= moment <= now + 20 * A_MINUTE
    paused, _ = last_run(one, last, 0, paused_until=minute(last + 999))
    assert plan_next_run(now, paused, CRON)[:2] == (minute(last + 999), Source.PAUSED)


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (-20, 0),  # Overdue, so now.
        (-5, 10),  # The faster part begins before its own time is over.
        (9, 10),
        (10, 11),
        (69, 84),  # The part is over a minute later.
        (68, 69),
    ],
)
def test_a_part_that_begins_counts_from_the_last_run(last: int, expected: int) -> None:
    now = max(last, 0)
    assert planned(BY_DAY, now, last_run_at=minute(last)) == (minute(expected), Source.BASELINE_INTERVAL)


def test_the_first_part_whose_calendar_is_open_counts() -> None:
    narrow, wide = a_calendar("narrow", (20, 30)), a_calendar("wide", (10, 70))
    first_narrow = DayParts((DayPart(narrow, every(1)), DayPart(wide, every(5))), every(60))
    assert [interval_at(first_narrow, minute(one)) for one in (9, 10, 20, 29, 30, 70)] == [
        every(one).interval_ms for one in (60, 5, 1, 1, 5, 60)
    ]


def test_a_cron_line_fires_at_the_opening_of_its_part_and_not_at_its_close() -> None:
    lines = DayParts((DayPart(a_calendar("work", (5, 20)), Cron("*/5 * * * *")),), Cron("*/60 * * * *"))
    assert cadence_at(lines, minute(5)) == Cron("*/5 * * * *")
    fires, now = [], 0
    while now < 120:
        moment, _ = planned(lines, now)
        assert moment is not None
        now = (moment - NOW) // A_MINUTE
        fires.append(now)
    # NOW is five minutes before a full hour, which is a fire of the part; 20 is not.
    assert fires == [5, 10, 15, 65, 125]


BERLIN = "Europe/Berlin"


def test_a_cron_line_of_a_part_follows_the_clocks_of_its_zone_through_a_change() -> None:
    days = [datetime(2025, 3, day, tzinfo=UTC) for day in (29, 30, 31)]
    hours = [(7, 17), (6, 16), (6, 16)]  # From 8 to 18 in Berlin, which changes its clocks on the 30th.
    spans = [
        (day + timedelta(hours=opens), day + timedelta(hours=closes))
        for day, (opens, closes) in zip(days, hours, strict=True)
    ]
    work = DayPart(calendar_of("work", BERLIN, spans), Cron("0 9 * * *", BERLIN))
    baseline, cron = DayParts((work,), Cron("30 2,9 * * *", BERLIN)), CronsimCron()
    fires, now = [], datetime(2025, 3, 29, 0, tzinfo=UTC)
    for _ in range(5):
        plan = plan_next_run(now, an_endpoint(baseline=baseline), cron)
        assert plan.next_run_at is not None
        now = plan.next_run_at
        fires.append(f"{now:%d %H:%M}")
    # Half past two does not exist on the 30th: it comes right after the gap, at three.
    assert fires == ["29 01:30", "29 08:00", "30 01:00", "30 07:00", "31 00:30"]


def test_a_heartbeat_is_expected_by_the_part_in_force() -> None:
    target = HeartbeatTarget(grace_ms=every(2).interval_ms)
    assert planned(BY_DAY, 20, target=target, last_run_at=minute(20))[0] == minute(23)
    lines = DayParts((DayPart(WORK, Cron("*/30 * * * *")),), every(15))
    # The fires are at 35 and 65. A signal shortly before one counts for it; the next one follows.
    assert planned(lines, 34, target=target, last_run_at=minute(34))[0] == minute(67)
    assert planned(lines, 20, target=target, last_run_at=minute(20))[0] == minute(37)
    assert planned(lines, 64, target=target, last_run_at=minute(64))[0] == minute(81)


@pytest.mark.parametrize(
    ("parts", "otherwise", "named"),
    [
        ([DayPart(a_calendar("past", (-60, 0)), every(1))], every(15), "part past"),
        ([DayPart(a_calendar("work", (5, 60)), Cron("59 * * * *"))], every(15), "part work"),
        (
            [DayPart(WORK, every(1)), DayPart(LUNCH, every(5))],
            every(15),
            "part lunch",
        ),
    ],
)
def test_a_part_that_would_never_run_is_refused(parts: list[DayPart], otherwise: Every, named: str) -> None:
    with pytest.raises(InvalidRequest, match=f"The day {named} would never run: change its calendar"):
        check_day_parts(DayParts(tuple(parts), otherwise), NOW, CronsimCron())


def test_a_cadence_otherwise_that_would_never_run_is_refused() -> None:
    by_day = [(minute(60 * 24 * day), minute(60 * 24 * day + 24 * 60 - 5)) for day in range(MOST_JUMPS + 9)]
    part = DayPart(calendar_of("long", "UTC", by_day), every(1))
    with pytest.raises(InvalidRequest, match="The cadence otherwise would never run"):
        check_day_parts(DayParts((part,), Cron("0 12 * * *")), NOW, CronsimCron())


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: DayParts((), every(1)), "between 1 and 16"),
        (lambda: DayParts((DayPart(WORK, every(1)),) * 17, every(1)), "between 1 and 16"),
        (lambda: DayParts((DayPart(WORK, every(1)),) * 2, every(1)), "name the same calendar"),
        (
            lambda: an_endpoint(baseline=BY_DAY, target=PROMPT),
            "A schedule has no day parts",
        ),
    ],
)
def test_what_would_be_no_day_parts_is_refused(make: Any, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        make()


class CountingCron(CronsimCron):
    calls = 0

    def next(self, expression: str, after: datetime, timezone: str = "UTC") -> datetime:
        self.calls += 1
        return super().next(expression, after, timezone)


def a_hostile_calendar() -> Calendar:
    """Open in every minute but the one at which the line fires, as often as a calendar may."""
    hours = (NOW.replace(minute=0) + timedelta(hours=number) for number in range(MOST_SPANS))
    return calendar_of("hostile", "UTC", [(one + A_MINUTE, one + 60 * A_MINUTE) for one in hours])


def test_planning_ends_after_a_bounded_number_of_jumps() -> None:
    cron, hostile = CountingCron(), DayPart(a_hostile_calendar(), Cron("0 * * * *"))
    plan = plan_next_run(NOW, an_endpoint(baseline=DayParts((hostile,), every(15))), cron)
    assert plan.source is Source.BASELINE_INTERVAL
    assert cron.calls <= MOST_JUMPS
    with pytest.raises(InvalidRequest):
        check_day_parts(DayParts((hostile,), every(15)), NOW, cron)
    assert cron.calls <= 2 * MOST_JUMPS


def test_a_new_version_of_a_calendar_takes_the_place_of_the_old_one() -> None:
    later = a_calendar("work", (100, 200))
    changed = BY_DAY.with_calendar(later)
    assert changed == DayParts((DayPart(later, every(1)),), every(15))
    assert interval_at(changed, minute(20)) == every(15).interval_ms
    assert BY_DAY.with_calendar(a_calendar("other", (1, 2))) is BY_DAY


@pytest.mark.parametrize(("now", "counts"), [(20, "work is in force now"), (80, "work is not in force now")])
def test_an_explanation_tells_all_parts_and_which_is_in_force(now: int, counts: str) -> None:
    told = explain(an_endpoint(baseline=BY_DAY), now=minute(now), cron=CRON).sentences
    assert f"Baseline: every minute during work, otherwise every 15 minutes; {counts}." in told


def test_an_explanation_of_several_parts_says_when_none_is_in_force() -> None:
    several = DayParts((DayPart(WORK, every(1)), DayPart(LUNCH, Cron("*/5 * * * *"))), every(15))
    told = explain(an_endpoint(baseline=several), now=minute(80), cron=CRON).sentences
    words = (
        "every minute during work, cron expression */5 * * * * (UTC) during lunch, otherwise every 15 minutes"
    )
    assert f"Baseline: {words}; none of these is in force now." in told


def test_a_line_that_hardly_fires_in_its_part_is_searched_only_until_another_fires() -> None:
    cron, hostile = CountingCron(), DayPart(a_hostile_calendar(), Cron("0 * * * *"))
    baseline = DayParts((hostile,), Cron("30 * * * *"))
    assert plan_next_run(NOW, an_endpoint(baseline=baseline), cron).next_run_at is None, (
        "otherwise never fires"
    )
    cron.calls = 0
    often = DayParts(
        (hostile, DayPart(a_calendar("often", (-60, 10_000)), Cron("0 3 * * *"))), Cron("0 0 1 1 *")
    )
    plan = plan_next_run(NOW, an_endpoint(baseline=often), cron)
    assert plan.source is Source.BASELINE_CRON
    assert cron.calls < MOST_JUMPS / 2
