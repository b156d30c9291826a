"""How calendars, a start and an end change a plan."""

from datetime import datetime, timedelta

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import (
    NOTHING,
    calendar_rules,
    crons,
    endpoints,
    everies,
    future,
    repeating,
)
from tests.scheduling.scheduling_fixtures import CRON, HOUR, MINUTE, NOW, a_calendar, an_endpoint, at

from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.calendars.gate import first_open, is_closed
from cadenza.domain.scheduling.calendars.rules import NO_RULES, CalendarRules, WhenClosed
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import OneShotHint
from cadenza.domain.scheduling.plan import Plan, Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.target import HeartbeatTarget

DAY = 24 * HOUR
NIGHT = a_calendar(-DAY, 0, 10 * HOUR, DAY)
"""Closed from now on for ten hours."""


def kept(when_closed: WhenClosed = WhenClosed.SKIP, **parts: object) -> CalendarRules:
    return CalendarRules(**{"only_during": NIGHT, "when_closed": when_closed, **parts})  # type: ignore[arg-type]


def plan(endpoint: Endpoint, now: datetime = NOW) -> Plan:
    return plan_next_run(now, endpoint, CRON)


in_calendars = endpoints(calendar_rules=calendar_rules())


@given(in_calendars)
def test_a_plan_follows_from_its_arguments_and_is_never_earlier_than_now(endpoint: Endpoint) -> None:
    first = plan(endpoint)
    assert first == plan(endpoint)
    assert first.next_run_at is None or first.next_run_at >= NOW


@given(in_calendars)
def test_what_is_planned_is_open_unless_it_is_to_be_skipped_or_paused(endpoint: Endpoint) -> None:
    moment, source, _ = plan(endpoint)
    assume(moment is not None and source is not Source.PAUSED)
    assert is_closed(endpoint.calendar_rules, moment or NOW) is (source is Source.CLOSED)


@given(endpoints(calendar_rules=calendar_rules(), paused_until=future()))
def test_a_pause_still_wins(endpoint: Endpoint) -> None:
    free = plan(evolve(endpoint, calendar_rules=NO_RULES))
    assume(free.source is Source.PAUSED)
    rules = endpoint.calendar_rules
    assume(rules.starts_at is None or rules.starts_at <= NOW)
    assert plan(endpoint)[:2] == (endpoint.paused_until, Source.PAUSED)


@given(endpoints(paused_until=NOTHING), st.sampled_from(WhenClosed))
def test_calendars_that_are_always_open_change_nothing(endpoint: Endpoint, when: WhenClosed) -> None:
    always = a_calendar(-1_000 * DAY, 1_000 * DAY)
    assert plan(evolve(endpoint, calendar_rules=kept(when, only_during=always))) == plan(endpoint)


@given(endpoints(calendar_rules=calendar_rules()))
def test_the_winner_is_among_the_candidates(endpoint: Endpoint) -> None:
    moment, source, candidates = plan(endpoint)
    assume(source in (Source.CLOSED, Source.CALENDAR))
    assert (moment, source) in candidates


@given(endpoints(calendar_rules=calendar_rules(), paused_until=NOTHING, baseline=repeating()))
def test_once_a_slot_was_skipped_the_next_lies_beyond_the_opening(endpoint: Endpoint) -> None:
    moment, source, _ = plan(endpoint)
    if moment is None or source is not Source.CLOSED:
        return
    opening = first_open(endpoint.calendar_rules, moment)
    after = plan(evolve(endpoint, skipped_at=moment, one_shot_hint=None), moment).next_run_at
    assert opening is not None
    assert after is None or after >= opening


def test_a_slot_while_closed_keeps_its_moment_and_is_skipped() -> None:
    endpoint = an_endpoint(baseline=Every(MINUTE), last_run_at=NOW, calendar_rules=kept())
    assert plan(endpoint)[:2] == (at(MINUTE), Source.CLOSED)


def test_after_a_skipped_slot_an_interval_goes_on_in_its_steps_at_the_opening() -> None:
    seven = an_endpoint(baseline=Every(7 * MINUTE), skipped_at=at(MINUTE), calendar_rules=kept())
    moment, source, candidates = plan(seven, at(MINUTE))
    assert (moment, source) == (at(MINUTE + 86 * 7 * MINUTE), Source.BASELINE_INTERVAL)
    assert [one.source for one in candidates] == ["baseline-interval", "closed", "baseline-interval"]


def test_after_a_skipped_slot_a_cron_line_fires_at_the_opening_or_after_it() -> None:
    line = an_endpoint(baseline=Cron("*/15 * * * *"), skipped_at=at(5 * MINUTE), calendar_rules=kept())
    assert plan(line, at(5 * MINUTE))[:2] == (at(10 * HOUR + 5 * MINUTE), Source.BASELINE_CRON)
    at_opening = evolve(line, baseline=Cron("*/5 * * * *"))
    assert plan(at_opening, at(5 * MINUTE))[:2] == (at(10 * HOUR), Source.BASELINE_CRON)


def test_the_first_slot_after_an_opening_may_be_a_closed_one_again() -> None:
    moments = a_calendar(-DAY, 0, 10 * HOUR, 10 * HOUR + MINUTE, DAY, 2 * DAY)
    rules = kept(only_during=moments)
    slow = an_endpoint(baseline=Every(7 * HOUR), skipped_at=at(HOUR), calendar_rules=rules)
    assert plan(slow, at(HOUR))[:2] == (at(15 * HOUR), Source.CLOSED)


