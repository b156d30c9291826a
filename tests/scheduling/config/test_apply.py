"""A configuration applied: what it changes, what it leaves alone, and what it refuses."""

from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from tests.operation_fixtures import A_TARGET, ApplicationFixture

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import InvalidRequest, NotAllowed
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.operations.config.schemas import ConfigEndpoint
from cadenza.operations.scheduling.endpoint_parts.commands import CreateEndpoint

FILE: dict[str, Any] = {
    "version": 1,
    "jobs": [
        {
            "id": "checkout",
            "name": "Checkout",
            "endpoints": [
                {"id": "traffic", "target": A_TARGET, "baseline": "every 1m", "guard": {"min": "20s"}},
                {"id": "orders", "target": A_TARGET, "baseline": "cron */5 * * * *"},
            ],
        },
        {"id": "reports", "endpoints": [{"id": "morning", "target": A_TARGET, "baseline": "every 1d"}]},
    ],
}


def altered(**fields: Any) -> dict[str, Any]:
    """The file with other fields in its first endpoint."""
    file = deepcopy(FILE)
    file["jobs"][0]["endpoints"][0] |= fields
    return file


def told(answer: Any) -> list[tuple[str, str, str]]:
    return [(one["action"], one["kind"], one["id"]) for one in answer["changes"]]


async def everything(app: ApplicationFixture) -> Any:
    endpoints = await app.store.catalog.find("default")
    return await app.store.catalog.jobs("default"), endpoints


async def test_a_file_makes_jobs_and_endpoints(app: ApplicationFixture) -> None:
    answer = await app.ask("apply_config", **FILE)
    assert answer["applied"]
    assert told(answer) == [
        ("create", "job", "checkout"),
        ("create", "job", "reports"),
        ("create", "endpoint", "traffic"),
        ("create", "endpoint", "orders"),
        ("create", "endpoint", "morning"),
    ]
    assert answer["counts"] == {"create": 5, "update": 0, "revive": 0, "delete": 0, "unchanged": 0}
    job = await app.ask("get_job", job_id="checkout")
    assert (job["name"], job["applied"], job["active"]) == ("Checkout", True, True)
    traffic = await app.ask("get_endpoint", endpoint_id="traffic")
    assert (traffic["name"], traffic["job_id"], traffic["enabled"]) == ("traffic", "checkout", True)
    assert traffic["guard"]["min_interval_ms"] == 20_000
    assert traffic["next_run_at"] == "2025-01-01T00:01:00Z"


async def test_applied_twice_it_changes_nothing(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **FILE)
    before = await everything(app)
    await app.clock.sleep(30_000)
    answer = await app.ask("apply_config", **FILE, prune=True)
    assert (answer["changes"], answer["counts"]["unchanged"]) == ([], 5)
    assert await everything(app) == before


async def test_a_trial_tells_the_same_and_writes_nothing(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **FILE)
    file = altered(baseline="every 2m", labels={"team": "web"})
    file["jobs"].pop()
    before = await everything(app)
    tried = await app.ask("apply_config", **file, dry_run=True, prune=True)
    assert not tried["applied"]
    assert await everything(app) == before
    done = await app.ask("apply_config", **file, prune=True)
    assert (done["applied"], done["changes"]) == (True, tried["changes"])
    assert told(done) == [
        ("update", "endpoint", "traffic"),
        ("delete", "job", "reports"),
        ("delete", "endpoint", "morning"),
    ]


async def test_an_update_tells_every_field_with_before_and_after(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **FILE)
    file = altered(baseline="every 2m", target=A_TARGET | {"method": "HEAD"}, description="visitors")
    file["jobs"][0] |= {"name": "Basket", "active": False}
    job, endpoint = (await app.ask("apply_config", **file))["changes"]
    assert {one["field"]: (one["before"], one["after"]) for one in job["fields"]} == {
        "name": ("Checkout", "Basket"),
        "active": (True, False),
    }
    assert {one["field"]: (one["before"], one["after"]) for one in endpoint["fields"]} == {
        "description": (None, "visitors"),
        "target": (A_TARGET, A_TARGET | {"method": "HEAD"}),
        "baseline": ({"kind": "every", "interval_ms": 60_000}, {"kind": "every", "interval_ms": 120_000}),
    }


