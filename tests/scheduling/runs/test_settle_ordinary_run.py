"""The shorter way to settle an ordinary run ends where the steps do."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import NOTHING, everies, moments, past, stored
from tests.scheduling.scheduling_fixtures import CRON, MINUTE, NOW, SECOND, an_endpoint, at, claimed

from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.run import Completion, Outcome, RunStatus
from cadenza.domain.scheduling.settle import settle, settle_step_by_step

STEERED_BY = ("interval_hint", "one_shot_hint", "paused_until", "quota_opens_at", "skipped_at", "open_slot")
ORDINARY: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys((*STEERED_BY, "lease"), NOTHING),
    "baseline": everies(),
    "failure_count": st.just(0),
    "next_run_at": past(),
}


@st.composite
def completions(draw: st.DrawFn, drawn: str) -> Completion:
    """Runs of endpoints that are ordinary but perhaps for one thing; most went well."""
    endpoint = draw(stored(**{name: part for name, part in ORDINARY.items() if name != drawn}))
    counts = {name: draw(st.integers(0, 2)) for name in ("missed_slots", "abandoned_count")}
    held = claimed(evolve(endpoint, **counts))
    status = draw(st.sampled_from((*(RunStatus.SUCCESS,) * 9, *RunStatus)))
    return Completion(held._replace(started_at=draw(moments() | NOTHING)), Outcome(status), draw(moments()))


@pytest.mark.parametrize("drawn", ["nothing", *STEERED_BY, "baseline", "failure_count"])
@given(data=st.data(), now=moments())
def test_settling_at_once_is_settling_step_by_step(drawn: str, data: st.DataObject, now: datetime) -> None:
    completion = data.draw(completions(drawn))
    endpoint = completion.claim.endpoint
    assert settle(endpoint, completion, now=now, cron=CRON) == settle_step_by_step(
        endpoint, completion, now=now, cron=CRON
    )


def test_wherever_the_clock_stands_the_next_run_is_in_utc() -> None:
    held = claimed(an_endpoint(next_run_at=NOW, baseline=Every(SECOND)))
    late = at(MINUTE).astimezone(timezone(timedelta(hours=2)))
    after = settle(held.endpoint, Completion(held, Outcome(RunStatus.SUCCESS), late), now=late, cron=CRON)
    assert after.endpoint.next_run_at is not None
    assert after.endpoint.next_run_at.isoformat() == at(MINUTE).isoformat()
