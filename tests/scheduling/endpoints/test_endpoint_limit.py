"""What comes back counts towards a tenant's limit again, whichever way it comes."""

from typing import Any

import pytest
from tests.operation_fixtures import A_TARGET, ApplicationFixture

from cadenza.domain.errors import NotAllowed
from cadenza.domain.scheduling.endpoint import EndpointKey, evolve
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.steer import ChangedEndpoint

EVERY_MINUTE = {"kind": "every", "interval_ms": 60_000}


@pytest.fixture
async def limited_app(app: ApplicationFixture) -> ApplicationFixture:
    """A tenant with room for one endpoint."""
    await app.job()
    await app.ask("set_limits", tenant_id="default", endpoints=1)
    return app


async def do_its_duty(limited_app: ApplicationFixture, name: str = "traffic") -> None:
    done = {"next_run_at": None, "next_source": Source.FINISHED}
    await limited_app.store.endpoints.amend(
        EndpointKey("default", name), lambda one: ChangedEndpoint(evolve(one, **done))
    )


async def counted(limited_app: ApplicationFixture) -> int:
    return await limited_app.store.tenants.count_endpoints("default", 10)


async def test_who_creates_what_was_deleted_needs_room_for_it(limited_app: ApplicationFixture) -> None:
    await limited_app.endpoint()
    await limited_app.ask("delete_endpoint", endpoint_id="traffic")
    await limited_app.endpoint("second")
    with pytest.raises(NotAllowed, match="at most 1 endpoints"):
        await limited_app.endpoint()
    assert await counted(limited_app) == 1
    await limited_app.ask("delete_endpoint", endpoint_id="second")
    assert (await limited_app.endpoint(name="Back"))["name"] == "Back"
    assert await counted(limited_app) == 1


async def test_who_gives_another_baseline_to_what_has_done_its_duty_needs_room_for_it(
    limited_app: ApplicationFixture,
) -> None:
    await limited_app.endpoint(baseline={"kind": "once", "at": "2025-01-01T00:00:00Z"})
    await do_its_duty(limited_app)
    await limited_app.endpoint("second")
    with pytest.raises(NotAllowed, match="at most 1 endpoints"):
        await limited_app.ask("update_endpoint", endpoint_id="traffic", baseline=EVERY_MINUTE)
    renamed = await limited_app.ask("update_endpoint", endpoint_id="traffic", name="Done")
    assert (renamed["name"], renamed["next_run_at"]) == ("Done", None)
    await limited_app.ask("delete_endpoint", endpoint_id="second")
    again = await limited_app.ask("update_endpoint", endpoint_id="traffic", baseline=EVERY_MINUTE)
    assert (again["baseline"], again["next_source"]) == (EVERY_MINUTE, "baseline-interval")
    assert await counted(limited_app) == 1


def a_file(**baselines: str) -> dict[str, Any]:
    endpoints = [{"id": id_, "target": A_TARGET, "baseline": words} for id_, words in baselines.items()]
    return {"version": 1, "jobs": [{"id": "checkout", "endpoints": endpoints}], "prune": True}


async def test_to_delete_what_has_done_its_duty_makes_no_room(limited_app: ApplicationFixture) -> None:
    once = "once 2025-01-01T00:00:00Z"
    await limited_app.ask("apply_config", **a_file(traffic=once))
    await do_its_duty(limited_app)
    await limited_app.ask("apply_config", **a_file(traffic=once, second="every 1m"))
    with pytest.raises(NotAllowed, match="2 endpoints, and the limit is 1"):
        await limited_app.ask("apply_config", **a_file(second="every 1m", third="every 1m"))
    with pytest.raises(NotAllowed, match="2 endpoints, and the limit is 1"):
        await limited_app.ask("apply_config", **a_file(traffic="every 1m", second="every 1m"))
    await limited_app.ask("apply_config", **a_file(traffic="every 1m"))
    assert await counted(limited_app) == 1