async def test_what_a_file_no_longer_says_is_as_usual_again(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **altered(labels={"team": "web"}, policy={"timeout": "5s"}))
    answer = await app.ask("apply_config", **FILE)
    assert told(answer) == [("update", "endpoint", "traffic")]
    traffic = await app.ask("get_endpoint", endpoint_id="traffic")
    assert (traffic["labels"], traffic["policy"]["timeout_ms"]) == ({}, 30_000)


async def test_switches_hints_pauses_and_history_stay_unless_they_are_named(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **FILE)
    await app.ask("propose_interval", endpoint_id="traffic", intervalMs=30_000, reason="surge")
    await app.ask("pause_until", endpoint_id="orders", untilIso="2025-01-02T00:00:00Z")
    await app.ask("pause_job", job_id="reports")
    await app.ask("update_endpoint", endpoint_id="morning", enabled=False)
    answer = await app.ask("apply_config", **altered(description="visitors"))
    assert told(answer) == [("update", "endpoint", "traffic")]
    traffic = await app.ask("get_endpoint", endpoint_id="traffic")
    assert traffic["interval_hint"]["reason"] == "surge"
    assert (traffic["next_run_at"], traffic["next_source"]) == ("2025-01-01T00:00:30Z", "ai-interval")
    assert (await app.ask("get_endpoint", endpoint_id="orders"))["paused_until"] == "2025-01-02T00:00:00Z"
    assert not (await app.ask("get_job", job_id="reports"))["active"]
    file = deepcopy(FILE)
    file["jobs"][1] |= {"active": True}
    file["jobs"][1]["endpoints"][0]["enabled"] = True
    answer = await app.ask("apply_config", **file)
    assert [(one["id"], [field["field"] for field in one["fields"]]) for one in answer["changes"]] == [
        ("reports", ["active"]),
        ("traffic", ["description"]),
        ("morning", ["enabled"]),
    ]


async def test_an_endpoint_that_runs_goes_on(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **FILE)
    await app.clock.sleep(60_000)
    now = app.clock.now()
    (claim,) = await app.store.endpoints.claim_due(
        now=now, within=timedelta(0), lease_until=now + timedelta(minutes=1), limit=10
    )
    await app.ask("apply_config", **altered(baseline="every 2m"))
    traffic = await app.store.endpoints.get(EndpointKey("default", "traffic"))
    assert traffic.lease is not None
    assert traffic.lease.run_id == claim.run_id


async def test_an_endpoint_that_moves_to_another_job_is_an_update(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **FILE)
    file = deepcopy(FILE)
    file["jobs"][1]["endpoints"].append(file["jobs"][0]["endpoints"].pop(0))
    answer = await app.ask("apply_config", **file, prune=True)
    assert told(answer) == [("update", "endpoint", "traffic")]
    assert answer["changes"][0]["fields"] == [{"field": "job_id", "before": "checkout", "after": "reports"}]
    assert (await app.ask("get_endpoint", endpoint_id="traffic"))["job_id"] == "reports"


async def test_a_deleted_endpoint_that_is_named_again_comes_back_with_its_history(
    app: ApplicationFixture,
) -> None:
    await app.ask("apply_config", **FILE)
    await app.ask("delete_endpoint", endpoint_id="traffic")
    answer = await app.ask("apply_config", **FILE)
    assert told(answer) == [("revive", "endpoint", "traffic")]
    assert (await app.ask("get_endpoint", endpoint_id="traffic"))["enabled"]


async def test_one_that_comes_back_while_its_last_run_ends_takes_that_run_for_its_own(
    app: ApplicationFixture,
) -> None:
    await app.ask("apply_config", **FILE)
    await app.clock.sleep(60_000)
    now = app.clock.now()
    (claim,) = await app.store.endpoints.claim_due(
        now=now, within=timedelta(0), lease_until=now + timedelta(minutes=1), limit=10
    )
    await app.ask("delete_endpoint", endpoint_id="traffic")
    await app.ask("apply_config", **FILE)
    assert await app.store.endpoints.renew([claim], now + timedelta(minutes=2)) == {claim.run_id}
    nothing = await app.store.endpoints.claim_due(
        now=now + timedelta(minutes=2), within=timedelta(0), lease_until=now, limit=10
    )
    assert nothing == []


