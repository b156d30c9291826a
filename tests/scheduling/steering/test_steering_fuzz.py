"""Whatever a planner sends: it is refused and nothing changes, or one consistent change is made."""

import asyncio
from dataclasses import fields
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scheduling.steering.invalid_calls import NO_MOMENTS, PASSED
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.domain.errors import CadenzaError
from cadenza.domain.scheduling.baseline import Baseline, Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.testing.clock import NEW_YEAR

STEERED = {
    "interval_hint",
    "one_shot_hint",
    "paused_until",
    "pause_reason",
    "pause_origin",
    "next_run_at",
    "next_source",
}
KINDS = {
    "propose_interval": {HintKind.INTERVAL},
    "propose_next_time": {HintKind.ONE_SHOT},
    "pause_until": {HintKind.PAUSE, HintKind.RESUME},
}

names = st.sampled_from(
    ["intervalMs", "nextRunInMs", "nextRunAtIso", "untilIso", "ttlMinutes", "reason", "extra", ""]
)
plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=80)
anything = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=5
)
moments = st.datetimes().map(lambda moment: moment.isoformat() + "Z") | st.sampled_from(
    [*NO_MOMENTS, *PASSED]
)
spans = st.integers(-1, 10) | st.integers(0, 100 * MINUTE) | st.sampled_from([2**31, 2**63, 10**30])
nearly_right = st.fixed_dictionaries(
    {},
    optional={
        "intervalMs": spans | anything,
        "nextRunInMs": spans | anything,
        "nextRunAtIso": moments | anything,
        "untilIso": moments | anything,
        "ttlMinutes": st.floats(0, 100) | spans | anything,
        "reason": st.text(max_size=10) | anything,
    },
)


def right(required: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """What a tool wants, and what it allows beside it."""
    optional = {"ttlMinutes": st.integers(1, 500), "reason": st.text(max_size=10) | st.none()}
    return st.fixed_dictionaries(required, optional=optional)


tools = st.sampled_from(sorted(KINDS))
future = st.timedeltas(timedelta(0), timedelta(days=400)).map(lambda span: (NEW_YEAR + span).isoformat())
calls = st.one_of(
    st.tuples(tools, nearly_right | anything | st.dictionaries(names, anything)),
    st.tuples(st.just("propose_interval"), right({"intervalMs": spans})),
    st.tuples(st.just("propose_next_time"), right({"nextRunInMs": spans})),
    st.tuples(st.just("propose_next_time"), right({"nextRunAtIso": future})),
    st.tuples(st.just("pause_until"), st.fixed_dictionaries({"untilIso": future | st.none()})),
)
baselines: st.SearchStrategy[Baseline] = st.sampled_from(
    [Every(MINUTE), Cron("*/5 * * * *"), Once(NEW_YEAR + timedelta(minutes=5))]
)
endpoints = st.fixed_dictionaries(
    {
        "baseline": baselines,
        "in_ms": st.sampled_from([-MINUTE, 0, 1, MINUTE, 60 * MINUTE]),
        "guard": st.sampled_from([Guard(), Guard(10_000, 20 * MINUTE)]),
        "paused_until": st.sampled_from([None, NEW_YEAR, NEW_YEAR + timedelta(minutes=1)]),
    }
)


def changed(before: Endpoint, after: Endpoint) -> set[str]:
    return {
        field.name for field in fields(Endpoint) if getattr(before, field.name) != getattr(after, field.name)
    }


async def steer(
    given_fields: dict[str, Any], tool: str, arguments: Any
) -> tuple[Endpoint, WorkerFixture, ChangedEndpoint | None]:
    """An endpoint before a call, its corridor after it, and what the call answered, if it was not refused."""
    fixture = WorkerFixture()
    before = await fixture.add(**given_fields)
    try:
        by_name = fixture.steering.tools(before.key, origin="fuzz")
        return before, fixture, await by_name[tool].execute(arguments)
    except CadenzaError:
        return before, fixture, None


async def check(given_fields: dict[str, Any], tool: str, arguments: Any) -> None:
    before, fixture, amended = await steer(given_fields, tool, arguments)
    records = await fixture.store.port.runs.hints(before.key)
    after = await fixture.endpoint()
    if amended is None:
        assert (after, records, await fixture.runs()) == (before, [], [])
        return
    assert after == amended.endpoint
    assert changed(before, after) <= STEERED
    assert [record.kind for record in records] == [amended.record.kind] if amended.record else False
    assert records[0].kind in KINDS[tool]
    assert after.next_run_at is not None
    assert after.next_run_at == before.next_run_at or after.next_run_at >= fixture.clock.now()


@settings(max_examples=2 * settings().max_examples)
@given(given_fields=endpoints, call=calls)
def test_a_call_is_refused_or_makes_one_consistent_change(
    given_fields: dict[str, Any], call: tuple[str, Any]
) -> None:
    asyncio.run(check(given_fields, *call))
