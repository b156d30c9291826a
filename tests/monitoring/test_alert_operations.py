"""Operations on conditions, routes and parents: what they answer, refuse and record, tenant by tenant."""

from typing import Any

import pytest
from tests.operation_fixtures import EVERYTHING, ApplicationFixture, app

from cadenza.domain.access.key import Caller
from cadenza.domain.errors import Conflict, InvalidRequest, NotAllowed, NotFound
from cadenza.testing.contracts.monitoring.conditions import apply, failed, recovered

__all__ = ["app"]
ROUTE: dict[str, Any] = {
    "id": "team",
    "name": "Team",
    "channel": {"type": "slack", "url": "https://hooks.example/T0/s3cret"},
    "match": {"labels": {"team": "web"}, "severities": ["critical"]},
}
SHOWN = "https://hooks.example/***/***"


async def test_a_condition_is_listed_counted_and_changed_by_its_tenant(app: ApplicationFixture) -> None:
    await apply(app.store, failed("a"), failed("b", job_id="desk"), failed("c", tenant_id="south"))
    page = await app.ask("list_conditions", by="north", limit=1)
    assert len(page["items"]) == 1
    rest = await app.ask("list_conditions", by="north", cursor=page["next_cursor"])
    found = {one["endpoint_id"]: one for one in [*page["items"], *rest["items"]]}
    assert set(found) == {"a", "b"}
    assert (found["a"]["state"], found["a"]["severity"], found["a"]["kind"]) == (
        "firing",
        "critical",
        "endpoint",
    )
    one = found["a"]["id"]
    taken = await app.ask("acknowledge_condition", by="north", condition_id=one, note="I look")
    assert (taken["state"], taken["acknowledged_by"], taken["note"]) == ("acknowledged", "test", "I look")
    other = found["b"]["id"]
    quiet = await app.ask("silence_condition", by="north", condition_id=other, minutes=60, reason="work")
    assert (quiet["state"], quiet["silenced_until"]) == ("silenced", "2025-01-01T01:00:00Z")
    counts = await app.ask("count_conditions", by="north")
    assert counts == {"firing": 0, "acknowledged": 1, "silenced": 1}
    loud = await app.ask("unsilence_condition", by="north", condition_id=other)
    assert (loud["state"], loud["silence_reason"]) == ("firing", None)
    listed = await app.ask("list_conditions", by="north", state="firing", job_id="desk")
    assert [one["endpoint_id"] for one in listed["items"]] == ["b"]


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("acknowledge_condition", {}),
        ("silence_condition", {"minutes": 5}),
        ("unsilence_condition", {}),
    ],
)
async def test_a_condition_of_another_tenant_is_not_found(
    app: ApplicationFixture, operation: str, arguments: dict[str, Any]
) -> None:
    await apply(app.store, failed("a"))
    (one,) = await app.store.conditions.conditions("north")
    with pytest.raises(NotFound):
        await app.ask(operation, by="south", condition_id=one.id, **arguments)
    assert await app.store.conditions.conditions("north") == [one]
    assert (await app.ask("list_conditions", by="south"))["items"] == []


async def test_what_is_over_cannot_be_acknowledged(app: ApplicationFixture) -> None:
    await apply(app.store, failed("a"), recovered("a", 1))
    (one,) = await app.store.conditions.conditions("north")
    with pytest.raises(Conflict):
        await app.ask("acknowledge_condition", by="north", condition_id=one.id)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"minutes": 5, "until": "2025-01-01T01:00:00Z"}, {"until": "2024-01-01T00:00:00Z"}],
)
async def test_a_silence_has_one_end_in_the_future(
    app: ApplicationFixture, arguments: dict[str, Any]
) -> None:
    await apply(app.store, failed("a"))
    (one,) = await app.store.conditions.conditions("north")
    with pytest.raises(InvalidRequest):
        await app.ask("silence_condition", by="north", condition_id=one.id, **arguments)


async def test_the_address_of_a_route_is_never_shown_and_may_be_written_back(app: ApplicationFixture) -> None:
    made = await app.ask("create_alert_route", **ROUTE)
    assert made["channel"]["url"] == SHOWN
    listed = await app.ask("list_alert_routes")
    changed = await app.ask(
        "update_alert_route", route_id="team", channel={"type": "slack", "url": SHOWN}, name="Other"
    )
    exported = await app.ask("export_config")
    records = await app.store.audit.records("default")
    assert "s3cret" not in repr((made, listed, changed, exported, records))
    stored = await app.store.alert_routes.route("default", "team")
    assert (stored.name, stored.channel.url) == ("Other", ROUTE["channel"]["url"])
    assert len(records) == 2


