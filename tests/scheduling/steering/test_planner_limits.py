"""What models and the learning planner cannot be talked into."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.scheduling_fixtures import CRON, NOW, an_endpoint

from cadenza.domain.planning.planner_limits import latest_run
from cadenza.domain.planning.planner_settings import Planning
from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.explain import explain
from cadenza.domain.scheduling.hint import HintMode, IntervalHint, OneShotHint
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.steer import (
    ChangedEndpoint,
    clear_hints,
    pause,
    resume,
    take_interval_hint,
    take_one_shot,
)
from cadenza.domain.validation import iso

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
BOUNDED = ["planner:llm", "planner:learned", "mcp", "llm:key:ab12", "agent:bot"]
FREE = ["key:ab12", "dashboard", "rule:night", "cli", "rule:key:ab12", "planner:http"]


def watched(**facts: Any) -> Endpoint:
    """An endpoint every ten minutes that has just run, and that a model may steer."""
    given = {"baseline": Every(600_000), "last_run_at": NOW, "planning": Planning(llm=True)} | facts
    return an_endpoint(next_run_at=NOW + 10 * MINUTE, **given)


def paused(endpoint: Endpoint, until: datetime, origin: str, now: datetime = NOW) -> ChangedEndpoint:
    return pause(endpoint, until, None, now=now, cron=CRON, origin=origin)


def hinted(endpoint: Endpoint, every: timedelta, ttl: timedelta, origin: str) -> ChangedEndpoint:
    hint = IntervalHint(every // timedelta(milliseconds=1), NOW + ttl)
    return take_interval_hint(endpoint, hint, now=NOW, cron=CRON, origin=origin)


@pytest.mark.parametrize("origin", BOUNDED)
def test_a_model_pauses_for_as_long_as_the_owner_allows_and_no_longer(origin: str) -> None:
    latest = NOW + 10 * MINUTE + 4 * HOUR
    assert paused(watched(), latest, origin).endpoint.paused_until == latest
    refused = paused(watched(), latest + MINUTE, origin)
    assert not refused.applied
    assert refused.endpoint == watched()
    assert refused.note == (
        "Not applied, because models and the learning planner may delay a run by at most 4 hours"
        " (planning.max_pause_minutes),"
        f" and it has to run by {iso(latest)}."
    )
    longer = watched(planning=Planning(llm=True, max_pause_minutes=2 * 24 * 60))
    assert paused(longer, NOW + 2 * DAY, origin).applied
    assert not paused(watched(planning=Planning(llm=True, max_pause_minutes=0)), NOW + HOUR, origin).applied


@pytest.mark.parametrize("origin", FREE)
def test_people_rules_and_headers_pause_for_as_long_as_they_say(origin: str) -> None:
    assert paused(watched(), NOW + 365 * DAY, origin).applied
    assert hinted(watched(), 30 * DAY, 365 * DAY, origin).applied


@pytest.mark.parametrize("origin", BOUNDED)
def test_a_long_interval_is_no_way_round(origin: str) -> None:
    assert hinted(watched(), 4 * HOUR, 30 * DAY, origin).applied
    assert hinted(watched(), 365 * DAY, 3 * HOUR, origin).applied  # It ends before it delays for long.
    refused = hinted(watched(), 365 * DAY, 365 * DAY, origin)
    assert not refused.applied
    assert "planning.max_pause_minutes" in (refused.note or "")
    assert hinted(watched(guard=Guard(max_interval_ms=3_600_000)), 365 * DAY, 365 * DAY, origin).applied
    assert hinted(watched(hint_mode=HintMode.TIGHTEN), 365 * DAY, 365 * DAY, origin).applied


@given(
    st.sampled_from([Every(60_000), Every(86_400_000), Cron("*/30 * * * *"), Once(NOW + 2 * HOUR)]),
    st.sampled_from(BOUNDED),
    st.lists(
        st.tuples(st.booleans(), st.integers(1, 10_000), st.integers(1, 50_000), st.integers(0, 600)),
        max_size=30,
    ),
    st.sampled_from([{"last_run_at": NOW}, {"last_run_at": None, "created_at": NOW}]),
)
def test_calls_that_are_repeated_never_put_a_run_off_beyond_the_bound(
    baseline: Any, origin: str, calls: list[tuple[bool, int, int, int]], past: dict[str, datetime | None]
) -> None:
    endpoint = watched(baseline=baseline, planning=Planning(llm=True, max_pause_minutes=180), **past)
    latest, now = latest_run(endpoint, NOW, CRON), NOW
    assert latest is not None
    for is_pause, minutes, ttl, waits in calls:
        if is_pause:
            endpoint = paused(endpoint, now + minutes * MINUTE, origin, now).endpoint
        elif not isinstance(baseline, Once):
            hint = IntervalHint(minutes * 60_000, now + ttl * MINUTE)
            endpoint = take_interval_hint(endpoint, hint, now=now, cron=CRON, origin=origin).endpoint
        assert endpoint.paused_until is None or endpoint.paused_until <= latest
        assert endpoint.next_run_at is not None
        assert endpoint.next_run_at <= latest
        now += waits * MINUTE
        if now >= endpoint.next_run_at:
            return


def test_a_run_opens_the_next_span() -> None:
    ran = watched(last_run_at=NOW + 4 * HOUR)
    assert paused(ran, NOW + 8 * HOUR, "planner:llm", now=NOW + 4 * HOUR).applied


def test_the_llm_planner_reaches_only_endpoints_for_which_it_is_on() -> None:
    closed = watched(planning=Planning(llm=False), paused_until=NOW + HOUR)
    by: dict[str, Any] = {"now": NOW, "cron": CRON, "origin": "planner:llm"}
    calls = [
        pause(closed, NOW + 2 * HOUR, None, **by),
        resume(closed, None, **by),
        clear_hints(closed, **by),
        take_interval_hint(closed, IntervalHint(5_000, NOW + HOUR), **by),
        take_one_shot(closed, OneShotHint(NOW, NOW + HOUR), **by),
    ]
    for one in calls:
        assert not one.applied
        assert one.endpoint == closed
        assert "planning.llm" in (one.note or "")
    assert resume(closed, None, now=NOW, cron=CRON, origin="mcp").applied
    assert resume(closed, None, now=NOW, cron=CRON, origin="planner:learned").applied


def test_explain_tells_of_it_while_it_holds() -> None:
    endpoint = watched()
    refused = paused(endpoint, NOW + DAY, "planner:llm").record
    assert refused is not None

    def sentences(of: Endpoint) -> str:
        return " ".join(explain(of, now=NOW, cron=CRON, history=[refused]).sentences)

    assert f"A pause until {iso(NOW + DAY)}" in sentences(endpoint)
    assert (
        "was not applied, because models and the learning planner may delay a run by at most 4 hours"
        in sentences(endpoint)
    )
    allowed = evolve(endpoint, planning=replace(endpoint.planning, max_pause_minutes=48 * 60))
    assert "was not applied" not in sentences(allowed)
