"""Audit records tell who changed what, from where; they are listed, filtered, and restored from."""

from typing import Any

import pytest
from tests.operation_fixtures import A_TARGET, ApplicationFixture, app

from cadenza.domain.access.audit import MASKED, MOST_CHANGES, field_changes, without_header_values
from cadenza.domain.access.key import Caller, Scope, Surface
from cadenza.domain.errors import Conflict, NotAllowed, NotFound

__all__ = ["app"]

TOKEN = "Bearer top-secret-token"
A_RULE: dict[str, Any] = {"id": "rule", "job_id": "job", "name": "surge", "when": "true"}
A_RULE |= {"then": {"tool": "propose_interval", "intervalMs": 30_000}}


async def newest(app: ApplicationFixture, **wanted: Any) -> Any:
    """The newest record, with its definition."""
    listed = await app.ask("list_audit", limit=1, **wanted)
    return await app.ask("get_audit_record", record_id=listed["items"][0]["id"])


def differences(record: Any) -> dict[str, tuple[Any, Any]]:
    return {one["field"]: (one["before"], one["after"]) for one in record["changes"]}


async def test_an_update_is_recorded_with_its_difference_and_the_definition_before_it(
    app: ApplicationFixture,
) -> None:
    await app.job()
    await app.endpoint()
    await app.ask("update_endpoint", endpoint_id="traffic", name="Traffic", labels={"team": "web"})
    record = await newest(app)
    assert (record["operation"], record["subject_kind"], record["subject_id"]) == (
        "update_endpoint",
        "endpoint",
        "traffic",
    )
    assert (
        differences(record).items()
        >= {
            "name": ("traffic", "Traffic"),
            "labels.team": (None, "web"),
        }.items()
    )
    assert "baseline.interval_ms" not in differences(record)
    assert record["definition"]["name"] == "traffic"
    assert record["restorable"]


async def test_values_of_headers_are_masked_and_references_to_secrets_are_not(
    app: ApplicationFixture,
) -> None:
    await app.job()
    headers = {"Authorization": TOKEN, "X-Key": "${secret:PIN}"}
    await app.endpoint(target=A_TARGET | {"headers": headers})
    changed = A_TARGET | {"headers": headers | {"Authorization": "another"}}
    await app.ask("update_endpoint", endpoint_id="traffic", target=changed)
    record = await newest(app)
    assert differences(record)["target.headers.Authorization"] == (MASKED, MASKED)
    assert record["definition"]["target"]["headers"] == {"Authorization": MASKED, "X-Key": "${secret:PIN}"}
    everything = [await app.store.audit.records("default")]
    assert TOKEN not in str(everything)


