"""An interval hint: in the baseline's place, or against it."""

from datetime import datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import (
    NO_GUARD,
    NOTHING,
    crons,
    endpoints,
    everies,
    future,
    interval_hints,
    past,
    repeating,
    spans,
)
from tests.scheduling.scheduling_fixtures import (
    CRON,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    Worker,
    an_endpoint,
    anchor_of,
    at,
)

from cadenza.domain.scheduling.baseline import Cron, Every
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import HintMode, IntervalHint
from cadenza.domain.scheduling.plan import Candidate, Plan, Source
from cadenza.domain.validation import milliseconds

OVERRIDE: dict[str, st.SearchStrategy[Any]] = {
    "guard": NO_GUARD,
    "one_shot_hint": NOTHING,
    "paused_until": NOTHING,
    "hint_mode": st.just(HintMode.OVERRIDE),
}
FRESH = interval_hints(future())


def planned(endpoint: Endpoint, now: datetime = NOW) -> Plan:
    return plan_next_run(now, endpoint, CRON)


def hinted_moment(endpoint: Endpoint) -> datetime:
    assert endpoint.interval_hint is not None
    return anchor_of(endpoint) + milliseconds(endpoint.interval_hint.interval_ms)


def without_hint(endpoint: Endpoint) -> Endpoint:
    return evolve(endpoint, interval_hint=None)


@given(endpoints(**OVERRIDE, baseline=repeating(), interval_hint=FRESH))
def test_in_override_a_fresh_hint_replaces_the_baseline(endpoint: Endpoint) -> None:
    moment, hint = hinted_moment(endpoint), endpoint.interval_hint
    assert hint is not None
    if moment > hint.expires_at:
        return
    plan = planned(endpoint)
    assert (plan.next_run_at, plan.source) == (max(moment, NOW), Source.AI_INTERVAL)
    baseline = planned(without_hint(endpoint)).candidates[0]
    assert plan.candidates == (baseline, Candidate(moment, Source.AI_INTERVAL))


@given(endpoints(baseline=repeating(), interval_hint=interval_hints(past())))
def test_a_hint_that_expires_now_or_earlier_counts_for_nothing(endpoint: Endpoint) -> None:
    assert planned(endpoint) == planned(without_hint(endpoint))


@given(endpoints(**OVERRIDE, baseline=everies(), interval_hint=FRESH, failure_count=st.just(0)))
def test_beyond_its_expiry_an_interval_resumes_at_the_expiry_or_at_its_own_moment(endpoint: Endpoint) -> None:
    hint, baseline = endpoint.interval_hint, endpoint.baseline
    assert hint is not None
    assert isinstance(baseline, Every)
    if hinted_moment(endpoint) <= hint.expires_at:
        return
    resumed = max(anchor_of(endpoint) + milliseconds(baseline.interval_ms), hint.expires_at)
    plan = planned(endpoint)
    assert (plan.next_run_at, plan.source) == (resumed, Source.BASELINE_INTERVAL)
    assert plan.candidates == (
        Candidate(resumed, Source.BASELINE_INTERVAL),
        Candidate(hinted_moment(endpoint), Source.AI_INTERVAL),
    )


@given(endpoints(**OVERRIDE, baseline=crons(), interval_hint=FRESH))
def test_beyond_its_expiry_a_cron_line_resumes_with_its_first_fire_from_the_expiry_on(
    endpoint: Endpoint,
) -> None:
    hint, line = endpoint.interval_hint, endpoint.baseline
    assert hint is not None
    assert isinstance(line, Cron)
    if hinted_moment(endpoint) <= hint.expires_at:
        return
    plan = planned(endpoint)
    assert plan.next_run_at is not None
    assert plan.source is Source.BASELINE_CRON
    assert plan.next_run_at >= hint.expires_at
    assert plan.next_run_at == CRON.next(line.expression, plan.next_run_at - timedelta(microseconds=1))
    assert CRON.next(line.expression, hint.expires_at) in {plan.next_run_at} | (
        {CRON.next(line.expression, plan.next_run_at)} if plan.next_run_at == hint.expires_at else set()
    )


