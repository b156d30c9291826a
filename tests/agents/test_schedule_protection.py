"""Agent schedules are changed by the operations for schedules alone, whatever else is asked for."""

import inspect
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, get_type_hints

import pytest
from tests.agents.agent_fixtures import ADA, TENANT, AgentFixture
from tests.operation_fixtures import A_TARGET, EVERY_MINUTE
from tests.surfaces.operation_requests import BODIES

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.access.key import Scope
from cadenza.domain.agents.schedule_protection import SCHEDULES_JOB
from cadenza.domain.errors import CadenzaError, Conflict, InvalidRequest
from cadenza.domain.scheduling import steer
from cadenza.domain.scheduling.baseline import Cron
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, evolve
from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.engine.steering import COMMANDS
from cadenza.operations.operation import AnyOperation
from cadenza.operations.table import OPERATIONS

NOW = datetime(2030, 1, 1, tzinfo=UTC)
RULE: dict[str, Any] = {
    "name": "a rule",
    "when": "true",
    "then": {"tool": "propose_interval", "intervalMs": 1_000},
}
PROMPT = {"kind": "prompt", "agent_id": "helper", "user_id": ADA, "prompt": "Go."}
TOOLS: dict[str, dict[str, Any]] = {
    "propose_interval": {"intervalMs": 1_000},
    "propose_next_time": {"nextRunInMs": 1_000},
    "pause_until": {"untilIso": "2030-01-01T00:00:00Z"},
}
PLACES = ("endpoint_id", "job_id", "label")
NAMES_AN_OPERATION = "(create|update|delete)_schedule"


def about(field: str) -> list[AnyOperation]:
    return [one for one in OPERATIONS if field in one.command.model_fields]


CHANGING_JOBS = [one for one in about("job_id") if one.name != "create_rule"]
"""A rule of that job steers the looks of probes, and nothing else."""


@pytest.fixture
async def agents() -> AgentFixture:
    fixture = await AgentFixture().open()
    await fixture.ask("create_job", id="job", name="job")
    await fixture.ask(
        "create_endpoint", job_id="job", id="traffic", name="traffic", target=A_TARGET, baseline=EVERY_MINUTE
    )
    return fixture


@pytest.fixture
async def schedule_id(agents: AgentFixture) -> str:
    made = await agents.schedule(schedule_type="recurring", cron_expression="*/10 * * * *")
    return str(made["id"])


async def everything(agents: AgentFixture, schedule_id: str) -> object:
    """All that must stay as it is: the schedule, its job, and the rules about both."""
    job = await agents.store.catalog.job(TENANT, SCHEDULES_JOB)
    return await agents.endpoint(schedule_id), job, await agents.store.rules.rules(TENANT)


async def refused(agents: AgentFixture, operation: AnyOperation, arguments: Mapping[str, Any]) -> None:
    """What reads may answer; whatever changes anything is refused with the name of the right operation."""
    body = BODIES.get(operation.name, {})
    given = {**{name: value for name, value in body.items() if name not in PLACES}, **arguments}
    given |= {name: "traffic" for name in ("endpoint_id",) if name in needed(operation) - given.keys()}
    given |= {name: "job" for name in ("job_id",) if name in needed(operation) - given.keys()}
    if operation.scope is Scope.READ:
        try:
            await agents.ask(operation.name, **given)
        except CadenzaError:
            return
    else:
        with pytest.raises((Conflict, InvalidRequest), match=NAMES_AN_OPERATION):
            await agents.ask(operation.name, **given)


def needed(operation: AnyOperation) -> set[str]:
    return {name for name, field in operation.command.model_fields.items() if field.is_required()}


@pytest.mark.parametrize("operation", about("endpoint_id"), ids=lambda one: one.name)
async def test_no_operation_for_endpoints_changes_a_schedule(
    agents: AgentFixture, schedule_id: str, operation: AnyOperation
) -> None:
    before = await everything(agents, schedule_id)
    if operation.name == "update_rule":
        await agents.ask("create_rule", id="rule", job_id="job", **RULE)
        before = await everything(agents, schedule_id)
        with pytest.raises(InvalidRequest, match=r"Endpoint .* not found"):
            await agents.ask("update_rule", rule_id="rule", endpoint_id=schedule_id)
    elif operation.name == "create_rule":
        with pytest.raises(InvalidRequest, match=r"Endpoint .* not found"):
            await agents.ask("create_rule", job_id="job", endpoint_id=schedule_id, **RULE)
    else:
        await refused(agents, operation, {"endpoint_id": schedule_id})
    assert await everything(agents, schedule_id) == before


@pytest.mark.parametrize("operation", CHANGING_JOBS, ids=lambda one: one.name)
async def test_no_operation_for_jobs_changes_the_job_of_the_schedules(
    agents: AgentFixture, schedule_id: str, operation: AnyOperation
) -> None:
    before = await everything(agents, schedule_id)
    await refused(agents, operation, {"job_id": SCHEDULES_JOB})
    assert await everything(agents, schedule_id) == before


