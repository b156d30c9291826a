"""What is switched on again, by itself or with its job, is planned from now: nothing of it is late."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.operation_fixtures import A_TARGET, EVERYTHING, ApplicationFixture

from cadenza.domain.access.key import Caller
from cadenza.domain.errors import Conflict
from cadenza.domain.scheduling.endpoint import EndpointKey, evolve
from cadenza.domain.scheduling.steer import ChangedEndpoint

EVERY_5_S = {"kind": "every", "interval_ms": 5_000}
EVERY_MINUTE = {"kind": "cron", "expression": "* * * * *"}
PERSON, MODEL = "key:ab12", "llm:key:cd34"


def file_of(**fields: Any) -> dict[str, Any]:
    """A file with the job and, if it has fields, its endpoint."""
    named = {"id": "traffic", "target": A_TARGET, "baseline": "every 5s"}
    endpoints = [named | fields] if fields else []
    return {"version": 1, "jobs": [{"id": "job", "name": "job", "active": True, "endpoints": endpoints}]}


async def ask(app: ApplicationFixture, operation: str, by: str = PERSON, **arguments: Any) -> Any:
    view = await app.application.ask(operation, arguments, Caller("default", EVERYTHING, by))
    return view.model_dump(mode="json")


async def planned(app: ApplicationFixture, endpoint_id: str = "traffic") -> tuple[float | None, str]:
    """In how many seconds its next run is, and what set it."""
    endpoint = await app.ask("get_endpoint", endpoint_id=endpoint_id)
    moment = endpoint["next_run_at"]
    ahead = None if moment is None else (datetime.fromisoformat(moment) - app.clock.now()).total_seconds()
    return ahead, endpoint["next_source"]


async def ran(app: ApplicationFixture, name: str) -> None:
    """Let it have run just now."""
    now = app.clock.now()
    soon = {"last_run_at": now, "next_run_at": now + timedelta(seconds=15)}
    await app.store.endpoints.amend(
        EndpointKey("default", name), lambda one: ChangedEndpoint(evolve(one, **soon))
    )


SWITCHES: dict[str, tuple[tuple[str, dict[str, Any]], tuple[str, dict[str, Any]]]] = {
    "job": (("pause_job", {"job_id": "job"}), ("resume_job", {"job_id": "job"})),
    "update": (
        ("update_job", {"job_id": "job", "active": False}),
        ("update_job", {"job_id": "job", "active": True}),
    ),
    "endpoint": (
        ("update_endpoint", {"endpoint_id": "traffic", "enabled": False}),
        ("update_endpoint", {"endpoint_id": "traffic", "enabled": True}),
    ),
    "move": (
        ("pause_job", {"job_id": "job"}),
        ("update_endpoint", {"endpoint_id": "traffic", "job_id": "on"}),
    ),
    "file, job": (("pause_job", {"job_id": "job"}), ("apply_config", file_of())),
    "file, job and endpoint": (("pause_job", {"job_id": "job"}), ("apply_config", file_of(name="Traffic"))),
    "file, endpoint": (
        ("update_endpoint", {"endpoint_id": "traffic", "enabled": False}),
        ("apply_config", file_of(enabled=True)),
    ),
}


@pytest.fixture
async def shop(app: ApplicationFixture) -> ApplicationFixture:
    for job_id in ("job", "on"):
        await app.job(job_id)
    return app


@pytest.mark.parametrize("way", SWITCHES)
async def test_an_interval_that_was_missed_is_planned_from_now(shop: ApplicationFixture, way: str) -> None:
    await shop.endpoint(baseline=EVERY_5_S, policy={"misfire": "skip", "misfire_grace_ms": 1_000})
    (off, how_off), (on, how_on) = SWITCHES[way]
    await shop.ask(off, **how_off)
    await shop.clock.sleep(30_000)
    await shop.ask(on, **how_on)
    assert await planned(shop) == (5.0, "resume")


@pytest.mark.parametrize("way", [one for one in SWITCHES if not one.startswith("file")])
async def test_a_cron_line_goes_on_with_its_next_fire(shop: ApplicationFixture, way: str) -> None:
    await shop.endpoint(baseline=EVERY_MINUTE)
    (off, how_off), (on, how_on) = SWITCHES[way]
    await shop.ask(off, **how_off)
    await shop.clock.sleep(90_000)
    await shop.ask(on, **how_on)
    assert await planned(shop) == (30.0, "resume")


async def test_many_endpoints_of_a_job_do_not_start_together() -> None:
    app = ApplicationFixture(jitter_ms=3_000)
    await app.job()
    names = [f"e{number}" for number in range(60)]
    for name in names:
        await app.endpoint(name, baseline={"kind": "every", "interval_ms": 15_000})
        await ran(app, name)
    await app.ask("pause_job", job_id="job")
    await app.clock.sleep(22_000)
    await app.ask("resume_job", job_id="job")
    plans = [await planned(app, name) for name in names]
    assert {source for _, source in plans} == {"resume"}
    moments = [ahead for ahead, _ in plans if ahead is not None]
    assert min(moments) >= 0
    assert max(moments) <= 1.5, "a tenth of the interval"
    assert len(set(moments)) > 50


@pytest.mark.parametrize("way", ["job", "endpoint"])
async def test_what_lies_ahead_keeps_its_moment(shop: ApplicationFixture, way: str) -> None:
    await shop.endpoint()
    (off, how_off), (on, how_on) = SWITCHES[way]
    await shop.ask(off, **how_off)
    await shop.clock.sleep(30_000)
    await shop.ask(on, **how_on)
    assert await planned(shop) == (30.0, "baseline-interval")


@pytest.mark.parametrize("way", ["job", "endpoint"])
async def test_a_moment_that_was_named_is_not_spread(way: str) -> None:
    app = ApplicationFixture(jitter_ms=3_000)
    await app.job()
    moment = (app.clock.now() + timedelta(seconds=5)).isoformat()
    await app.endpoint(baseline={"kind": "once", "at": moment})
    (off, how_off), (on, how_on) = SWITCHES[way]
    await app.ask(off, **how_off)
    await app.clock.sleep(30_000)
    await app.ask(on, **how_on)
    assert await planned(app) == (0.0, "resume")


@pytest.mark.parametrize("way", ["job", "endpoint"])
async def test_a_run_that_somebody_asked_for_comes_at_once(way: str) -> None:
    app = ApplicationFixture(jitter_ms=3_000)
    await app.job()
    await app.endpoint()
    await app.ask("run_now", endpoint_id="traffic")
    (off, how_off), (on, how_on) = SWITCHES[way]
    await app.ask(off, **how_off)
    await app.clock.sleep(30_000)
    await app.ask(on, **how_on)
    assert await planned(app) == (0.0, "manual")


async def test_an_endpoint_that_is_off_itself_waits_until_it_is_on_too(shop: ApplicationFixture) -> None:
    await shop.endpoint(baseline=EVERY_5_S)
    await shop.ask("update_endpoint", endpoint_id="traffic", enabled=False)
    await shop.ask("pause_job", job_id="job")
    await shop.clock.sleep(30_000)
    await shop.ask("resume_job", job_id="job")
    assert await planned(shop) == (-25.0, "baseline-interval")
    await shop.ask("update_endpoint", endpoint_id="traffic", enabled=True)
    assert await planned(shop) == (5.0, "resume")


async def test_a_file_that_switches_a_job_on_lists_no_change_of_its_endpoints(
    shop: ApplicationFixture,
) -> None:
    await shop.endpoint(baseline=EVERY_5_S)
    await shop.ask("pause_job", job_id="job")
    await shop.clock.sleep(30_000)
    answer = await shop.ask("apply_config", **file_of())
    assert [(one["kind"], one["id"]) for one in answer["changes"]] == [("job", "job")]


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("update_endpoint", {"endpoint_id": "traffic", "enabled": True, "name": "Traffic"}),
        ("update_job", {"job_id": "job", "active": True}),
        ("apply_config", file_of(name="Traffic", enabled=True)),
    ],
)
async def test_what_was_on_and_is_due_stays_due(
    shop: ApplicationFixture, call: str, arguments: dict[str, Any]
) -> None:
    await shop.endpoint(baseline=EVERY_5_S)
    await shop.clock.sleep(30_000)
    await shop.ask(call, **arguments)
    assert await planned(shop) == (-25.0, "baseline-interval")


async def test_a_model_may_say_again_what_is_off(shop: ApplicationFixture) -> None:
    await shop.endpoint(enabled=False)
    again = {"endpoint_id": "traffic", "enabled": False, "job_id": "job"}
    assert (await ask(shop, "update_endpoint", MODEL, **again))["note"] is None


async def test_a_model_enables_no_endpoint(shop: ApplicationFixture) -> None:
    await shop.endpoint()
    await ask(shop, "update_endpoint", endpoint_id="traffic", enabled=False)
    answer = await ask(shop, "update_endpoint", MODEL, endpoint_id="traffic", enabled=True, name="Traffic")
    because = "models may not enable a disabled endpoint"
    assert (answer["enabled"], answer["note"]) == (False, f"Not applied, because {because}.")
    assert answer["name"] == "Traffic", "what switches nothing on is changed all the same"
    (line,) = (await ask(shop, "list_hints", endpoint_id="traffic"))["items"]
    assert (line["kind"], line["origin"], line["not_applied"]) == ("resume", MODEL, because)
    why = (await ask(shop, "explain_endpoint", endpoint_id="traffic"))["answer"]
    assert f"was not applied, because {because}." in why
    enabled = await ask(shop, "update_endpoint", endpoint_id="traffic", enabled=True)
    assert (enabled["enabled"], enabled["note"]) == (True, None)
    why = (await ask(shop, "explain_endpoint", endpoint_id="traffic"))["answer"]
    assert "not applied" not in why


async def test_a_model_moves_no_endpoint_out_of_a_paused_job(shop: ApplicationFixture) -> None:
    await shop.endpoint()
    await ask(shop, "pause_job", job_id="job")
    answer = await ask(shop, "update_endpoint", MODEL, endpoint_id="traffic", job_id="on")
    because = "models may not move an endpoint out of a paused job"
    assert (answer["job_id"], answer["note"]) == ("job", f"Not applied, because {because}.")
    await ask(shop, "resume_job", job_id="job")
    moved = await ask(shop, "update_endpoint", MODEL, endpoint_id="traffic", job_id="on")
    assert (moved["job_id"], moved["note"]) == ("on", None)


async def test_a_file_of_a_model_switches_no_endpoint_on(shop: ApplicationFixture) -> None:
    await shop.endpoint(job_id="on")
    await ask(shop, "pause_job", job_id="on")
    with pytest.raises(Conflict, match="because models may not move an endpoint"):
        await ask(shop, "apply_config", MODEL, **file_of(name="Traffic"))
    await ask(shop, "resume_job", job_id="on")
    await ask(shop, "update_endpoint", endpoint_id="traffic", enabled=False)
    with pytest.raises(Conflict, match="because models may not enable a disabled endpoint"):
        await ask(shop, "apply_config", MODEL, **file_of(enabled=True))
    assert (await ask(shop, "get_endpoint", endpoint_id="traffic"))["job_id"] == "on"
    await ask(shop, "apply_config", **file_of(enabled=True))
    assert (await ask(shop, "get_endpoint", endpoint_id="traffic"))["enabled"] is True
