"""Every operation that changes something leaves an audit record: a walk over the table of operations."""

import json
from typing import Any

import pytest
from tests.surfaces.api_in_process import ApiInProcess
from tests.surfaces.operation_requests import NAMES, SERVED, body_of, request_of
from tests.surfaces.tenant_with_everything import create_everything

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.access.audit import AuditFilter, AuditOutcome, AuditRecord
from cadenza.domain.access.key import Caller, Scope, Surface
from cadenza.operations.agents.agent_turns import AGENT_TURNS
from cadenza.operations.operation import AnyOperation, Route
from cadenza.operations.table import OPERATIONS
from cadenza.testing import FakeIds

TENANT = "north"
SUBJECTS = {
    "create_heartbeat_token": "endpoint",
    "create_key": "key",
    "create_login_link": "login_link",
    "create_schedule": "schedule",
    "delete_daily_user": "daily_user",
    "put_daily_users": "daily_user",
    "put_secret": "secret",
    "restore_definition": "endpoint",
    "test_endpoint": "endpoint",
    "test_target": "target",
    "create_user_token": "user",
}
A_CONFIG: dict[str, Any] = {"version": 1, "jobs": [{"id": "applied", "name": "applied", "endpoints": []}]}
CONFIGS: dict[str, dict[str, Any]] = {
    "apply_config": A_CONFIG,
    "apply_config_file": {"text": json.dumps(A_CONFIG)},
}
SECRET = "very secret"


@pytest.fixture
def api() -> ApiInProcess:
    return ApiInProcess(MemoryStore(FakeIds()))


async def records_of(api: ApiInProcess, operation: str, tenant_id: str = TENANT) -> list[AuditRecord]:
    return await api.store.audit.records(tenant_id, wanted=AuditFilter(operation=operation))


@pytest.mark.parametrize(("operation", "route"), SERVED, ids=NAMES)
async def test_whatever_writes_is_recorded_once_and_whatever_reads_is_not(
    api: ApiInProcess, operation: AnyOperation, route: Route
) -> None:
    ids = await create_everything(api, TENANT)
    before = {one.id for one in await api.store.audit.records(TENANT)}
    body = CONFIGS.get(operation.name) or body_of(operation, route)
    answer = await api.ask(request_of(route, **ids), body, by=TENANT)
    new = [one for one in await api.store.audit.records(TENANT) if one.id not in before]
    if not operation.audited:
        assert new == []
        return
    assert answer.status < 400, answer.body
    assert {one.operation for one in new} == {operation.name}
    assert {(one.actor.surface, one.outcome) for one in new} == {(Surface.REST, AuditOutcome.DONE)}
    assert all(one.actor.who.startswith("key:") and one.actor.name for one in new)
    assert new[0].subject_kind == SUBJECTS.get(operation.name, new[0].subject_kind)
    assert SECRET not in str(new)


def test_what_is_not_recorded_has_its_reason() -> None:
    of_turns = {one.name for one in AGENT_TURNS if one.writes}
    assert {one.name for one in OPERATIONS if one.unaudited} == {"send_message"} | of_turns


async def test_limits_are_recorded_for_the_tenant_that_they_bind(api: ApiInProcess) -> None:
    operator = Caller("default", frozenset(Scope), "cli", surface=Surface.CLI)
    await api.application.ask("set_limits", {"tenant_id": "north", "endpoints": 5}, operator)
    (record,) = await records_of(api, "set_limits")
    assert (record.subject_kind, record.subject_id, record.actor.surface) == ("tenant", "north", Surface.CLI)
    assert ("endpoints", None, 5) in record.changes
    assert await records_of(api, "set_limits", "default") == []
