"""Operations that list analyses and their cost."""

from datetime import timedelta
from typing import Any

import pytest
from tests.operation_fixtures import ApplicationFixture

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.domain.planning.analysis import Tokens, ToolCall, Trigger
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.testing.contracts.planning.analyses import an_analysis

KEY = EndpointKey("default", "traffic")
CALL = ToolCall("propose_interval", "sibling", {"intervalMs": 30_000}, error="It is gone.")


@pytest.fixture
async def app_with_analyses(app: ApplicationFixture) -> ApplicationFixture:
    await app.job()
    await app.endpoint()
    return app


async def keep(app: ApplicationFixture, *ids: str, key: EndpointKey = KEY, **fields: Any) -> None:
    given = {"began_at": app.clock.now()} | fields
    await app.store.analyses.add_analyses([an_analysis(id_, key, **given) for id_ in ids])


async def test_an_analysis_is_told_whole(app_with_analyses: ApplicationFixture) -> None:
    again = app_with_analyses.clock.now() + timedelta(minutes=1)
    await keep(
        app_with_analyses,
        "1",
        reasoning="it grows",
        calls=(CALL,),
        tokens=Tokens(7, 3),
        trigger=Trigger.FAILURE,
        look_again_at=again,
        shadow=True,
        error="no",
        duration_ms=5,
    )
    page = await app_with_analyses.ask(
        "list_analyses", endpoint_id="traffic", holding=frozenset({Scope.READ})
    )
    assert page == {
        "items": [
            {
                "id": "1",
                "job_id": "job",
                "endpoint_id": "traffic",
                "planner": "rules",
                "trigger": "failure",
                "began_at": "2025-01-01T00:00:00Z",
                "duration_ms": 5,
                "reasoning": "it grows",
                "calls": [
                    {
                        "tool": "propose_interval",
                        "endpoint_id": "sibling",
                        "arguments": {"intervalMs": 30_000},
                        "result": None,
                        "error": "It is gone.",
                    }
                ],
                "tokens": {"input": 7, "output": 3},
                "look_again_at": "2025-01-01T00:01:00Z",
                "shadow": True,
                "error": "no",
            }
        ],
        "next_cursor": None,
    }


async def test_analyses_come_in_pages(app_with_analyses: ApplicationFixture) -> None:
    await keep(app_with_analyses, *"12345")
    first = await app_with_analyses.ask("list_analyses", endpoint_id="traffic", limit=2)
    rest = await app_with_analyses.ask("list_analyses", endpoint_id="traffic", cursor=first["next_cursor"])
    assert [one["id"] for one in first["items"]] == ["5", "4"]
    assert [one["id"] for one in rest["items"]] == ["3", "2", "1"]
    assert rest["next_cursor"] is None


async def test_the_cost_is_told_by_day_and_planner(app_with_analyses: ApplicationFixture) -> None:
    now = app_with_analyses.clock.now()
    await keep(app_with_analyses, "1", "2", planner="llm", tokens=Tokens(10, 1))
    await keep(app_with_analyses, "3", planner="llm", tokens=Tokens(5, 1), began_at=now - timedelta(days=6))
    await keep(
        app_with_analyses,
        "4",
        planner="llm",
        tokens=Tokens(5, 1),
        began_at=now - timedelta(days=6, seconds=1),
    )
    cost = await app_with_analyses.ask("get_planner_cost", endpoint_id="traffic")
    assert cost == {
        "endpoint_id": "traffic",
        "days": [
            {"day": "2025-01-01", "planner": "llm", "sittings": 2, "tokens": {"input": 20, "output": 2}},
            {"day": "2024-12-26", "planner": "llm", "sittings": 1, "tokens": {"input": 5, "output": 1}},
        ],
        "tokens": {"input": 25, "output": 3},
    }
    today = await app_with_analyses.ask("get_planner_cost", endpoint_id="traffic", days=1)
    assert today["tokens"] == {"input": 20, "output": 2}


@pytest.mark.parametrize("operation", ["list_analyses", "get_planner_cost"])
async def test_what_is_not_ones_own_or_gone_is_not_there(
    app_with_analyses: ApplicationFixture, operation: str
) -> None:
    await keep(app_with_analyses, "1")
    with pytest.raises(NotFound):
        await app_with_analyses.ask(operation, by="stranger", endpoint_id="traffic")
    await app_with_analyses.ask("delete_endpoint", endpoint_id="traffic")
    with pytest.raises(NotFound):
        await app_with_analyses.ask(operation, endpoint_id="traffic")


@pytest.mark.parametrize("days", [0, 91, "7", True])
async def test_days_are_a_number_within_reason(app_with_analyses: ApplicationFixture, days: Any) -> None:
    with pytest.raises(InvalidRequest):
        await app_with_analyses.ask("get_planner_cost", endpoint_id="traffic", days=days)
