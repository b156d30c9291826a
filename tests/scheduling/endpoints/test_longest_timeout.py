"""An operator sets the longest timeout that an endpoint may have."""

import asyncio
from typing import Any

import pytest
from tests.operation_fixtures import A_TARGET, ApplicationFixture
from tests.scheduling.worker.worker_fixtures import WorkerFixture

from cadenza import Cadenza
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.policy import Policy, check_timeout
from cadenza.engine.worker.execute import Executor

DAY = 86_400_000
TEN_MINUTES = 600_000
EVERY_MINUTE = {"kind": "every", "interval_ms": 60_000}
REFUSED = "may not be more than 10 minutes"


@pytest.fixture
async def bounded_app() -> ApplicationFixture:
    app = ApplicationFixture(max_timeout_ms=TEN_MINUTES)
    await app.job()
    return app


def a_config(timeout_ms: int) -> dict[str, Any]:
    policy = {"timeout_ms": timeout_ms}
    endpoint = {"id": "traffic", "target": A_TARGET, "baseline": EVERY_MINUTE, "policy": policy}
    return {"version": 1, "jobs": [{"id": "job", "name": "job", "endpoints": [endpoint]}]}


async def test_a_longer_timeout_is_refused_in_a_new_endpoint(bounded_app: ApplicationFixture) -> None:
    with pytest.raises(InvalidRequest, match=REFUSED) as refused:
        await bounded_app.endpoint(policy={"timeout_ms": DAY})
    assert refused.value.field == "policy.timeout_ms"
    created = await bounded_app.endpoint(policy={"timeout_ms": TEN_MINUTES})
    assert created["policy"]["timeout_ms"] == TEN_MINUTES


async def test_a_longer_timeout_is_refused_in_a_change_and_in_a_configuration(
    bounded_app: ApplicationFixture,
) -> None:
    await bounded_app.endpoint()
    longer = {"timeout_ms": TEN_MINUTES + 1}
    with pytest.raises(InvalidRequest, match=REFUSED):
        await bounded_app.ask("update_endpoint", endpoint_id="traffic", policy=longer)
    with pytest.raises(InvalidRequest, match=REFUSED):
        await bounded_app.ask("apply_config", **a_config(DAY))
    assert (await bounded_app.ask("apply_config", **a_config(TEN_MINUTES)))["applied"]


async def test_what_was_stored_with_a_longer_timeout_can_be_changed_otherwise(
    app: ApplicationFixture, bounded_app: ApplicationFixture
) -> None:
    await app.job()
    await app.endpoint(policy={"timeout_ms": DAY})
    await bounded_app.store.endpoints.add((await app.store.catalog.find("default"))[0])
    changed = await bounded_app.ask("update_endpoint", endpoint_id="traffic", enabled=False)
    assert (changed["enabled"], changed["policy"]["timeout_ms"]) == (False, DAY)
    with pytest.raises(InvalidRequest, match=REFUSED):
        await bounded_app.ask("update_endpoint", endpoint_id="traffic", policy={"timeout_ms": DAY - 1})


def test_the_default_is_cut_and_is_not_refused() -> None:
    assert check_timeout(Policy(), 5_000).timeout_ms == 5_000
    assert check_timeout(Policy(), None) == check_timeout(Policy(), 30_000) == Policy()


async def forever(_: object) -> Any:
    await asyncio.Event().wait()


async def test_what_is_stored_with_a_longer_timeout_is_cut_when_it_is_dispatched() -> None:
    fixture = WorkerFixture()
    await fixture.add(policy=Policy(timeout_ms=DAY))
    fixture.dispatcher.on("endpoint", forever)
    ports: dict[str, Any] = {"quota": fixture.quota, "clock": fixture.clock}
    executor = Executor(dispatcher=fixture.dispatcher, max_timeout_ms=20, **ports)
    await fixture.loop(executor=executor).run_once()
    run = await fixture.only_run()
    assert (run.status, run.error) == ("timeout", "no answer within 20 ms")
    assert fixture.dispatcher.executed[0].endpoint.policy.timeout_ms == 20
    assert (await fixture.endpoint()).policy.timeout_ms == DAY


def nothing() -> None:
    """Do nothing."""


def test_a_program_is_told_which_setting_allows_more() -> None:
    told = "timeout may not be more than 10 minutes, unless Cadenza has a higher max_timeout_ms"
    with pytest.raises(InvalidRequest, match=told):
        Cadenza("sqlite:///cadenza.db").every("1m", timeout="1h")(nothing)
    Cadenza("sqlite:///cadenza.db", max_timeout_ms=DAY).every("1m", timeout="1h")(nothing)