async def test_steering_is_recorded_with_who_why_and_what_it_changed(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint()
    caller = Caller("default", frozenset({Scope.STEER}), "llm:key:abc", name="bot", surface=Surface.MCP)
    said = {"endpoint_id": "traffic", "intervalMs": 30_000, "reason": "a surge"}
    await app.application.ask("propose_interval", said, caller)
    record = await newest(app)
    assert (record["who"], record["name"], record["surface"]) == ("key:abc", "bot", "mcp")
    assert record["reason"] == "a surge"
    assert differences(record)["interval_hint.interval_ms"] == (None, 30_000)
    assert not record["restorable"]


async def test_a_pause_of_many_endpoints_is_one_record_with_their_number(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint("a")
    await app.endpoint("b")
    await app.ask("pause_endpoints", job_id="job", untilIso="2030-01-01T00:00:00Z", reason="works")
    record = await newest(app)
    assert (record["operation"], record["subject_id"], record["reason"]) == ("pause_endpoints", None, "works")
    assert differences(record).items() >= {"endpoints": (None, 2), "job_id": (None, "job")}.items()


async def test_what_is_refused_leaves_no_record(app: ApplicationFixture) -> None:
    with pytest.raises(NotFound):
        await app.ask("delete_job", job_id="none")
    assert await app.store.audit.records("default") == []


async def test_a_configuration_records_each_thing_that_it_changes_and_nothing_when_it_changes_nothing(
    app: ApplicationFixture,
) -> None:
    config: dict[str, Any] = {"version": 1, "jobs": [{"id": "job", "name": "job", "endpoints": []}]}
    await app.ask("apply_config", **config, dry_run=True)
    assert await app.store.audit.records("default") == []
    await app.ask("apply_config", **config)
    await app.ask("apply_config", **config)
    (record,) = await app.store.audit.records("default")
    assert (record.operation, record.subject_kind, record.subject_id) == ("apply_config", "job", "job")


async def test_a_tenant_sees_and_restores_its_own_alone(app: ApplicationFixture) -> None:
    await app.job(by="north")
    await app.ask("update_job", by="north", job_id="job", name="renamed")
    (record, *_) = await app.store.audit.records("north")
    assert (await app.ask("list_audit", by="south"))["items"] == []
    for operation in ("get_audit_record", "restore_definition"):
        with pytest.raises(NotFound):
            await app.ask(operation, by="south", record_id=record.id)


@pytest.mark.parametrize("scope", [Scope.READ, Scope.STEER, Scope.WRITE])
async def test_the_audit_is_for_admins(app: ApplicationFixture, scope: Scope) -> None:
    with pytest.raises(NotAllowed):
        await app.ask("list_audit", holding=frozenset({scope}))


async def test_pages_are_complete_and_filters_hold(app: ApplicationFixture) -> None:
    for number in range(7):
        await app.job(f"job-{number}")
        app.clock.jump(1_000)
    page = await app.ask("list_audit", limit=3, operation="create_job")
    seen = [one["subject_id"] for one in page["items"]]
    while page["next_cursor"]:
        page = await app.ask("list_audit", limit=3, operation="create_job", cursor=page["next_cursor"])
        seen += [one["subject_id"] for one in page["items"]]
    assert seen == [f"job-{number}" for number in reversed(range(7))]
    assert (await app.ask("list_audit", operation="delete_job"))["items"] == []


async def test_an_endpoint_is_restored_as_it_was_and_that_is_recorded(app: ApplicationFixture) -> None:
    await app.job()
    before = await app.endpoint(target=A_TARGET | {"headers": {"Authorization": TOKEN}})
    slower = {"kind": "every", "interval_ms": 999_000}
    await app.ask("update_endpoint", endpoint_id="traffic", name="other", baseline=slower)
    undone = await newest(app)
    restored = await app.ask("restore_definition", record_id=undone["id"])
    assert restored == {"subject_kind": "endpoint", "subject_id": "traffic", "created": False, "note": None}
    after = await app.ask("get_endpoint", endpoint_id="traffic")
    assert {name: after[name] for name in ("name", "baseline", "target")} == {
        name: before[name] for name in ("name", "baseline", "target")
    }
    record = await newest(app)
    assert (record["operation"], record["reason"]) == (
        "restore_definition",
        f"Restored as it was before {undone['id']}.",
    )
    assert differences(record)["name"] == ("other", "traffic")


async def test_a_header_value_that_was_changed_stays_and_the_answer_says_so(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint(target=A_TARGET | {"headers": {"Authorization": TOKEN}})
    target = A_TARGET | {"headers": {"Authorization": "new"}}
    await app.ask("update_endpoint", endpoint_id="traffic", target=target)
    restored = await app.ask("restore_definition", record_id=(await newest(app))["id"])
    assert "Authorization" in restored["note"]
    after = await app.ask("get_endpoint", endpoint_id="traffic")
    assert after["target"]["headers"] == {"Authorization": "new"}


async def test_a_header_whose_value_is_nowhere_is_not_restored(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint(target=A_TARGET | {"headers": {"Authorization": TOKEN}})
    await app.ask("update_endpoint", endpoint_id="traffic", target=A_TARGET)
    with pytest.raises(Conflict, match="Authorization"):
        await app.ask("restore_definition", record_id=(await newest(app))["id"])


async def test_a_deleted_job_is_restored_with_its_endpoints_and_rules_one_by_one(
    app: ApplicationFixture,
) -> None:
    await app.job()
    await app.endpoint(target=A_TARGET | {"headers": {"Authorization": TOKEN}})
    await app.ask("create_rule", **A_RULE)
    rule = await app.ask("get_rule", rule_id="rule")
    await app.ask("delete_job", job_id="job")
    for kind in ("job", "endpoint", "rule"):
        gone = await newest(app, subject_kind=kind, operation="delete_job")
        restored = await app.ask("restore_definition", record_id=gone["id"])
        assert (restored["subject_kind"], restored["created"]) == (kind, True)
    endpoint = await app.ask("get_endpoint", endpoint_id="traffic")
    assert endpoint["target"]["headers"] == {"Authorization": TOKEN}
    assert {**await app.ask("get_rule", rule_id="rule"), "created_at": None} == {**rule, "created_at": None}


async def test_a_rule_is_restored_as_it_was(app: ApplicationFixture) -> None:
    await app.job()
    await app.ask("create_rule", **A_RULE)
    await app.ask("update_rule", rule_id="rule", when="false", enabled=False)
    await app.ask("restore_definition", record_id=(await newest(app))["id"])
    rule = await app.ask("get_rule", rule_id="rule")
    assert (rule["when"], rule["enabled"]) == ("true", True)


async def test_what_has_no_definition_is_refused_with_a_sentence(app: ApplicationFixture) -> None:
    await app.job()
    with pytest.raises(Conflict, match="has no definition"):
        await app.ask("restore_definition", record_id=(await newest(app))["id"])
    await app.ask("put_user", user_id="ada")
    with pytest.raises(Conflict, match="about a user"):
        await app.ask("restore_definition", record_id=(await newest(app))["id"])


async def test_a_definition_that_is_too_long_is_not_kept(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint(target=A_TARGET | {"method": "POST", "body": "x" * 100_000})
    await app.ask("delete_endpoint", endpoint_id="traffic")
    record = await newest(app)
    assert record["definition"] is None
    assert len(differences(record)["target.body"][0]) < 3_000


def test_of_many_changed_fields_the_first_are_kept_and_the_rest_counted() -> None:
    changes = field_changes({}, {f"f{number}": number for number in range(MOST_CHANGES + 5)})
    assert len(changes) == MOST_CHANGES + 1
    assert changes[-1].after == "5 more fields differ."


def test_a_definition_without_headers_stays_as_it_is() -> None:
    assert without_header_values({"target": {"kind": "callable"}}) == {"target": {"kind": "callable"}}
