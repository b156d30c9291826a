"""`Retry-After` pauses and `max-age` sets the pace, within bounds; hostile values do nothing."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.adapters.planners.http_hints import HttpHints
from cadenza.domain.json_values import Json
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.planner_settings import Planning
from cadenza.domain.scheduling.baseline import Baseline, Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import Rank
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.engine.steering import COMMANDS
from cadenza.ports.planning import EMPTY_RESULT, Briefing
from cadenza.testing import an_endpoint
from cadenza.testing.clock import NEW_YEAR

NOW = NEW_YEAR
DAY = timedelta(days=1)
ALLOWED = Planning(http_hints=True)
Called = tuple[str, dict[str, Any]]


def a_briefing(status: Any = 200, trigger: Trigger = Trigger.RUN, **headers: Any) -> Briefing:
    named: dict[str, Json] = {name.replace("_", "-"): value for name, value in headers.items()}
    return briefed({"status": status, "headers": named}, trigger=trigger)


def briefed(response: Json, *, trigger: Trigger = Trigger.RUN, **fields: Any) -> Briefing:
    endpoint = an_endpoint(**({"planning": ALLOWED} | fields))
    run = Run(
        id="1",
        tenant_id="default",
        job_id="default",
        endpoint_id="endpoint",
        slot=NOW,
        due_at=NOW,
        attempt=1,
        source=endpoint.next_source,
        claimed_at=NOW,
        started_at=NOW,
        finished_at=NOW,
        status=RunStatus.SUCCESS,
        response=response,
    )
    return Briefing(now=NOW, endpoint=endpoint, trigger=trigger, recent=[run])


async def called(briefing: Briefing) -> Called | None:
    """The tool that it calls, if any."""
    calls: list[Called] = []

    async def call(
        endpoint: Endpoint, tool: str, arguments: Any, /, *, rule: str | None = None, rank: Rank = Rank.RULE
    ) -> ChangedEndpoint:
        assert (rule, rank) == (None, Rank.RULE)
        assert endpoint is briefing.endpoint
        COMMANDS[tool].parse(arguments)
        assert arguments["reason"]
        calls.append((tool, dict(arguments)))
        return ChangedEndpoint(endpoint)

    planner = HttpHints()
    result = await planner.sit(briefing, call)
    assert bool(calls) is planner.wants(briefing) is (result != EMPTY_RESULT)
    return calls[0] if calls else None


async def paused_for(briefing: Briefing) -> timedelta | None:
    done = await called(briefing)
    if done is None:
        return None
    assert done[0] == "pause_until"
    return datetime.fromisoformat(done[1]["untilIso"]) - NOW


async def paced(briefing: Briefing) -> int | None:
    done = await called(briefing)
    if done is None:
        return None
    assert done[0] == "propose_interval"
    assert done[1]["ttlMinutes"] == done[1]["intervalMs"] / 60_000
    return int(done[1]["intervalMs"])


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("value", "span"),
    [
        ("120", timedelta(minutes=2)),
        (" 7 ", timedelta(seconds=7)),
        ("9999999999", DAY),
        ("Wed, 01 Jan 2025 00:05:00 GMT", timedelta(minutes=5)),
        ("Thu, 01 Jan 2099 00:00:00 GMT", DAY),
        ("Wed, 01 Jan 2025 02:05:00 +0200", timedelta(minutes=5)),
    ],
)
async def test_retry_after_pauses(status: int, value: str, span: timedelta) -> None:
    assert await paused_for(a_briefing(status, retry_after=value)) == span


@pytest.mark.parametrize(
    "value",
    [
        "",
        "0",
        "-5",
        "soon",
        "1e9",
        "99999999999",
        "Tue, 31 Dec 2024 00:00:00 GMT",
        "\0",
        None,
        5,
        ["5"],
        "\u0665",
    ],
)
async def test_a_value_that_makes_no_sense_does_nothing(value: Any) -> None:
    assert await called(a_briefing(503, retry_after=value)) is None


@pytest.mark.parametrize("status", [200, 404, 500, "503", None])
async def test_other_answers_do_not_pause(status: Any) -> None:
    assert await called(a_briefing(status, retry_after="120")) is None


async def test_a_pause_that_lasts_longer_stays() -> None:
    response: Json = {"status": 503, "headers": {"retry-after": "60"}}
    assert await called(briefed(response, paused_until=NOW + DAY)) is None
    assert await paused_for(briefed(response, paused_until=NOW + timedelta(seconds=59))) == timedelta(
        minutes=1
    )


@pytest.mark.parametrize(
    ("value", "interval_ms"),
    [
        ("max-age=300", 300_000),
        ("public, Max-Age = 300, immutable", 300_000),
        ('max-age="300"', 300_000),
        ("max-age=9999999999", 86_400_000),
        ("max-age=1", 60_000),
        ("max-age=0", None),
        ("max-age=-1", None),
        ("max-age=300, no-store", None),
        ("no-cache, max-age=300", None),
        ("s-maxage=300", None),
        ("x-max-age=300", None),
        ("max-age=1e5", None),
        ("max-age=99999999999", None),
        ("", None),
        (None, None),
    ],
)
async def test_max_age_sets_the_pace_but_not_a_faster_one_than_the_baseline(
    value: Any, interval_ms: int | None
) -> None:
    assert await paced(a_briefing(200, cache_control=value)) == interval_ms


@pytest.mark.parametrize(
    ("baseline", "least", "interval_ms"),
    [
        (Every(60_000), 5_000, 10_000),
        (Every(60_000), 20_000, 20_000),
        (Every(3_600_000), None, 3_600_000),
        (Cron("* * * * *"), None, 60_000),
        (Cron("0 * * * *"), 1_000, 10_000),
        (Once(NOW + DAY), None, None),
    ],
)
async def test_only_an_owners_guard_lets_an_answer_ask_for_haste(
    baseline: Baseline, least: int | None, interval_ms: int | None
) -> None:
    response: Json = {"status": 200, "headers": {"cache-control": "max-age=10"}}
    briefing = briefed(response, baseline=baseline, guard=Guard(min_interval_ms=least))
    assert await paced(briefing) == interval_ms


async def test_without_the_owners_leave_nothing_is_wanted() -> None:
    response: Json = {"status": 503, "headers": {"retry-after": "60"}}
    assert not HttpHints().wants(briefed(response, planning=Planning()))


@pytest.mark.parametrize("trigger", [Trigger.SIBLING, Trigger.DUE])
async def test_an_answer_is_heard_when_it_comes_and_not_again(trigger: Trigger) -> None:
    assert not HttpHints().wants(a_briefing(503, trigger, retry_after="60"))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40), st.lists, max_leaves=4
)


@given(st.one_of(values, st.fixed_dictionaries({"status": values, "headers": values})))
async def test_whatever_an_answer_is_it_does_no_harm(response: Json) -> None:
    assert await called(briefed(response)) is None


@given(
    st.sampled_from([200, 429, 503]), st.sampled_from(["retry-after", "cache-control"]), st.text(max_size=60)
)
async def test_whatever_a_header_says_stays_within_a_day(status: int, header: str, value: str) -> None:
    response: Json = {"status": status, "headers": {header: value}}
    done = await called(briefed(response))
    if done is not None and done[0] == "pause_until":
        assert NOW < datetime.fromisoformat(done[1]["untilIso"]) <= NOW + DAY
    elif done is not None:
        assert 60_000 <= done[1]["intervalMs"] <= 86_400_000
