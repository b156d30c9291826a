"""A moment is the same in every time zone; only one without a zone is none."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import LINES, endpoints, moments
from tests.scheduling.scheduling_fixtures import CRON, HOUR, MINUTE, NOW, an_endpoint, at

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard

BERLIN, CHATHAM = ZoneInfo("Europe/Berlin"), ZoneInfo("Pacific/Chatham")
NEW_YORK = ZoneInfo("America/New_York")
ZONES = st.sampled_from(
    (BERLIN, CHATHAM, NEW_YORK, ZoneInfo("UTC"), timezone(timedelta(hours=-9, minutes=-30)))
)
CRONSIM = CronsimCron()
AUTUMN = datetime(2025, 10, 26, 0, 30, tzinfo=UTC)
"""The first of two times that Berlin's clocks show half past two."""


def moved(value: Any, zone: Any) -> Any:
    """The value with its moments as a clock of that zone shows them."""
    if isinstance(value, datetime):
        return value.astimezone(zone)
    if isinstance(value, Once | IntervalHint | OneShotHint):
        return type(value)(**{field.name: moved(getattr(value, field.name), zone) for field in fields(value)})
    return value


@given(endpoints(), ZONES)
def test_an_endpoint_with_moments_of_any_zone_is_the_same_endpoint(endpoint: Endpoint, zone: Any) -> None:
    parts = {field.name: moved(getattr(endpoint, field.name), zone) for field in fields(endpoint)}
    abroad = Endpoint(**parts)
    assert abroad == endpoint
    for field in ("last_run_at", "paused_until", "skipped_at"):
        moment = getattr(abroad, field)
        assert moment is None or moment.tzinfo is UTC


@given(endpoints(), moments(), ZONES)
def test_now_may_come_in_any_zone(endpoint: Endpoint, now: datetime, zone: Any) -> None:
    here = plan_next_run(now, endpoint, CRON)
    abroad = plan_next_run(now.astimezone(zone), endpoint, CRON)
    assert abroad == here
    assert abroad.next_run_at is None or abroad.next_run_at.tzinfo is UTC


@given(st.sampled_from((OneShotHint, IntervalHint)), moments(), ZONES)
def test_hints_keep_their_moments_in_utc(kind: Any, moment: datetime, zone: Any) -> None:
    first = moment.astimezone(zone) if kind is OneShotHint else MINUTE
    hint = kind(first, moment.astimezone(zone))
    assert (hint.expires_at, hint.expires_at.tzinfo) == (moment, UTC)
    assert kind is IntervalHint or (hint.at, hint.at.tzinfo) == (moment, UTC)
    assert Once(moment.astimezone(zone)).at.tzinfo is UTC


@pytest.mark.parametrize("fold", [0, 1])
def test_a_repeated_hour_is_two_different_hours(fold: int) -> None:
    twice = datetime(2025, 10, 26, 2, 30, tzinfo=BERLIN, fold=fold)
    assert Once(twice).at == AUTUMN + fold * timedelta(hours=1)


@pytest.mark.parametrize(("now", "hours"), [(NOW, 3), (AUTUMN, 3)])
def test_an_interval_is_elapsed_time_also_when_the_clocks_change(now: datetime, hours: int) -> None:
    local = now.astimezone(BERLIN)
    endpoint = an_endpoint(baseline=Every(hours * HOUR), last_run_at=local, guard=Guard(hours * HOUR))
    assert plan_next_run(local, endpoint, CRON)[:2] == (
        now + timedelta(hours=hours),
        Source.BASELINE_INTERVAL,
    )
    hinted = an_endpoint(
        last_run_at=local, interval_hint=IntervalHint(hours * HOUR, local.astimezone(UTC) + timedelta(days=1))
    )
    assert plan_next_run(local, hinted, CRON).next_run_at == now + timedelta(hours=hours)


@given(st.sampled_from(LINES), st.integers(-HOUR, HOUR).map(at), ZONES)
def test_a_real_cron_line_fires_strictly_after_now(line: str, now: datetime, zone: Any) -> None:
    plan = plan_next_run(now.astimezone(zone), an_endpoint(baseline=Cron(line)), CRONSIM)
    assert plan[:2] == (CRON.next(line, now), Source.BASELINE_CRON)


@given(st.sampled_from(LINES), st.integers(1, HOUR))
def test_a_real_cron_line_resumes_with_its_first_fire_from_the_expiry_on(line: str, ttl_ms: int) -> None:
    hinted = an_endpoint(baseline=Cron(line), interval_hint=IntervalHint(2 * HOUR, at(ttl_ms)))
    moment = plan_next_run(NOW, hinted, CRONSIM).next_run_at
    assert moment == CRON.next(line, at(ttl_ms) - timedelta(microseconds=1))


def test_a_daily_line_in_a_zone_that_changes_its_clocks_keeps_its_local_time() -> None:
    endpoint = an_endpoint(baseline=Cron("0 9 * * *", "Europe/Berlin"))
    before, after = NOW - timedelta(days=1), NOW
    fires = [plan_next_run(now, endpoint, CRONSIM).next_run_at for now in (before, after)]
    assert fires == [datetime(2025, 3, 29, 8, tzinfo=UTC), datetime(2025, 3, 30, 7, tzinfo=UTC)]