@pytest.mark.parametrize("operation", about("labels"), ids=lambda one: one.name)
async def test_no_endpoint_becomes_a_prompt(agents: AgentFixture, operation: AnyOperation) -> None:
    before = await agents.endpoint("traffic")
    ids = {"endpoint_id": "traffic"} if "endpoint_id" in needed(operation) else {"job_id": "job"}
    with pytest.raises(InvalidRequest, match="create_schedule") as caught:
        await agents.ask(operation.name, **(BODIES.get(operation.name, {}) | ids | {"target": PROMPT}))
    assert caught.value.field == "target"
    assert await agents.endpoint("traffic") == before
    assert await agents.schedules() == []


async def test_the_job_of_the_schedules_is_created_with_the_first_of_them_alone(agents: AgentFixture) -> None:
    with pytest.raises(Conflict, match="create_schedule"):
        await agents.ask("create_job", id=SCHEDULES_JOB, name="mine")


async def test_no_file_has_a_prompt(agents: AgentFixture) -> None:
    entry = {"id": "ask", "target": PROMPT, "baseline": "every 1m"}
    with pytest.raises(InvalidRequest, match="create_schedule"):
        await agents.ask("apply_config", version=1, jobs=[{"id": "job", "endpoints": [entry]}])


async def test_the_id_of_a_deleted_schedule_is_not_given_to_an_endpoint(
    agents: AgentFixture, schedule_id: str
) -> None:
    await agents.ask("delete_schedule", schedule_id=schedule_id)
    given: dict[str, Any] = {"id": schedule_id, "name": "mine", "target": A_TARGET, "baseline": EVERY_MINUTE}
    with pytest.raises(InvalidRequest, match="use another id"):
        await agents.ask("create_endpoint", job_id="job", **given)


async def test_a_new_baseline_is_refused_with_the_same_sentence(
    agents: AgentFixture, schedule_id: str
) -> None:
    with pytest.raises(Conflict, match="delete_schedule"):
        await agents.ask("update_endpoint", endpoint_id=schedule_id, baseline=EVERY_MINUTE)


async def test_bulk_steering_leaves_schedules_alone(agents: AgentFixture, schedule_id: str) -> None:
    await agents.ask("update_endpoint", endpoint_id="traffic", labels={"team": "web"})
    await agents.store.endpoints.amend(
        EndpointKey(TENANT, schedule_id), lambda one: ChangedEndpoint(evolve(one, labels={"team": "web"}))
    )
    before = await agents.endpoint(schedule_id)
    paused = await agents.ask("pause_endpoints", label=["team=web"], untilIso="2030-01-01T00:00:00Z")
    assert paused == {"endpoints": 1, "not_applied": 0}
    assert await agents.endpoint(schedule_id) == before
    assert (await agents.endpoint("traffic")).paused_until is not None


@pytest.mark.parametrize("tool", COMMANDS)
async def test_no_planner_rule_or_program_steers_a_schedule(
    agents: AgentFixture, schedule_id: str, tool: str
) -> None:
    """All of them steer with `Steering`."""
    before = await agents.endpoint(schedule_id)
    tools = agents.dependencies.steering.tools(before.key, origin="planner:rules")
    with pytest.raises(Conflict, match="delete_schedule"):
        await tools[tool].execute(TOOLS[tool])
    assert await agents.endpoint(schedule_id) == before
    assert await agents.store.runs.hints(before.key) == []


def changes() -> Iterator[Any]:
    """The functions of the domain by which owners and planners change an endpoint."""
    for name, function in inspect.getmembers(steer, inspect.isfunction):
        own = function.__module__ == steer.__name__ and not name.startswith("_")
        if own and get_type_hints(function).get("return") is ChangedEndpoint:
            yield pytest.param(function, id=name)


ARGUMENTS: dict[str, Any] = {
    "now": NOW,
    "cron": CronsimCron(),
    "origin": "test",
    "jitter_ms": 0,
    "until": NOW + timedelta(hours=1),
    "reason": None,
    "wanted": Endpoint(id="sched-a", name="a"),
    "hint": IntervalHint(1_000, NOW + timedelta(hours=1)),
}


@pytest.mark.parametrize("change", list(changes()))
def test_no_change_of_an_endpoint_is_made_to_a_schedule(change: Any) -> None:
    schedule = Endpoint(
        id="sched-a", name="a", target=PromptTarget("helper", ADA, "Go."), baseline=Cron("0 9 * * *")
    )
    wanted = list(inspect.signature(change).parameters)[1:]
    hint = OneShotHint(NOW, NOW + timedelta(hours=1)) if change is steer.take_one_shot else ARGUMENTS["hint"]
    with pytest.raises(Conflict, match=r"sched-a is a schedule of a user.*delete_schedule"):
        change(schedule, **{name: (ARGUMENTS | {"hint": hint})[name] for name in wanted})
