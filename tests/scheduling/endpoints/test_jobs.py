"""Jobs, asked for."""

import pytest
from tests.operation_fixtures import Front

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import Conflict, InvalidRequest, NotAllowed, NotFound


async def test_a_job_is_created_and_shown(front: Front) -> None:
    created = await front.ask("create_job", id="checkout", name="Checkout", description="the till")
    assert created == {
        "id": "checkout",
        "name": "Checkout",
        "description": "the till",
        "active": True,
        "applied": False,
        "created_at": "2025-01-01T00:00:00Z",
    }
    assert await front.ask("get_job", job_id="checkout") == created


async def test_a_job_without_an_id_is_given_one(front: Front) -> None:
    created = await front.ask("create_job", name="Checkout")
    assert await front.ask("get_job", job_id=created["id"]) == created


async def test_an_id_is_taken_once_in_a_tenant_and_again_in_another(front: Front) -> None:
    await front.job()
    with pytest.raises(Conflict):
        await front.job()
    await front.job(by="other")


async def test_jobs_are_listed_in_pages(front: Front) -> None:
    for job_id in "abc":
        await front.job(job_id)
    await front.job("d", by="other")
    first = await front.ask("list_jobs", limit=2)
    assert [job["id"] for job in first["items"]] == ["a", "b"]
    second = await front.ask("list_jobs", limit=2, cursor=first["next_cursor"])
    assert [job["id"] for job in second["items"]] == ["c"]
    assert second["next_cursor"] is None
    assert (await front.ask("list_jobs", limit=3))["next_cursor"] is None


async def test_what_an_update_leaves_out_stays(front: Front) -> None:
    await front.ask("create_job", id="job", name="Job", description="words")
    assert (await front.ask("update_job", job_id="job", name="New"))["description"] == "words"
    assert (await front.ask("update_job", job_id="job", description=None))["description"] is None
    assert (await front.ask("get_job", job_id="job"))["name"] == "New"


async def test_a_paused_job_keeps_its_endpoints_from_running(front: Front) -> None:
    await front.job()
    await front.endpoint()
    assert (await front.ask("pause_job", job_id="job"))["active"] is False
    assert (await front.ask("get_endpoint", endpoint_id="traffic"))["job_active"] is False
    plan = await front.ask("explain_endpoint", endpoint_id="traffic")
    assert plan["gate"] == "its job is not active"
    await front.ask("resume_job", job_id="job")
    assert (await front.ask("get_endpoint", endpoint_id="traffic"))["job_active"] is True


async def test_a_deleted_job_takes_its_endpoints_along(front: Front) -> None:
    await front.job()
    await front.endpoint()
    await front.ask("delete_job", job_id="job")
    with pytest.raises(NotFound):
        await front.ask("get_job", job_id="job")
    with pytest.raises(NotFound):
        await front.ask("get_endpoint", endpoint_id="traffic")
    assert (await front.ask("list_endpoints"))["items"] == []


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "nul\x00", "x" * 201, 5, None])
async def test_a_name_is_one_line(front: Front, name: object) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await front.ask("create_job", name=name)
    assert [fault.field for fault in refused.value.faults] == ["name"]


async def test_every_field_at_fault_is_named(front: Front) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await front.ask("create_job", id="not an id", active="yes", colour="red")
    assert {fault.field for fault in refused.value.faults} == {"name", "id", "active", "colour"}


async def test_who_may_only_read_changes_nothing(front: Front) -> None:
    reader = frozenset({Scope.READ})
    with pytest.raises(NotAllowed):
        await front.ask("create_job", holding=reader, name="Job")
    assert (await front.ask("list_jobs", holding=reader))["items"] == []


async def test_an_operation_that_is_not_there_is_not_found(front: Front) -> None:
    with pytest.raises(NotFound):
        await front.ask("drop_tables")
