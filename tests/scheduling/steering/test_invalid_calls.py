"""Bad input gets a clear error and changes nothing."""

from datetime import datetime
from typing import Any

import pytest
from tests.scheduling.steering.invalid_calls import REFUSED, VALID, InvalidCall, label
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.domain.errors import CadenzaError, InvalidRequest, NotFound
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.engine.steering import call_tool
from cadenza.testing.clock import NEW_YEAR

LONGEST_MESSAGE = 300


async def everything(fixture: WorkerFixture) -> tuple[Any, ...]:
    """All that a tool could have changed."""
    endpoint = await fixture.endpoint()
    return endpoint, await fixture.store.port.runs.hints(endpoint.key), await fixture.runs()


def is_a_sentence(message: str) -> bool:
    first = message.split(maxsplit=1)[0]
    return first[0].isupper() or first.isidentifier() or first[0].isdigit()


@pytest.mark.parametrize("refused", REFUSED, ids=label)
async def test_a_bad_call_is_refused_with_the_field_at_fault(refused: InvalidCall) -> None:
    fixture = WorkerFixture()
    endpoint = await fixture.add(in_ms=MINUTE)
    tools = fixture.steering.tools(endpoint.key, origin="test")
    with pytest.raises(InvalidRequest) as caught:
        await call_tool(tools, refused.tool, refused.arguments)
    assert caught.value.field == refused.field


@pytest.mark.parametrize("refused", REFUSED, ids=label)
async def test_a_refusal_is_one_short_sentence(refused: InvalidCall) -> None:
    fixture = WorkerFixture()
    endpoint = await fixture.add(in_ms=MINUTE)
    with pytest.raises(CadenzaError) as caught:
        await call_tool(fixture.steering.tools(endpoint.key, origin="test"), refused.tool, refused.arguments)
    message = caught.value.message
    assert len(message) < LONGEST_MESSAGE
    assert message.endswith(".")
    assert "\n" not in message
    assert is_a_sentence(message)


@pytest.mark.parametrize("refused", REFUSED, ids=label)
async def test_a_refusal_changes_nothing(refused: InvalidCall) -> None:
    fixture = WorkerFixture()
    endpoint = await fixture.add(in_ms=MINUTE)
    with pytest.raises(CadenzaError):
        await call_tool(fixture.steering.tools(endpoint.key, origin="test"), refused.tool, refused.arguments)
    assert await everything(fixture) == (endpoint, [], [])
    assert fixture.log.lines == []


async def test_an_unknown_tool_is_told_which_tools_there_are() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    with pytest.raises(InvalidRequest, match="propose_interval, propose_next_time, pause_until"):
        await fixture.tool("drop_table")


async def test_an_interval_hint_on_what_runs_once_is_refused() -> None:
    fixture = WorkerFixture()
    endpoint = await fixture.add(baseline=Once(NEW_YEAR))
    with pytest.raises(InvalidRequest, match="runs once") as caught:
        await fixture.tool("propose_interval", intervalMs=1_000)
    assert caught.value.field == "intervalMs"
    assert await everything(fixture) == (endpoint, [], [])


@pytest.mark.parametrize("tool", VALID)
@pytest.mark.parametrize("key", [EndpointKey("stranger", "endpoint"), EndpointKey("default", "missing")])
async def test_what_is_not_yours_is_not_there(tool: str, key: EndpointKey) -> None:
    fixture = WorkerFixture()
    endpoint = await fixture.add()
    with pytest.raises(NotFound, match=f"Endpoint {key.id}"):
        await call_tool(fixture.steering.tools(key, origin="test"), tool, VALID[tool])
    assert await everything(fixture) == (endpoint, [], [])
    assert await fixture.store.port.runs.hints(key) == []


async def test_arguments_are_refused_before_the_store_is_touched() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    with pytest.raises(InvalidRequest):
        await fixture.tool("propose_interval", intervalMs=0)
    assert fixture.store.calls == {}


async def test_a_refused_call_wakes_no_worker() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    wakeup = fixture.store.port.endpoints.listen()
    with pytest.raises(InvalidRequest):
        await fixture.tool("propose_next_time", nextRunInMs=600_000, ttlMinutes=1)
    assert not wakeup._event.is_set()


@pytest.mark.parametrize(
    "moment", ["2025-01-01T00:00:00Z", "2025-01-01T01:00:00+01:00", "2025-01-01T00:00:00.000Z"]
)
async def test_the_present_moment_has_not_passed(moment: str) -> None:
    fixture = WorkerFixture()
    await fixture.add(in_ms=MINUTE)
    amended = await fixture.tool("propose_next_time", nextRunAtIso=moment)
    assert amended.endpoint.next_run_at == NEW_YEAR


async def test_the_last_moment_that_is_taken_is_the_end_of_time() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    amended = await fixture.tool("pause_until", untilIso="9999-01-01T00:00:00Z")
    assert amended.endpoint.paused_until == datetime.fromisoformat("9999-01-01T00:00:00Z")


@pytest.mark.parametrize("strange", ["\U000e0001" * 100, "\x00" * 10_000_000], ids=["short", "long"])
async def test_a_refusal_is_short_however_strange_the_name(strange: str) -> None:
    fixture = WorkerFixture()
    await fixture.add()
    with pytest.raises(InvalidRequest) as caught:
        await fixture.tool(strange)
    assert len(caught.value.message) < 300
