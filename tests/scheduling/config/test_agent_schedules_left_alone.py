"""What users have planned is theirs: no file holds it, and no file changes or deletes it."""

from dataclasses import replace
from typing import Any

import pytest
from tests.operation_fixtures import A_TARGET, ApplicationFixture

from cadenza.domain.agents.schedule_protection import SCHEDULES_JOB
from cadenza.domain.errors import InvalidRequest


@pytest.fixture
async def planned(app: ApplicationFixture) -> str:
    """The id of a schedule, beside an endpoint."""
    await app.job()
    await app.endpoint()
    await app.ask("put_user", user_id="ada", timezone="Europe/Berlin")
    await app.ask("put_agent", agent_id="helper", name="Helper")
    made = await app.ask(
        "create_schedule",
        name="Pizza",
        prompt="take the pizza out",
        schedule_type="one-shot",
        delay_seconds=600,
        user_id="ada",
        agent_id="helper",
    )
    return str(made["id"])


async def active(app: ApplicationFixture) -> list[str]:
    return [one["id"] for one in (await app.ask("list_schedules", user_id="ada"))["items"]]


def naming(job_id: str, *endpoints: str) -> dict[str, Any]:
    written = [{"id": id_, "target": A_TARGET, "baseline": "every 1m"} for id_ in endpoints]
    return {"version": 1, "jobs": [{"id": job_id, "endpoints": written}]}


async def test_schedules_are_not_exported(app: ApplicationFixture, planned: str) -> None:
    document = await app.ask("export_config")
    assert [job["id"] for job in document["jobs"]] == ["job"]
    answer = await app.ask("apply_config", **document, prune=True)
    assert answer["changes"] == []
    assert await active(app) == [planned]


@pytest.mark.parametrize("prune", [False, True])
async def test_no_file_contains_agent_schedules(app: ApplicationFixture, planned: str, prune: bool) -> None:  # noqa: FBT001 - A parameter.
    with pytest.raises(InvalidRequest, match="agenda holds what users have planned"):
        await app.ask("apply_config", **naming(SCHEDULES_JOB, "mine"), prune=prune)
    assert await active(app) == [planned]


async def test_no_file_takes_a_schedule_over(app: ApplicationFixture, planned: str) -> None:
    with pytest.raises(InvalidRequest, match="is the id of a schedule of a user: use another id") as refused:
        await app.ask("apply_config", **naming("job", planned))
    assert refused.value.field == "jobs.0.endpoints.0.id"
    assert await active(app) == [planned]


async def test_agent_schedules_that_a_file_once_made_are_not_pruned(
    app: ApplicationFixture, planned: str
) -> None:
    await app.store.catalog.amend_job("default", SCHEDULES_JOB, lambda job: replace(job, applied=True))
    answer = await app.ask("apply_config", **naming("job", "traffic"), prune=True)
    assert {one["id"] for one in answer["changes"]} <= {"job", "traffic"}
    assert await active(app) == [planned]
