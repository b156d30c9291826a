"""What a model may not change though it has `write`: switches, and the bounds that owners set for it."""

from datetime import timedelta
from typing import Any

import pytest
from tests.operation_fixtures import A_TARGET, EVERYTHING, ApplicationFixture

from cadenza.domain.access.key import Caller
from cadenza.domain.errors import Conflict
from cadenza.domain.planning.planner_limits import why_not_changed
from cadenza.domain.scheduling.hint import Rank, lowered, rank_of
from cadenza.domain.validation import iso
from cadenza.testing.builders import an_endpoint

PERSON, MODEL = "key:ab12", "llm:key:cd34"
A_YEAR_IN_MINUTES = 525_600
A_YEAR_MS = A_YEAR_IN_MINUTES * 60_000


async def ask(app: ApplicationFixture, operation: str, by: str = PERSON, **arguments: Any) -> Any:
    view = await app.application.ask(operation, arguments, Caller("default", EVERYTHING, by))
    return view.model_dump(mode="json")


async def shown(app: ApplicationFixture) -> Any:
    return await ask(app, "get_endpoint", endpoint_id="traffic")


def file_of(**fields: Any) -> dict[str, Any]:
    endpoint = {"id": "traffic", "target": A_TARGET, "baseline": "every 5m"} | fields
    return {"version": 1, "jobs": [{"id": "job", "name": "job", "endpoints": [endpoint]}]}


@pytest.fixture
async def shop(app: ApplicationFixture) -> ApplicationFixture:
    await app.job("job")
    await app.endpoint()
    return app


BEYOND: dict[str, tuple[dict[str, Any], str]] = {
    "off": ({"enabled": False}, "models may not disable an endpoint"),
    "planning": ({"planning": {"max_pause_minutes": A_YEAR_IN_MINUTES}}, "who may steer"),
    "guard": ({"guard": {"min_interval_ms": A_YEAR_MS}}, "the guard"),
}


@pytest.mark.parametrize("case", BEYOND)
async def test_a_model_changes_no_switch_and_no_bound(shop: ApplicationFixture, case: str) -> None:
    changes, because = BEYOND[case]
    before = await shown(shop)
    answer = await ask(shop, "update_endpoint", MODEL, endpoint_id="traffic", name="Traffic", **changes)
    assert because in answer["note"]
    assert answer["name"] == "Traffic", "what it may change is changed all the same"
    (field,) = changes
    assert answer[field] == before[field]
    with pytest.raises(Conflict, match=f"traffic cannot be changed like this, because .*{because}"):
        await ask(shop, "apply_config", MODEL, **file_of(**changes))
    assert (await ask(shop, "update_endpoint", endpoint_id="traffic", **changes))["note"] is None
    assert (await shown(shop))[field] != before[field]


async def test_a_switch_that_was_not_turned_is_recorded_and_told(shop: ApplicationFixture) -> None:
    await ask(shop, "update_endpoint", MODEL, endpoint_id="traffic", enabled=False)
    (line,) = (await ask(shop, "list_hints", endpoint_id="traffic"))["items"]
    assert (line["kind"], line["origin"]) == ("pause", MODEL)
    assert line["not_applied"] == "models may not disable an endpoint"
    why = (await ask(shop, "explain_endpoint", endpoint_id="traffic"))["answer"]
    assert "A pause until resumed" in why
    assert "was not applied, because models may not disable an endpoint." in why


async def test_a_model_cannot_widen_the_bound_of_its_own_pauses(shop: ApplicationFixture) -> None:
    wider = {"max_pause_minutes": A_YEAR_IN_MINUTES}
    await ask(shop, "update_endpoint", MODEL, endpoint_id="traffic", planning=wider)
    until = iso(shop.clock.now() + timedelta(days=300))
    answer = await ask(shop, "pause_until", MODEL, endpoint_id="traffic", untilIso=until)
    assert "models and the learning planner may delay a run by" in answer["note"]
    assert (await shown(shop))["paused_until"] is None


async def test_a_model_moves_no_endpoint_into_a_job_that_is_off(shop: ApplicationFixture) -> None:
    with pytest.raises(Conflict, match="a model pauses no job"):
        await ask(shop, "create_job", MODEL, id="off", name="off", active=False)
    await ask(shop, "create_job", id="off", name="off", active=False)
    answer = await ask(shop, "update_endpoint", MODEL, endpoint_id="traffic", job_id="off")
    because = "models may not move an endpoint into a paused job"
    assert (answer["job_id"], answer["note"]) == ("job", f"Not applied, because {because}.")
    moving = file_of()
    moving["jobs"][0]["id"] = "off"
    with pytest.raises(Conflict, match=because):
        await ask(shop, "apply_config", MODEL, **moving)
    moving["jobs"][0] |= {"id": "new", "active": False}
    with pytest.raises(Conflict, match=because):
        await ask(shop, "apply_config", MODEL, **moving)
    assert (await shown(shop))["job_id"] == "job"
    assert (await ask(shop, "update_endpoint", endpoint_id="traffic", job_id="off"))["job_id"] == "off"


@pytest.mark.parametrize("rank", Rank)
def test_the_rank_alone_decides(rank: Rank) -> None:
    origin = lowered(PERSON, rank)
    assert rank_of(origin) is rank
    refused = why_not_changed(an_endpoint("e"), {"enabled": False, "name": "x"}, origin)
    assert bool(refused) is (rank <= Rank.LLM)


RULE = {
    "id": "quiet",
    "job_id": "job",
    "name": "quiet",
    "when": "true",
    "then": {"tool": "pause_until", "pauseMs": A_YEAR_MS},
}
CHANGED = {"rule_id": "quiet", "cooldown_ms": 1_000}


async def test_a_rule_has_the_rank_of_whoever_wrote_it_last(shop: ApplicationFixture) -> None:
    assert (await ask(shop, "create_rule", MODEL, **RULE))["rank"] == "llm"
    assert (await ask(shop, "update_rule", PERSON, **CHANGED))["rank"] == "rule"
    assert (await ask(shop, "update_rule", MODEL, **CHANGED))["rank"] == "llm"
    assert (await ask(shop, "get_rule", rule_id="quiet"))["rank"] == "llm"


async def test_a_rule_of_a_file_has_the_rank_of_whoever_applied_it(shop: ApplicationFixture) -> None:
    file = file_of()
    rule: dict[str, Any] = {name: RULE[name] for name in ("id", "name", "when", "then")}
    file["jobs"][0]["rules"] = [rule]
    await ask(shop, "apply_config", MODEL, **file)
    assert (await ask(shop, "get_rule", rule_id="quiet"))["rank"] == "llm"
    rule["cooldown_ms"] = 1_000
    await ask(shop, "apply_config", **file)
    assert (await ask(shop, "get_rule", rule_id="quiet"))["rank"] == "rule"
    again = await ask(shop, "apply_config", MODEL, **file)
    assert again["changes"] == []
    assert (await ask(shop, "get_rule", rule_id="quiet"))["rank"] == "rule"