async def test_every_fault_is_told_at_once_with_its_path(app: ApplicationFixture) -> None:
    file = deepcopy(FILE)
    traffic, orders = file["jobs"][0]["endpoints"]
    traffic |= {"baseline": "cron 61 * * * *", "guard": {"min": "2m", "max": "1m"}}
    orders |= {"baseline": {"kind": "cron", "expression": "0 0 30 2 *"}}
    file["jobs"][1]["endpoints"] += [
        deepcopy(orders) | {"id": "morning"},
        deepcopy(orders) | {"id": "orders"},
    ]
    file["jobs"].append({"id": "checkout"})
    with pytest.raises(InvalidRequest) as refused:
        await app.ask("apply_config", **file)
    assert [fault.field for fault in refused.value.faults] == [
        "jobs.2.id",
        "jobs.1.endpoints.1.id",
        "jobs.1.endpoints.2.id",
        "jobs.0.endpoints.0.guard.min",
        "jobs.0.endpoints.1.baseline.expression",
        "jobs.1.endpoints.1.baseline.expression",
        "jobs.1.endpoints.2.baseline.expression",
    ]
    assert await everything(app) == ([], [])


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"rules": []}, "rules"),
        ({"baseline": "hourly"}, "baseline"),
        ({"baseline": "every 5 parsecs"}, "baseline"),
        ({"baseline": "once 2030-01-01"}, "baseline"),
        ({"baseline": {"kind": "every", "interval": "1m", "interval_ms": 60_000}}, "baseline.interval"),
        ({"guard": {"min": 20}}, "guard.min"),
        ({"guard": {"min_interval_ms": "20s"}}, "guard.min_interval_ms"),
        ({"guard": []}, "guard"),
        ({"target": "ftp://example.com"}, "target"),
        ({"target": "https://a b"}, "target"),
        ({"labels": {"a b": "c"}}, "labels"),
        ({"labels": {"a": 1}}, "labels.a"),
        ({"enabled": "yes"}, "enabled"),
        ({"id": "a/b"}, "id"),
    ],
)
async def test_faults_have_the_path_of_their_part(
    app: ApplicationFixture, fields: dict[str, Any], fault: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await app.ask("apply_config", **altered(**fields))
    assert [one.field for one in refused.value.faults] == [f"jobs.0.endpoints.0.{fault}"]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"guard": {"min": "2m", "max": "1m"}}, "min must not exceed max."),
        ({"guard": {"min": "2m", "max_interval_ms": 60_000}}, "min must not exceed max_interval_ms."),
        ({"guard": {"min_interval_ms": 60_000, "max": "1s"}}, "min_interval_ms must not exceed max."),
    ],
)
async def test_faults_say_the_words_of_the_file(
    app: ApplicationFixture, fields: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await app.ask("apply_config", **altered(**fields))
    (fault,) = refused.value.faults
    assert (fault.field, fault.message) == (
        f"jobs.0.endpoints.0.guard.{sentence.split(maxsplit=1)[0]}",
        sentence,
    )


async def test_a_file_sets_the_metadata_of_a_job_and_takes_it_away(app: ApplicationFixture) -> None:
    file = deepcopy(FILE)
    file["jobs"][0]["metadata"] = {"team": "web", "pages": [1]}
    await app.ask("apply_config", **file)
    assert (await app.ask("get_job", job_id="checkout"))["metadata"] == {"team": "web", "pages": [1]}
    assert (await app.ask("apply_config", **file))["changes"] == []
    (change,) = (await app.ask("apply_config", **FILE))["changes"]
    assert (change["kind"], [field["field"] for field in change["fields"]]) == ("job", ["metadata"])
    assert (await app.ask("get_job", job_id="checkout"))["metadata"] == {}


async def test_metadata_that_is_too_large_is_refused_with_its_path(app: ApplicationFixture) -> None:
    file = deepcopy(FILE)
    file["jobs"][1]["metadata"] = {"a": "x" * 20_000}
    with pytest.raises(InvalidRequest, match="metadata has 20,009 bytes") as refused:
        await app.ask("apply_config", **file)
    assert [one.field for one in refused.value.faults] == ["jobs.1.metadata"]


@pytest.mark.parametrize("version", [0, 2, "1", None])
async def test_only_the_known_version_is_taken(app: ApplicationFixture, version: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await app.ask("apply_config", **FILE | {"version": version})
    assert refused.value.field == "version"


@pytest.mark.parametrize(
    ("words", "baseline"),
    [
        ("every 1h30m", {"kind": "every", "interval_ms": 5_400_000}),
        ("every 1m 30s", {"kind": "every", "interval_ms": 90_000}),
        ({"kind": "every", "interval": "2d"}, {"kind": "every", "interval_ms": 172_800_000}),
        ("cron @hourly", {"kind": "cron", "expression": "@hourly", "timezone": "UTC"}),
        (
            "cron 0 9 * * MON-FRI in Europe/Berlin",
            {"kind": "cron", "expression": "0 9 * * MON-FRI", "timezone": "Europe/Berlin"},
        ),
        ("once 2030-01-31T12:00:00+01:00", {"kind": "once", "at": "2030-01-31T11:00:00Z"}),
    ],
)
async def test_baselines_may_be_said_in_short(app: ApplicationFixture, words: Any, baseline: Any) -> None:
    await app.ask("apply_config", **altered(baseline=words))
    assert (await app.ask("get_endpoint", endpoint_id="traffic"))["baseline"] == baseline


async def test_spans_and_milliseconds_say_the_same(app: ApplicationFixture) -> None:
    policy = {"timeout": "5s", "retry_delay": "1s", "misfire_grace": "1m30s"}
    await app.ask("apply_config", **altered(guard={"min": "20s", "max": "5m"}, policy=policy))
    answer = await app.ask(
        "apply_config",
        **altered(
            guard={"min_interval_ms": 20_000, "max_interval_ms": 300_000},
            policy={"timeout_ms": 5_000, "retry_delay_ms": 1_000, "misfire_grace_ms": 90_000},
        ),
    )
    assert answer["changes"] == []


async def test_the_tenants_shortest_interval_holds_for_files_too(app: ApplicationFixture) -> None:
    await app.ask("set_limits", tenant_id="default", min_interval_ms=90_000)
    with pytest.raises(InvalidRequest) as refused:
        await app.ask("apply_config", **FILE)
    assert [fault.field for fault in refused.value.faults] == ["jobs.0.endpoints.0.baseline"]
    file = altered(baseline="every 2m", guard={})
    await app.ask("apply_config", **file)
    assert (await app.ask("get_endpoint", endpoint_id="traffic"))["guard"]["min_interval_ms"] == 90_000
    assert (await app.ask("apply_config", **file))["changes"] == []


@pytest.mark.parametrize("dry_run", [True, False])
async def test_not_more_endpoints_are_made_than_a_tenant_may_have(
    app: ApplicationFixture, *, dry_run: bool
) -> None:
    await app.job()
    await app.endpoint("elsewhere")
    await app.ask("set_limits", tenant_id="default", endpoints=3)
    with pytest.raises(NotAllowed, match="4 endpoints, and the limit is 3"):
        await app.ask("apply_config", **FILE, dry_run=dry_run)
    assert len(await app.store.catalog.find("default")) == 1


async def test_who_is_beyond_the_limit_may_still_change_and_delete(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **FILE)
    await app.ask("set_limits", tenant_id="default", endpoints=1)
    file = altered(description="visitors")
    file["jobs"].pop()
    answer = await app.ask("apply_config", **file, prune=True)
    assert answer["counts"] == {"create": 0, "update": 1, "revive": 0, "delete": 2, "unchanged": 2}


async def test_to_apply_is_to_write(app: ApplicationFixture) -> None:
    with pytest.raises(NotAllowed):
        await app.ask("apply_config", **FILE, holding=frozenset({Scope.STEER}))


async def test_another_tenants_things_are_out_of_reach(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **FILE)
    before = await everything(app)
    answer = await app.ask("apply_config", by="stranger", version=1, jobs=[], prune=True)
    assert answer["changes"] == []
    await app.ask("apply_config", by="stranger", **altered(description="mine"))
    assert await everything(app) == before


def test_a_file_can_say_all_that_a_request_can() -> None:
    assert set(CreateEndpoint.model_fields) - {"job_id", "start_now"} == set(ConfigEndpoint.model_fields)
