"""Pausing and resuming a whole job follows the ranks of those who ask."""

from typing import Any

import pytest
from tests.operation_fixtures import EVERYTHING, ApplicationFixture

from cadenza.domain.access.key import Caller
from cadenza.domain.errors import Conflict

PERSON, RULE, MODEL = "key:ab12", "rule:key:ab12", "llm:key:cd34"
JOB: dict[str, Any] = {"job_id": "job"}


async def ask(app: ApplicationFixture, operation: str, by: str, **arguments: Any) -> Any:
    view = await app.application.ask(operation, arguments, Caller("default", EVERYTHING, by))
    return view.model_dump(mode="json")


@pytest.fixture
async def shop(app: ApplicationFixture) -> ApplicationFixture:
    await app.job()
    await app.endpoint()
    return app


@pytest.mark.parametrize("call", ["resume_job", "update_job"])
async def test_a_model_does_not_resume_a_job_that_a_person_paused(
    shop: ApplicationFixture, call: str
) -> None:
    paused = await ask(shop, "pause_job", PERSON, **JOB)
    assert (paused["active"], paused["pause_origin"], paused["note"]) == (False, PERSON, None)
    arguments = JOB | ({"active": True, "name": "Shop"} if call == "update_job" else {})
    answer = await ask(shop, call, MODEL, **arguments)
    because = "a pause of the job (person: key ab12) is in force until resumed"
    assert (answer["active"], answer["note"]) == (False, f"Not applied, because {because}.")
    assert answer["name"] == arguments.get("name", "job"), "what has no rank is changed all the same"
    (line,) = (await ask(shop, "list_hints", PERSON, endpoint_id="traffic"))["items"]
    assert (line["kind"], line["origin"], line["by"]) == ("resume", MODEL, "LLM: key cd34")
    assert line["not_applied"] == because
    why = (await ask(shop, "explain_endpoint", PERSON, endpoint_id="traffic"))["answer"]
    assert "its job is paused (person: key ab12)" in why
    assert f"(LLM: key cd34), was not applied, because {because}." in why
    assert (await ask(shop, "resume_job", PERSON, **JOB))["active"] is True
    why = (await ask(shop, "explain_endpoint", PERSON, endpoint_id="traffic"))["answer"]
    assert "not applied" not in why, "nothing keeps it from acting any more"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("propose_interval", {"intervalMs": 20_000}), ("propose_next_time", {"nextRunInMs": 20_000})],
)
async def test_a_model_does_not_pause_a_job_with_a_persons_fresh_hint(
    shop: ApplicationFixture, tool: str, arguments: dict[str, Any]
) -> None:
    await ask(shop, tool, PERSON, endpoint_id="traffic", **arguments)
    answer = await ask(shop, "pause_job", MODEL, **JOB)
    assert answer["active"] is True
    assert "hint (person: key ab12) is in force until" in answer["note"]
    why = (await ask(shop, "explain_endpoint", PERSON, endpoint_id="traffic"))["answer"]
    assert "A pause until resumed, requested" in why
    assert (await ask(shop, "pause_job", PERSON, **JOB))["active"] is False


async def test_a_model_pauses_no_job_and_a_person_takes_over_the_pause_of_a_rule(
    shop: ApplicationFixture,
) -> None:
    answer = await ask(shop, "pause_job", MODEL, **JOB)
    assert answer["active"] is True
    assert answer["note"].startswith("Not applied, because a model pauses no job")
    (line,) = (await ask(shop, "list_hints", PERSON, endpoint_id="traffic"))["items"]
    assert (line["kind"], line["origin"], line["not_applied"] is None) == ("pause", MODEL, False)
    assert (await ask(shop, "pause_job", RULE, **JOB))["pause_origin"] == RULE
    assert (await ask(shop, "pause_job", PERSON, **JOB))["pause_origin"] == PERSON, "a person takes it over"
    assert (await ask(shop, "resume_job", RULE, **JOB))["active"] is False


async def test_an_empty_job_has_the_same_rule(app: ApplicationFixture) -> None:
    await ask(app, "create_job", PERSON, id="job", name="job", active=False)
    answer = await ask(app, "resume_job", MODEL, **JOB)
    assert (answer["active"], answer["note"] is None) == (False, False)


async def test_a_file_of_a_lower_rank_does_not_switch_a_job(shop: ApplicationFixture) -> None:
    await ask(shop, "pause_job", PERSON, **JOB)
    file = {"version": 1, "jobs": [{"id": "job", "name": "job", "active": True}]}
    with pytest.raises(Conflict, match="cannot be paused or resumed, because a pause of the job"):
        await ask(shop, "apply_config", MODEL, **file)
    assert (await ask(shop, "get_job", PERSON, **JOB))["active"] is False
