"""What is foreseen is what happens, if every run starts on time and succeeds."""

from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import NOTHING, stored
from tests.scheduling.scheduling_fixtures import CRON, HOUR, MINUTE, NOW, an_endpoint, at, claimed, ended

from cadenza.domain.monitoring.forecast import ForecastRun, forecast_runs
from cadenza.domain.scheduling.baseline import Every, Once
from cadenza.domain.scheduling.due import opens_at
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import RunStatus

FEW = 6


def lived(endpoint: Endpoint, now: datetime) -> list[ForecastRun]:
    """The same runs, claimed and settled one after the other."""
    found: list[ForecastRun] = []
    while len(found) < FEW and (moment := opens_at(endpoint)) is not None:
        start = max(moment, now)
        found.append(ForecastRun(start, endpoint.next_source))
        held = claimed(endpoint, start)._replace(started_at=start)
        endpoint = ended(held, RunStatus.SUCCESS, now=start).endpoint
    return found


@given(endpoint=stored(lease=NOTHING, failure_count=st.just(0)))
def test_what_is_foreseen_comes_to_pass(endpoint: Endpoint) -> None:
    assert forecast_runs(endpoint, now=NOW, cron=CRON, most=FEW) == lived(endpoint, NOW)


def test_a_hint_sets_the_pace_until_it_expires_and_the_guard_bounds_it() -> None:
    hint = IntervalHint(10_000, at(40_000))
    endpoint = an_endpoint(
        baseline=Every(HOUR),
        guard=Guard(20_000, MINUTE),
        interval_hint=hint,
        last_run_at=NOW,
        next_run_at=at(20_000),
        next_source=Source.CLAMPED_MIN,
    )
    assert forecast_runs(endpoint, now=NOW, cron=CRON, most=4) == [
        (at(20_000), Source.CLAMPED_MIN),
        (at(40_000), Source.CLAMPED_MIN),
        (at(100_000), Source.CLAMPED_MAX),
        (at(160_000), Source.CLAMPED_MAX),
    ]


def test_what_runs_once_is_foreseen_once_and_what_is_switched_off_never() -> None:
    once = an_endpoint(baseline=Once(at(MINUTE)), next_run_at=at(MINUTE), next_source=Source.BASELINE_ONCE)
    assert forecast_runs(once, now=NOW, cron=CRON, most=9) == [(at(MINUTE), Source.BASELINE_ONCE)]
    off = an_endpoint(enabled=False, next_run_at=at(MINUTE))
    assert forecast_runs(off, now=NOW, cron=CRON, most=9) == []