async def test_a_hidden_address_is_refused_where_none_is_stored(app: ApplicationFixture) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await app.ask("create_alert_route", **ROUTE | {"channel": {"type": "slack", "url": SHOWN}})
    assert refused.value.field == "channel.url"


async def test_a_route_of_another_tenant_is_neither_seen_changed_nor_tried(app: ApplicationFixture) -> None:
    await app.ask("create_alert_route", **ROUTE)
    assert (await app.ask("list_alert_routes", by="north"))["items"] == []
    for operation in ("update_alert_route", "delete_alert_route", "test_alert_route"):
        with pytest.raises(NotFound):
            await app.ask(operation, by="north", route_id="team")
    assert app.channels.sent == []


async def test_a_test_message_is_sent_once_and_its_problem_told(app: ApplicationFixture) -> None:
    await app.ask("create_alert_route", **ROUTE)
    assert await app.ask("test_alert_route", route_id="team") == {"accepted": True, "problem": None}
    app.channels.problem = "answered 500"
    tried = await app.ask("test_alert_route", route_id="team")
    assert tried == {"accepted": False, "problem": "answered 500"}
    assert [route for route, _ in app.channels.sent] == ["team"]


async def test_an_endpoint_depends_on_one_that_exists_and_never_on_itself_around(
    app: ApplicationFixture,
) -> None:
    await app.job()
    await app.endpoint("a", severity="critical")
    await app.endpoint("b", parent_id="a")
    await app.endpoint("c", parent_id="b")
    for name, parent in (("a", "a"), ("a", "b"), ("a", "c"), ("a", "none")):
        with pytest.raises(InvalidRequest) as refused:
            await app.ask("update_endpoint", endpoint_id=name, parent_id=parent)
        assert refused.value.field == "parent_id"
    await app.job("theirs", by="north")
    with pytest.raises(InvalidRequest):
        await app.endpoint("d", by="north", job_id="theirs", parent_id="a")
    freed = await app.ask("update_endpoint", endpoint_id="b", parent_id=None)
    assert freed["parent_id"] is None
    shown = await app.ask("get_endpoint", endpoint_id="a")
    assert (shown["severity"], shown["parent_id"]) == ("critical", None)


def a_file(**more: Any) -> dict[str, Any]:
    target = {"kind": "http", "url": "https://a.example"}
    endpoints = [
        {"id": "a", "target": target, "baseline": "every 1m", "severity": "critical"},
        {"id": "b", "target": target, "baseline": "every 1m", "parent_id": "a"},
    ]
    return {"version": 1, "jobs": [{"id": "job", "endpoints": endpoints}], **more}


async def test_routes_severities_and_parents_are_applied_exported_and_compared(
    app: ApplicationFixture,
) -> None:
    applied = await app.ask("apply_config", **a_file(alert_routes=[ROUTE]))
    assert [(one["action"], one["kind"]) for one in applied["changes"]][-1] == ("create", "alert_route")
    exported = await app.ask("export_config")
    assert exported["alert_routes"][0]["channel"]["url"] == SHOWN
    written = {name: value for name, value in exported.items() if value is not None}
    again = await app.ask("apply_config", **_without_nulls(written))
    assert again["changes"] == []
    named = {**ROUTE, "name": "Other", "channel": {"type": "slack", "url": "https://hooks.example/new"}}
    changed = await app.ask("apply_config", **a_file(alert_routes=[named]))
    (difference,) = changed["changes"]
    assert [one["field"] for one in difference["fields"]] == ["name", "channel"]
    assert "s3cret" not in repr(changed)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(part) for name, part in value.items() if part is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


async def test_routes_stay_unless_a_file_names_routes_and_prunes(app: ApplicationFixture) -> None:
    await app.ask("create_alert_route", **ROUTE)
    await app.ask("apply_config", **a_file(), prune=True)
    await app.ask("apply_config", **a_file(alert_routes=[]))
    assert len((await app.ask("list_alert_routes"))["items"]) == 1
    pruned = await app.ask("apply_config", **a_file(alert_routes=[]), prune=True)
    assert [(one["action"], one["kind"]) for one in pruned["changes"]] == [("delete", "alert_route")]
    assert (await app.ask("list_alert_routes"))["items"] == []


