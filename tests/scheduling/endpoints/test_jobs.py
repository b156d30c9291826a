"""Jobs, asked for."""

import pytest
from tests.operation_fixtures import ApplicationFixture

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import Conflict, InvalidRequest, NotAllowed, NotFound


async def test_a_job_is_created_and_shown(app: ApplicationFixture) -> None:
    created = await app.ask("create_job", id="checkout", name="Checkout", description="the till")
    assert created == {
        "id": "checkout",
        "name": "Checkout",
        "description": "the till",
        "active": True,
        "applied": False,
        "calendar": None,
        "created_at": "2025-01-01T00:00:00Z",
        "metadata": {},
        "note": None,
        "pause_origin": None,
    }
    assert await app.ask("get_job", job_id="checkout") == created


async def test_a_job_keeps_metadata_and_an_update_replaces_it_whole(app: ApplicationFixture) -> None:
    metadata = {"team": "web", "runbook": {"pages": [1, None]}}
    assert (await app.ask("create_job", id="job", name="Job", metadata=metadata))["metadata"] == metadata
    assert (await app.ask("update_job", job_id="job", name="New"))["metadata"] == metadata
    assert (await app.ask("update_job", job_id="job", metadata={"a": 1}))["metadata"] == {"a": 1}
    assert (await app.ask("list_jobs"))["items"][0]["metadata"] == {"a": 1}
    assert (await app.ask("update_job", job_id="job", metadata=None))["metadata"] == {}


def nested(levels: int) -> dict[str, object]:
    return {"a": nested(levels - 1)} if levels > 1 else {}


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        ({"a": "x" * 16_384}, "metadata has 16,393 bytes; the maximum is 16,384."),
        (nested(9), "metadata must be JSON, at most 8 levels deep."),
        ({"a": 2**63}, "metadata must be JSON"),
    ],
    ids=["large", "deep", "number"],
)
async def test_metadata_is_bounded(app: ApplicationFixture, metadata: object, sentence: str) -> None:
    await app.ask("create_job", id="job", name="Job", metadata=nested(8))
    with pytest.raises(InvalidRequest, match=sentence):
        await app.ask("create_job", id="new", name="Job", metadata=metadata)
    with pytest.raises(InvalidRequest, match=sentence):
        await app.ask("update_job", job_id="job", metadata=metadata)
    assert [job["metadata"] for job in (await app.ask("list_jobs"))["items"]] == [nested(8)]


async def test_metadata_is_an_object(app: ApplicationFixture) -> None:
    with pytest.raises(InvalidRequest, match="metadata"):
        await app.ask("create_job", name="Job", metadata=["web"])


async def test_a_job_without_an_id_is_given_one(app: ApplicationFixture) -> None:
    created = await app.ask("create_job", name="Checkout")
    assert await app.ask("get_job", job_id=created["id"]) == created


async def test_an_id_is_taken_once_in_a_tenant_and_again_in_another(app: ApplicationFixture) -> None:
    await app.job()
    with pytest.raises(Conflict):
        await app.job()
    await app.job(by="other")


async def test_jobs_are_listed_in_pages(app: ApplicationFixture) -> None:
    for job_id in "abc":
        await app.job(job_id)
    await app.job("d", by="other")
    first = await app.ask("list_jobs", limit=2)
    assert [job["id"] for job in first["items"]] == ["a", "b"]
    second = await app.ask("list_jobs", limit=2, cursor=first["next_cursor"])
    assert [job["id"] for job in second["items"]] == ["c"]
    assert second["next_cursor"] is None
    assert (await app.ask("list_jobs", limit=3))["next_cursor"] is None


async def test_what_an_update_leaves_out_stays(app: ApplicationFixture) -> None:
    await app.ask("create_job", id="job", name="Job", description="words")
    assert (await app.ask("update_job", job_id="job", name="New"))["description"] == "words"
    assert (await app.ask("update_job", job_id="job", description=None))["description"] is None
    assert (await app.ask("get_job", job_id="job"))["name"] == "New"


async def test_a_paused_job_keeps_its_endpoints_from_running(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint()
    assert (await app.ask("pause_job", job_id="job"))["active"] is False
    assert (await app.ask("get_endpoint", endpoint_id="traffic"))["job_active"] is False
    plan = await app.ask("explain_endpoint", endpoint_id="traffic")
    assert plan["gate"] == "its job is paused"
    await app.ask("resume_job", job_id="job")
    assert (await app.ask("get_endpoint", endpoint_id="traffic"))["job_active"] is True


async def test_a_deleted_job_takes_its_endpoints_along(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint()
    await app.ask("delete_job", job_id="job")
    with pytest.raises(NotFound):
        await app.ask("get_job", job_id="job")
    with pytest.raises(NotFound):
        await app.ask("get_endpoint", endpoint_id="traffic")
    assert (await app.ask("list_endpoints"))["items"] == []


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "nul\x00", "x" * 201, 5, None])
async def test_a_name_is_one_line(app: ApplicationFixture, name: object) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await app.ask("create_job", name=name)
    assert [fault.field for fault in refused.value.faults] == ["name"]


async def test_every_field_at_fault_is_named(app: ApplicationFixture) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await app.ask("create_job", id="not an id", active="yes", colour="red")
    assert {fault.field for fault in refused.value.faults} == {"name", "id", "active", "colour"}


async def test_who_may_only_read_changes_nothing(app: ApplicationFixture) -> None:
    reader = frozenset({Scope.READ})
    with pytest.raises(NotAllowed):
        await app.ask("create_job", holding=reader, name="Job")
    assert (await app.ask("list_jobs", holding=reader))["items"] == []


async def test_an_operation_that_is_not_there_is_not_found(app: ApplicationFixture) -> None:
    with pytest.raises(NotFound):
        await app.ask("drop_tables")
