"""What a file deletes when it is asked to, and what it never does."""

from typing import Any

import pytest
from tests.operation_fixtures import A_TARGET, ApplicationFixture
from tests.scheduling.config.test_apply import told

from cadenza.domain.errors import NotFound
from cadenza.testing.builders import an_endpoint


def a_file(**jobs: list[str]) -> dict[str, Any]:
    """A file of jobs with endpoints, all of them by id alone."""
    return {
        "version": 1,
        "jobs": [
            {
                "id": job_id,
                "endpoints": [{"id": id_, "target": A_TARGET, "baseline": "every 1m"} for id_ in endpoints],
            }
            for job_id, endpoints in jobs.items()
        ],
    }


async def live(app: ApplicationFixture) -> list[str]:
    return [endpoint.id for endpoint in await app.store.catalog.find("default")]


async def jobs(app: ApplicationFixture) -> list[str]:
    return [job.id for job in await app.store.catalog.jobs("default")]


async def test_nothing_is_deleted_unless_it_is_asked_for(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **a_file(a=["one", "two"], b=["three"]))
    answer = await app.ask("apply_config", **a_file(a=["one"]))
    assert answer["changes"] == []
    assert await live(app) == ["one", "three", "two"]


async def test_endpoints_of_a_named_job_that_are_not_named_go(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **a_file(a=["one", "two"]))
    await app.endpoint("by-hand", job_id="a")
    answer = await app.ask("apply_config", **a_file(a=["one"]), prune=True)
    assert told(answer) == [("delete", "endpoint", "by-hand"), ("delete", "endpoint", "two")]
    assert await live(app) == ["one"]
    with pytest.raises(NotFound):
        await app.ask("get_endpoint", endpoint_id="two")


async def test_jobs_that_a_file_made_go_with_their_endpoints(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **a_file(a=["one"], b=["two", "three"], c=[]))
    answer = await app.ask("apply_config", **a_file(a=["one", "three"]), prune=True)
    assert told(answer) == [
        ("update", "endpoint", "three"),
        ("delete", "job", "b"),
        ("delete", "job", "c"),
        ("delete", "endpoint", "two"),
    ]
    assert (await jobs(app), await live(app)) == (["a"], ["one", "three"])


async def test_jobs_that_were_made_by_hand_are_never_deleted(app: ApplicationFixture) -> None:
    await app.job("hand")
    await app.endpoint("manual", job_id="hand")
    await app.ask("apply_config", **a_file(hand=["manual", "new"]))
    answer = await app.ask("apply_config", **a_file(), prune=True)
    assert answer["changes"] == []
    assert (await jobs(app), await live(app)) == (["hand"], ["manual", "new"])


async def test_an_endpoint_of_a_job_made_by_hand_can_move_into_a_file(app: ApplicationFixture) -> None:
    await app.job("hand")
    await app.endpoint("manual", job_id="hand")
    answer = await app.ask("apply_config", **a_file(a=["manual"]), prune=True)
    assert told(answer) == [("create", "job", "a"), ("update", "endpoint", "manual")]
    assert await jobs(app) == ["a", "hand"]


async def test_a_job_that_nobody_made_is_not_made_for_its_name_alone(app: ApplicationFixture) -> None:
    await app.store.endpoints.add(an_endpoint("one", job_id="embedded"))
    file: dict[str, Any] = {"version": 1, "jobs": [{"id": "embedded", "endpoints": []}]}
    assert (await app.ask("apply_config", **file))["changes"] == []
    file["jobs"] = [{"id": "embedded", "description": "of a program"}]
    answer = await app.ask("apply_config", **file)
    assert told(answer) == [("update", "job", "embedded")]
    assert not (await app.ask("get_job", job_id="embedded"))["applied"]


async def test_what_was_pruned_and_is_named_again_comes_back(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **a_file(a=["one"], b=["two"]))
    await app.ask("apply_config", **a_file(a=["one"]), prune=True)
    answer = await app.ask("apply_config", **a_file(a=["one"], b=["two"]), prune=True)
    assert told(answer) == [("create", "job", "b"), ("revive", "endpoint", "two")]
    assert await live(app) == ["one", "two"]