async def test_what_was_exported_after_a_parent_was_deleted_can_be_applied(app: ApplicationFixture) -> None:
    await app.ask("apply_config", **a_file())
    await app.ask("delete_endpoint", endpoint_id="a")
    exported = _without_nulls(await app.ask("export_config"))
    assert (await app.ask("apply_config", **exported))["changes"] == []
    (child,) = exported["jobs"][0]["endpoints"]
    exported["jobs"][0]["endpoints"] = [{**child, "id": "new"}]
    with pytest.raises(InvalidRequest):
        await app.ask("apply_config", **exported)


async def test_what_depends_on_a_deleted_endpoint_can_be_changed_and_restored(
    app: ApplicationFixture,
) -> None:
    await app.ask("apply_config", **a_file())
    await app.ask("delete_endpoint", endpoint_id="a")
    changed = await app.ask("update_endpoint", endpoint_id="b", name="Child", parent_id="a")
    assert (changed["name"], changed["parent_id"]) == ("Child", "a")
    record = (await app.ask("list_audit", limit=1))["items"][0]
    await app.ask("restore_definition", record_id=record["id"])
    assert (await app.ask("get_endpoint", endpoint_id="b"))["name"] == "b"
    with pytest.raises(InvalidRequest):
        await app.endpoint("new", job_id="job", parent_id="a")


async def test_a_model_silences_for_a_while_and_leaves_what_a_person_silenced(
    app: ApplicationFixture,
) -> None:
    await apply(app.store, failed("shop"))
    (condition,) = (await app.ask("list_conditions", by="north"))["items"]

    async def ask_as(origin: str, operation: str, **arguments: Any) -> None:
        caller = Caller("north", EVERYTHING, origin)
        await app.application.ask(operation, {"condition_id": condition["id"], **arguments}, caller)

    model, person = "llm:key:model", "key:person"
    with pytest.raises(NotAllowed):
        await ask_as(model, "silence_condition", minutes=24 * 60 + 1)
    await ask_as(model, "silence_condition", minutes=24 * 60)
    await ask_as(model, "unsilence_condition")
    await ask_as(model, "silence_condition", minutes=5)
    await ask_as(person, "silence_condition", minutes=48 * 60)
    for operation, arguments in (("silence_condition", {"minutes": 1}), ("unsilence_condition", {})):
        with pytest.raises(NotAllowed) as refused:
            await ask_as(model, operation, **arguments)
        assert "ranks higher" in refused.value.message
    await ask_as(person, "unsilence_condition")
    await ask_as(model, "silence_condition", minutes=1)


LIMIT = {"kind": "job", "name": "job", "max_in_flight": 1}


@pytest.mark.parametrize("more", [{"alert_routes": [ROUTE]}, {"limits": [LIMIT]}])
async def test_a_model_changes_no_route_and_no_limit_by_a_file(
    app: ApplicationFixture, more: dict[str, Any]
) -> None:
    async def apply_as(origin: str, **changes: Any) -> Any:
        caller = Caller("default", EVERYTHING, origin)
        return await app.application.ask("apply_config", a_file(**changes), caller)

    with pytest.raises(NotAllowed) as refused:
        await apply_as("llm:key:model", **more)
    with pytest.raises(NotAllowed):
        await apply_as("llm:key:model", **more, dry_run=True)
    assert "cannot be changed by a model" in refused.value.message
    with pytest.raises(NotFound):
        await app.ask("get_endpoint", endpoint_id="a")
    await apply_as("llm:key:model")
    await apply_as("key:person", **more)
    await apply_as("program:shop", **more)
    await apply_as("llm:key:model", **more)
    with pytest.raises(NotAllowed):
        await apply_as("llm:key:model", **{name: [] for name in more}, prune=True)


async def test_a_file_whose_endpoints_depend_on_each_other_around_is_refused(app: ApplicationFixture) -> None:
    circle = a_file()
    circle["jobs"][0]["endpoints"][0]["parent_id"] = "b"
    with pytest.raises(InvalidRequest) as refused:
        await app.ask("apply_config", **circle)
    assert refused.value.field == "jobs.0.endpoints.0.parent_id"
    await app.ask("apply_config", **a_file())
    outside = a_file(
        jobs=[{"id": "other", "endpoints": [{**a_file()["jobs"][0]["endpoints"][1], "id": "c"}]}]
    )
    await app.ask("apply_config", **outside)
    outside["jobs"][0]["endpoints"][0]["parent_id"] = "none"
    with pytest.raises(InvalidRequest):
        await app.ask("apply_config", **outside)
