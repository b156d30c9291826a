"""Operations about planners over all endpoints: analyses, their cost, and the gains of learning."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.operation_fixtures import ApplicationFixture

from cadenza.adapters.planners.learning.cache import LearnedState
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.domain.json_values import Json
from cadenza.domain.planning.analysis import Tokens
from cadenza.domain.planning.learning.gains import Gains
from cadenza.domain.planning.learning.serialization import PLANNER
from cadenza.domain.planning.learning.state import EndpointModel
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.operations.application import Application
from cadenza.sim.playback import Playback
from cadenza.testing.contracts.planning.analyses import an_analysis

TRAFFIC, STOCK = EndpointKey("default", "traffic"), EndpointKey("default", "stock")
PLAYBACK = Playback()


@pytest.fixture
async def app_with_analyses(app: ApplicationFixture) -> ApplicationFixture:
    await app.job()
    for name in ("stock", "traffic"):
        await app.endpoint(name)
    now = app.clock.now()
    await app.store.analyses.add_analyses(
        [
            an_analysis("1", TRAFFIC, began_at=now - timedelta(days=1), tokens=Tokens(5, 5), planner="llm"),
            an_analysis("2", TRAFFIC, began_at=now, tokens=Tokens(20, 1), planner="llm", error="silence"),
            an_analysis("3", STOCK, began_at=now),
            an_analysis("4", EndpointKey("south", "traffic"), began_at=now),
        ]
    )
    return app


async def test_analyses_of_all_endpoints_come_newest_first_page_by_page(
    app_with_analyses: ApplicationFixture,
) -> None:
    first = await app_with_analyses.ask("list_sittings", limit=2)
    assert [(one["id"], one["endpoint_id"]) for one in first["items"]] == [("3", "stock"), ("2", "traffic")]
    rest = await app_with_analyses.ask("list_sittings", limit=2, cursor=first["next_cursor"])
    assert [one["id"] for one in rest["items"]] == ["1"]
    assert rest["next_cursor"] is None
    with pytest.raises(InvalidRequest, match="cursor"):
        await app_with_analyses.ask("list_sittings", cursor="yesterday")


async def test_spending_is_told_by_day_and_by_endpoint(app_with_analyses: ApplicationFixture) -> None:
    spent = await app_with_analyses.ask("get_spending", days=2)
    assert [(one["day"], one["planner"], one["sittings"]) for one in spent["days"]] == [
        ("2025-01-01", "llm", 1),
        ("2025-01-01", "rules", 1),
        ("2024-12-31", "llm", 1),
    ]
    dearest, cheap = spent["endpoints"]
    assert (dearest["endpoint_id"], dearest["sittings"], dearest["failed"]) == ("traffic", 2, 1)
    assert dearest["tokens"] == spent["tokens"] == {"input": 25, "output": 6}
    assert (cheap["endpoint_id"], cheap["tokens"]) == ("stock", {"input": 0, "output": 0})
    assert len((await app_with_analyses.ask("get_spending", days=1))["days"]) == 2


async def test_what_learning_wins_is_read_from_the_planners_own_notes(
    app_with_analyses: ApplicationFixture,
) -> None:
    gains = Gains(4, 100, 80, 100, 4 * 10.0, 4 * 30.0)
    notes: dict[EndpointKey, Json] = {
        STOCK: LearnedState(EndpointModel(gains=gains), period_s=60).to_note(),
        TRAFFIC: ["of another shape"],
    }
    await app_with_analyses.store.analyses.save_notes(PLANNER, notes, app_with_analyses.clock.now())
    (won,) = (await app_with_analyses.ask("list_learning"))["items"]
    assert won == {
        "endpoint_id": "stock",
        "name": "stock",
        "learning": "shadow",
        "interval_ms": 60_000,
        "changes": 4,
        "delay_ms": 10_000,
        "plain_delay_ms": 30_000,
        "looks": 0.8,
        "plain_looks": 100,
    }
    assert (await app_with_analyses.ask("list_learning", by="south"))["items"] == []
    shadow = "Learning planner (dry run): it would run every minute."
    assert shadow in (await app_with_analyses.ask("explain_endpoint", endpoint_id="stock"))["answer"]
    assert (
        "learning planner"
        not in (await app_with_analyses.ask("explain_endpoint", endpoint_id="traffic"))["answer"]
    )


async def test_a_simulation_is_played_both_ways_and_remembered(app: ApplicationFixture) -> None:
    with pytest.raises(Unavailable):
        await app.ask("get_simulation")
    dependencies = app.application.dependencies
    app.application = Application(replace(dependencies, simulations=PLAYBACK))
    told = await app.ask("get_simulation")
    assert told["scenarios"] == ["flash-sale", "system-resources"]
    assert [phase["name"] for phase in told["phases"]][-1] == "recovery"
    assert (len(told["corrected"]["runs"]), len(told["as_published"]["runs"])) == (134, 467)
    assert all(check["passed"] for check in told["corrected"]["checks"])
    assert len(told["corrected"]["minutes"]) == told["minutes"] == 40
    woken = [one for one in told["as_published"]["steering"] if one["kind"] == "resume"]
    assert {one["lane"] for one in woken} <= {lane["name"] for lane in told["lanes"]}
    assert woken
    assert await PLAYBACK.played("flash-sale") is await PLAYBACK.played("flash-sale")
    with pytest.raises(InvalidRequest, match="scenario must be one of flash-sale"):
        await app.ask("get_simulation", scenario="doomsday")
