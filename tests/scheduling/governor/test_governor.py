"""What the baseline proposes, and what holds for every plan."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import (
    NO_GUARD,
    NOTHING,
    crons,
    endpoints,
    everies,
    onces,
    past,
    repeating,
)
from tests.scheduling.scheduling_fixtures import CRON, HOUR, MINUTE, NOW, an_endpoint, anchor_of, at

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, OpenSlot, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import OneShotHint
from cadenza.domain.scheduling.plan import Candidate, Plan, Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.validation import milliseconds

PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "guard": NO_GUARD,
    "interval_hint": NOTHING,
    "one_shot_hint": NOTHING,
    "paused_until": NOTHING,
    "failure_count": st.just(0),
}


def planned(endpoint: Endpoint, now: datetime = NOW) -> Plan:
    return plan_next_run(now, endpoint, CRON)


@given(endpoints(**PLAIN, baseline=everies()))
def test_an_interval_runs_one_interval_after_the_last_run(endpoint: Endpoint) -> None:
    assert isinstance(endpoint.baseline, Every)
    moment = anchor_of(endpoint) + milliseconds(endpoint.baseline.interval_ms)
    expected = Candidate(moment, Source.BASELINE_INTERVAL)
    assert planned(endpoint) == Plan(max(moment, NOW), Source.BASELINE_INTERVAL, (expected,))


@given(endpoints(**PLAIN, baseline=everies(), last_run_at=NOTHING, skipped_at=NOTHING))
def test_an_interval_that_never_ran_is_one_interval_away(endpoint: Endpoint) -> None:
    assert isinstance(endpoint.baseline, Every)
    assert planned(endpoint).next_run_at == at(endpoint.baseline.interval_ms)


@given(endpoints(**PLAIN, baseline=crons()), st.integers(-HOUR, HOUR).map(at))
def test_a_cron_line_runs_at_its_first_fire_strictly_after_now(endpoint: Endpoint, now: datetime) -> None:
    assert isinstance(endpoint.baseline, Cron)
    fire = CRON.next(endpoint.baseline.expression, now)
    assert fire > now
    assert planned(endpoint, now) == Plan(
        fire, Source.BASELINE_CRON, (Candidate(fire, Source.BASELINE_CRON),)
    )


def test_a_cron_line_is_read_in_its_own_time_zone() -> None:
    asked: list[tuple[str, datetime, str]] = []

    class Listening:
        def next(self, expression: str, after: datetime, timezone: str = "UTC") -> datetime:
            asked.append((expression, after, timezone))
            return at(MINUTE)

    plan_next_run(NOW, an_endpoint(baseline=Cron("0 9 * * *", "Europe/Berlin")), Listening())
    assert asked == [("0 9 * * *", NOW, "Europe/Berlin")]


@given(endpoints(**PLAIN, baseline=onces(), last_run_at=NOTHING, skipped_at=NOTHING))
def test_a_moment_that_nobody_served_stays_planned(endpoint: Endpoint) -> None:
    assert isinstance(endpoint.baseline, Once)
    moment = endpoint.baseline.at
    expected = (Candidate(moment, Source.BASELINE_ONCE),)
    assert planned(endpoint) == Plan(max(moment, NOW), Source.BASELINE_ONCE, expected)


@given(endpoints(baseline=onces(), one_shot_hint=NOTHING, last_run_at=past(), skipped_at=NOTHING))
def test_what_runs_once_is_finished_by_a_run_that_started_at_its_moment_or_later(endpoint: Endpoint) -> None:
    assert isinstance(endpoint.baseline, Once)
    assert endpoint.last_run_at is not None
    plan = planned(endpoint)
    if endpoint.last_run_at >= endpoint.baseline.at:
        assert plan == Plan(None, Source.FINISHED, ())
    else:
        assert plan.next_run_at is not None


def test_what_runs_once_is_finished_when_its_slot_was_skipped() -> None:
    assert planned(an_endpoint(baseline=Once(at(-MINUTE)), skipped_at=NOW)).source is Source.FINISHED


@given(endpoints(**PLAIN, baseline=onces()), st.integers(1, 3))
def test_what_runs_once_is_not_finished_while_its_slot_is_open(endpoint: Endpoint, attempts: int) -> None:
    assert isinstance(endpoint.baseline, Once)
    waiting = evolve(endpoint, open_slot=OpenSlot(endpoint.baseline.at, attempts))
    assert planned(waiting).source is Source.BASELINE_ONCE


def test_a_finished_endpoint_still_takes_a_one_shot() -> None:
    endpoint = an_endpoint(baseline=Once(at(-HOUR)), last_run_at=at(-HOUR))
    hinted = evolve(endpoint, one_shot_hint=OneShotHint(at(MINUTE), at(HOUR)))
    expected = (Candidate(at(MINUTE), Source.AI_ONESHOT),)
    assert planned(hinted) == Plan(at(MINUTE), Source.AI_ONESHOT, expected)


def test_a_pause_does_not_bring_back_what_is_finished() -> None:
    finished = an_endpoint(baseline=Once(at(-HOUR)), last_run_at=at(-HOUR), paused_until=at(HOUR))
    assert planned(finished) == Plan(None, Source.FINISHED)


@given(endpoints())
def test_nothing_is_planned_before_now(endpoint: Endpoint) -> None:
    moment = planned(endpoint).next_run_at
    assert moment is None or moment >= NOW


@given(endpoints(guard=NO_GUARD, paused_until=NOTHING))
def test_a_winner_in_the_past_becomes_now_and_keeps_its_source(endpoint: Endpoint) -> None:
    plan = planned(endpoint)
    winners = [candidate.at for candidate in plan.candidates if candidate.source is plan.source]
    assert plan.next_run_at == (max(winners[0], NOW) if winners else None)


@given(endpoints(baseline=repeating()))
def test_what_repeats_is_never_finished(endpoint: Endpoint) -> None:
    plan = planned(endpoint)
    assert plan.next_run_at is not None
    assert plan.source is not Source.FINISHED


@given(endpoints())
def test_planning_is_a_pure_function(endpoint: Endpoint) -> None:
    before = replace(endpoint)
    assert planned(endpoint) == planned(endpoint) == planned(replace(endpoint))
    assert endpoint == before


@given(endpoints(guard=NO_GUARD, paused_until=NOTHING))
def test_the_winner_is_among_the_candidates(endpoint: Endpoint) -> None:
    plan = planned(endpoint)
    if plan.next_run_at is not None:
        assert (plan.next_run_at, plan.source) in {(max(at, NOW), source) for at, source in plan.candidates}


@given(endpoints())
def test_only_the_governor_s_own_sources_are_given(endpoint: Endpoint) -> None:
    others = {Source.FIRST, Source.MANUAL, Source.RESUME, Source.RETRY, Source.QUOTA}
    assert planned(endpoint).source not in others


def test_now_without_a_time_zone_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="now must carry a time zone") as refusal:
        plan_next_run(NOW.replace(tzinfo=None), an_endpoint(), CRON)
    assert refusal.value.field == "now"


def test_a_guard_that_is_wide_enough_changes_nothing() -> None:
    endpoint = an_endpoint(last_run_at=NOW, guard=Guard(MINUTE, MINUTE))
    assert planned(endpoint) == planned(replace(endpoint, guard=Guard()))
