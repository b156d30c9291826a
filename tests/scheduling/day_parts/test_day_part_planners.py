"""What planners make of a baseline of day parts: they go by the part in force."""

from datetime import datetime
from typing import Any

import pytest
from tests.planning.rules.test_rule import a_rule
from tests.planning.test_http_hints import ALLOWED, briefed, called
from tests.scheduling.day_parts.day_part_fixtures import a_calendar, every, minute
from tests.scheduling.scheduling_fixtures import an_endpoint

from cadenza.adapters.planners.learning.observations import bounds_of, period_of
from cadenza.adapters.planners.llm.briefing import endpoint_data
from cadenza.domain.json_values import Json
from cadenza.domain.planning.planner_settings import Planning
from cadenza.domain.planning.rules.rule import ClearStep
from cadenza.domain.planning.rules.steps import tool_requests
from cadenza.domain.scheduling.baseline import Cron, DayPart, DayParts
from cadenza.domain.scheduling.calendars.calendar import calendar_of
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.validation import LONGEST_SPAN_MS
from cadenza.testing.clock import NEW_YEAR

WORK, NIGHT = a_calendar("work", (10, 70)), a_calendar("night", (100, 200))
BY_DAY = DayParts((DayPart(WORK, every(2)), DayPart(NIGHT, Cron("0 * * * *"))), every(30))
AT_WORK, AT_NIGHT, OTHERWISE = minute(20), minute(150), minute(80)


def by_day(**parts: Any) -> Endpoint:
    return an_endpoint(baseline=BY_DAY, **parts)


def test_the_learning_planner_counts_in_the_shortest_interval_and_spends_what_the_part_would() -> None:
    at_work, otherwise = period_of(by_day(), AT_WORK), period_of(by_day(), OTHERWISE)
    assert at_work is not None
    assert otherwise is not None
    assert (at_work.seconds, at_work.allowance) == (120, 1)
    assert otherwise.seconds == 120
    assert otherwise.allowance == pytest.approx(1 / 15)
    assert period_of(by_day(), AT_NIGHT) is None


def test_a_budget_of_the_owner_is_the_same_in_all_parts() -> None:
    budgeted = by_day(planning=Planning(runs_per_hour=15))
    periods = [period_of(budgeted, at) for at in (AT_WORK, OTHERWISE)]
    assert periods[0] == periods[1]
    assert periods[0] is not None
    assert periods[0].allowance == 0.5


def test_a_hint_that_may_only_tighten_is_at_most_the_interval_in_force() -> None:
    tighten = by_day(hint_mode=HintMode.TIGHTEN)
    for at, most in ((AT_WORK, 1), (OTHERWISE, 15)):
        period = period_of(tighten, at)
        assert period is not None
        assert bounds_of(tighten, period, at).most == most


@pytest.mark.parametrize(
    ("at", "interval_ms"),
    [(AT_WORK, every(2).interval_ms), (OTHERWISE, every(30).interval_ms), (AT_NIGHT, LONGEST_SPAN_MS)],
)
def test_a_rule_clears_a_hint_by_one_that_is_no_shorter_than_the_part_in_force(
    at: datetime, interval_ms: int
) -> None:
    (request,) = tool_requests(ClearStep(), by_day(), rule=a_rule(), now=at)
    assert request.arguments["intervalMs"] == interval_ms


async def test_a_response_may_not_ask_for_a_shorter_interval_than_that_of_the_part_in_force() -> None:
    now_open = calendar_of("now", "UTC", [(NEW_YEAR, NEW_YEAR.replace(hour=1))])
    parts = DayParts((DayPart(now_open, every(10)),), every(1))
    response: Json = {"status": 200, "headers": {"cache-control": "max-age=120"}}
    asked = await called(briefed(response, baseline=parts, planning=ALLOWED))
    assert asked is not None
    assert asked[1]["intervalMs"] == every(10).interval_ms


def test_a_model_is_told_all_parts() -> None:
    assert endpoint_data(by_day())["baseline"] == {
        "day_parts": [
            {"during": "work", "every_ms": every(2).interval_ms},
            {"during": "night", "cron": "0 * * * *", "timezone": "UTC"},
        ],
        "otherwise": {"every_ms": every(30).interval_ms},
    }