def test_a_fire_at_the_expiry_itself_belongs_to_the_baseline_again() -> None:
    hint = IntervalHint(HOUR, at(5 * MINUTE))
    endpoint = an_endpoint(baseline=Cron("*/5 * * * *", "Europe/Berlin"), interval_hint=hint)
    assert planned(endpoint)[:2] == (at(5 * MINUTE), Source.BASELINE_CRON)


def test_a_resumed_cron_line_is_read_in_its_own_time_zone() -> None:
    zones: list[str] = []

    class Listening:
        def next(self, expression: str, after: datetime, timezone: str = "UTC") -> datetime:
            zones.append(f"{expression} {timezone}")
            return at(2 * HOUR)

    hint = IntervalHint(3 * HOUR, at(HOUR))
    plan_next_run(NOW, an_endpoint(baseline=Cron("0 * * * *", "Asia/Tokyo"), interval_hint=hint), Listening())
    assert set(zones) == {"0 * * * * Asia/Tokyo"}


def test_a_hint_whose_moment_is_its_expiry_still_counts() -> None:
    endpoint = an_endpoint(last_run_at=NOW, interval_hint=IntervalHint(5 * MINUTE, at(5 * MINUTE)))
    assert planned(endpoint)[:2] == (at(5 * MINUTE), Source.AI_INTERVAL)


@given(endpoints(baseline=repeating(), hint_mode=st.just(HintMode.TIGHTEN)))
def test_in_mode_tighten_no_hint_ever_delays(endpoint: Endpoint) -> None:
    unhinted = evolve(endpoint, interval_hint=None, one_shot_hint=None)
    hinted, bare = planned(endpoint).next_run_at, planned(unhinted).next_run_at
    assert hinted is not None
    assert bare is not None
    assert hinted <= bare


@given(
    endpoints(
        **OVERRIDE | {"hint_mode": st.just(HintMode.TIGHTEN)}, baseline=repeating(), interval_hint=FRESH
    )
)
def test_in_mode_tighten_the_earlier_of_baseline_and_hint_wins(endpoint: Endpoint) -> None:
    baseline = planned(without_hint(endpoint)).candidates[0]
    interval = Candidate(hinted_moment(endpoint), Source.AI_INTERVAL)
    winner = interval if interval.at < baseline.at else baseline
    assert planned(endpoint) == Plan(max(winner.at, NOW), winner.source, (baseline, interval))


@given(spans(), spans(), st.integers(0, 3 * MINUTE))
def test_a_relaxed_interval_is_back_on_its_baseline_when_the_hint_expires(
    interval_ms: int, hint_ms: int, ttl_ms: int
) -> None:
    interval_ms, expiry = interval_ms + SECOND, at(ttl_ms)
    hint = IntervalHint(hint_ms + SECOND, expiry)
    worker = Worker(
        an_endpoint(baseline=Every(interval_ms), interval_hint=hint, last_run_at=NOW, next_run_at=NOW)
    )
    while worker.now <= expiry:
        worker.run()
    first, then = worker.rows[-1].started_at, worker.endpoint.next_run_at
    assert first is not None
    assert then == first + milliseconds(interval_ms)
    assert worker.endpoint.next_source is Source.BASELINE_INTERVAL
    before = worker.rows[-2].started_at if len(worker.rows) > 1 else None
    assert before is None or first <= max(expiry, before + milliseconds(max(interval_ms, hint.interval_ms)))


@given(crons(), spans(), st.integers(0, HOUR))
def test_a_relaxed_cron_line_is_back_on_its_fires_when_the_hint_expires(
    line: Cron, hint_ms: int, ttl_ms: int
) -> None:
    hint = IntervalHint(hint_ms + MINUTE, at(ttl_ms))
    worker = Worker(an_endpoint(baseline=line, interval_hint=hint, last_run_at=NOW, next_run_at=NOW))
    while not worker.rows or worker.now < hint.expires_at:
        worker.run()
    first = worker.rows[-1].started_at
    assert first is not None
    assert first in {hint.expires_at, CRON.next(line.expression, hint.expires_at)}
    assert worker.endpoint.next_run_at == CRON.next(line.expression, first)
    assert worker.endpoint.next_source is Source.BASELINE_CRON
