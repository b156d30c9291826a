"""A tenant with one of everything."""

from datetime import timedelta
from functools import partial

from tests.surfaces.api_in_process import ApiInProcess
from tests.surfaces.operation_requests import A_CALENDAR, A_ROUTE, A_RULE, A_SCHEDULE, CHANNELS, TURN_TOKEN

from cadenza.domain.access.audit import AuditFilter
from cadenza.domain.agents.agent_turn import AgentTurn, TurnCall, TurnState, row_id, token_digest
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.monitoring.condition import ConditionKey, endpoint_condition, silence
from cadenza.testing.contracts.harness import Bench
from cadenza.testing.contracts.monitoring.conditions import apply, failed


async def create_everything(api: ApiInProcess, tenant_id: str) -> dict[str, str]:
    """A tenant with one of everything; the ids that it did not choose."""
    bench = Bench(api.store)
    await api.create_endpoint(tenant_id)
    await api.ask("POST /v1/endpoints/traffic/run-now", by=tenant_id)
    api.clock.jump(1)
    bench.clock = api.clock
    run = await bench.run_once()
    await api.create_heartbeat(tenant_id)
    assert (await api.ask("PUT /v1/secrets/SECRET", {"value": "x"}, by=tenant_id)).status == 204
    assert (await api.ask("POST /v1/rules", A_RULE, by=tenant_id)).status == 201
    assert (await api.ask("POST /v1/alert-routes", A_ROUTE, by=tenant_id)).status == 201
    condition = await _silenced_condition(api, tenant_id)
    made = await api.ask("POST /v1/keys", {"name": "other"}, by=tenant_id)
    assert (await api.ask("PUT /v1/users/ada", {}, by=tenant_id)).status == 200
    assert (await api.ask("PUT /v1/users/ada/channels", CHANNELS, by=tenant_id)).status == 200
    assert (await api.ask("PUT /v1/agents/helper", {"name": "Helper"}, by=tenant_id)).status == 200
    for put, body in (
        ("daily/users/ada", {"due_time": "07:30"}),
        ("daily/programmes/evening", {}),
        ("limits/job/job", {"max_in_flight": 100}),
        ("calendars/work", A_CALENDAR),
    ):
        assert (await api.ask(f"PUT /v1/{put}", body, by=tenant_id)).status == 200
    turn = await _held_turn(api, tenant_id, "held")
    planned = await api.ask("POST /v1/schedules", A_SCHEDULE, by=tenant_id)
    await api.ask("PATCH /v1/endpoints/traffic", {"description": "watched"}, by=tenant_id)
    missed = {"since": "2024-12-31T00:00:00Z", "limit": 1}
    assert (await api.ask("POST /v1/endpoints/traffic/backfill", missed, by=tenant_id)).status == 200
    (changed, *_) = await api.store.audit.records(tenant_id, wanted=AuditFilter(operation="update_endpoint"))
    return {
        "run_id": run.id,
        "key_id": made.json()["id"],
        "schedule_id": planned.json()["id"],
        "record_id": changed.id,
        "condition_id": condition.id,
        "turn_id": turn,
        "other_turn_id": await _held_turn(api, tenant_id, "other"),
    }


async def _held_turn(api: ApiInProcess, tenant_id: str, name: str) -> str:
    """A turn that an agent of the tenant's own has, with a call that is done."""
    await api.ask("PUT /v1/agents/puller", {"name": "Puller", "runtime": "pull"}, by=tenant_id)
    now, key = api.clock.now(), ConversationKey(tenant_id, "ada", "puller")
    turn = AgentTurn(
        id=row_id(key, name),
        conversation=key,
        payload={},
        created_at=now,
        expires_at=now + timedelta(days=1),
        state=TurnState.LEASED,
        token=token_digest(TURN_TOKEN),
        lease_until=now + timedelta(days=1),
        calls=(TurnCall("done", "list_schedules", {}, done=True, result=[]),),
    )
    return (await api.store.agent_turns.offer_turn(turn)).id


async def _silenced_condition(api: ApiInProcess, tenant_id: str) -> ConditionKey:
    """A condition that a model silenced, so that callers of every rank may change it."""
    await apply(api.store, failed("traffic", tenant_id=tenant_id))
    key, now = endpoint_condition(tenant_id, "traffic"), api.clock.now()
    change = partial(silence, until=now + timedelta(days=1), reason=None, now=now, by="llm:helper")
    await api.store.conditions.amend_condition(key, change, release_at=now)
    return key