@given(everies() | crons(), st.integers(1, 10 * HOUR - 1))
def test_what_runs_at_the_end_runs_exactly_at_the_opening(baseline: Every | Cron, since_ms: int) -> None:
    endpoint = an_endpoint(
        baseline=baseline, last_run_at=at(since_ms), calendar_rules=kept(WhenClosed.RUN_AT_END)
    )
    moment, source, _ = plan(endpoint, at(since_ms))
    if source is Source.CALENDAR:
        assert moment == at(10 * HOUR)
    else:
        assert moment is not None
        assert moment >= at(10 * HOUR)
    ran = evolve(endpoint, last_run_at=at(10 * HOUR))
    assert (plan(ran, at(10 * HOUR)).next_run_at or NOW) > at(10 * HOUR)


def test_what_runs_once_while_closed_is_skipped_or_runs_at_the_opening() -> None:
    once = an_endpoint(baseline=Once(at(HOUR)), calendar_rules=kept())
    assert plan(once)[:2] == (at(HOUR), Source.CLOSED)
    assert plan(evolve(once, skipped_at=at(HOUR)), at(HOUR))[:2] == (None, Source.FINISHED)
    at_end = evolve(once, calendar_rules=kept(WhenClosed.RUN_AT_END))
    assert plan(at_end)[:2] == (at(10 * HOUR), Source.CALENDAR)


def test_an_interval_begins_at_its_start_and_a_cron_line_fires_at_or_after_it() -> None:
    starts = CalendarRules(starts_at=at(HOUR))
    assert plan(an_endpoint(calendar_rules=starts))[:2] == (at(HOUR), Source.BASELINE_INTERVAL)
    line = an_endpoint(baseline=Cron("*/15 * * * *"), calendar_rules=starts)
    assert plan(line).next_run_at == at(HOUR + 5 * MINUTE)
    on_fire = evolve(line, calendar_rules=CalendarRules(starts_at=at(5 * MINUTE)))
    assert plan(on_fire).next_run_at == at(5 * MINUTE)
    ran = an_endpoint(baseline=Every(5 * HOUR), last_run_at=NOW, calendar_rules=starts)
    assert plan(ran).next_run_at == at(5 * HOUR)


@given(endpoints(calendar_rules=st.builds(lambda moment: CalendarRules(starts_at=moment), future())))
def test_nothing_but_a_pause_is_planned_before_the_start(endpoint: Endpoint) -> None:
    moment = plan(endpoint).next_run_at
    assert moment is None or moment >= (endpoint.calendar_rules.starts_at or NOW)


@given(endpoints(calendar_rules=st.builds(lambda moment: CalendarRules(ends_at=moment), future())))
def test_nothing_but_a_pause_is_planned_at_the_end_or_later(endpoint: Endpoint) -> None:
    moment, source, _ = plan(endpoint)
    free = plan(evolve(endpoint, calendar_rules=NO_RULES))
    if moment is None:
        assert source is Source.FINISHED
        assert free.next_run_at is None or free.next_run_at >= (endpoint.calendar_rules.ends_at or NOW)
    else:
        assert (moment, source) == free[:2]


def test_without_an_opening_ahead_it_is_finished() -> None:
    over = kept(only_during=a_calendar(-DAY, 0))
    assert plan(an_endpoint(calendar_rules=over, last_run_at=NOW))[:2] == (None, Source.FINISHED)


def test_a_one_shot_that_passed_with_a_skipped_slot_does_not_hurry_the_next() -> None:
    hint = OneShotHint(at(2 * HOUR), at(DAY))
    endpoint = an_endpoint(
        baseline=Every(HOUR), skipped_at=at(HOUR), one_shot_hint=hint, calendar_rules=kept()
    )
    assert plan(endpoint, at(HOUR))[:2] == (at(10 * HOUR), Source.BASELINE_INTERVAL)
    later = evolve(endpoint, baseline=Every(17 * HOUR), one_shot_hint=OneShotHint(at(11 * HOUR), at(DAY)))
    assert plan(later, at(HOUR))[:2] == (at(11 * HOUR), Source.AI_ONESHOT)


def test_the_guard_does_not_bring_everything_to_the_opening() -> None:
    endpoint = an_endpoint(
        baseline=Every(7 * MINUTE),
        guard=Guard(MINUTE, 5 * MINUTE),
        skipped_at=at(MINUTE),
        calendar_rules=kept(),
    )
    assert plan(endpoint, at(MINUTE)).next_run_at == at(10 * HOUR + MINUTE)


def test_a_heartbeat_expected_while_closed_is_not_missing() -> None:
    beats = an_endpoint(
        target=HeartbeatTarget(grace_ms=5 * MINUTE),
        baseline=Every(HOUR),
        last_run_at=at(-HOUR + 3 * MINUTE),
        calendar_rules=kept(only_during=a_calendar(-DAY, 0, 6 * MINUTE, DAY)),
    )
    assert plan(beats)[:2] == (at(8 * MINUTE), Source.CLOSED)
    skipped = evolve(beats, skipped_at=at(8 * MINUTE))
    assert plan(skipped, at(8 * MINUTE))[:2] == (at(73 * MINUTE), Source.BASELINE_INTERVAL)
    line = evolve(beats, baseline=Cron("*/30 * * * *"), last_run_at=at(-HOUR), skipped_at=NOW)
    wide = evolve(line, calendar_rules=kept())
    moment = plan(wide).next_run_at
    assert moment is not None
    assert moment - timedelta(minutes=5) >= at(10 * HOUR)
