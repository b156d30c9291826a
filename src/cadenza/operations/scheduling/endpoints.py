"""Endpoints: created, listed, changed and deleted."""

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from cadenza.domain.access.key import Scope
from cadenza.domain.access.tenant import Limits
from cadenza.domain.errors import Conflict, InvalidRequest, NotFound
from cadenza.domain.scheduling.baseline import Cron
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange, plan_first_run, redefine
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Flag, Id, Labels, Name, Text
from cadenza.operations.operation import CREATED, NO_CONTENT, Command, Nothing, operation
from cadenza.operations.paging import Paged, split_page
from cadenza.operations.scheduling.endpoint_limit import amended
from cadenza.operations.scheduling.endpoint_view import EndpointsPage, EndpointView
from cadenza.operations.scheduling.schemas import (
    NO_GUARD,
    USUAL_PLANNING,
    USUAL_POLICY,
    BaselineShape,
    GuardShape,
    PlanningShape,
    PolicyShape,
    TargetShape,
    part,
)
from cadenza.ports.catalog import Admission, EndpointFilter


def archived(endpoint: Endpoint) -> ChangedEndpoint:
    """The endpoint out of sight: nothing of it is due any more, and what is in flight ends as it would."""
    return ChangedEndpoint(evolve(endpoint, archived=True))


def live(endpoint: Endpoint) -> Endpoint:
    """An endpoint that was not deleted; one that was is as little there as one that never was."""
    if endpoint.archived:
        raise NotFound(f"There is no endpoint {endpoint.id}.")
    return endpoint


def if_live(change: EndpointChange) -> EndpointChange:
    """A change that looks, in the same commit, whether the endpoint is still there."""
    return lambda endpoint: change(live(endpoint))


A_LABEL = r"^[^=\x00-\x1f\x7f]+=[^\x00-\x1f\x7f]*$"
Selector = Annotated[
    list[Annotated[str, Field(strict=True, pattern=A_LABEL, max_length=130)]], Field(max_length=8)
]
PARTS = ("target", "baseline", "guard", "policy", "planning")


class CreateEndpoint(Command):
    """A new endpoint of a job."""

    job_id: Id
    name: Name
    target: TargetShape
    baseline: BaselineShape
    id: Id | None = None
    """Chosen by you, or given."""
    guard: GuardShape = NO_GUARD
    hint_mode: HintMode = HintMode.OVERRIDE
    """Whether an interval hint takes the baseline's place, or can only tighten it."""
    description: Text | None = None
    policy: PolicyShape = USUAL_POLICY
    planning: PlanningShape = USUAL_PLANNING
    labels: Labels = {}
    enabled: Flag = True
    start_now: Flag = False
    """Due at once, instead of one interval from now."""


class OneEndpoint(Command):
    """The endpoint that is meant."""

    endpoint_id: Id


class UpdateEndpoint(OneEndpoint):
    """What is to be different; what is left out stays as it is."""

    name: Name | None = None
    job_id: Id | None = None
    target: TargetShape | None = None
    baseline: BaselineShape | None = None
    guard: GuardShape | None = None
    hint_mode: HintMode | None = None
    description: Text | None = None
    policy: PolicyShape | None = None
    planning: PlanningShape | None = None
    labels: Labels | None = None
    enabled: Flag | None = None


class Selected(Command):
    """Endpoints of a job, or with labels, or both."""

    job_id: Id | None = None
    label: Selector = []
    """`name=value`; all of them must be there."""

    def wanted(self) -> EndpointFilter:
        """What a store looks for."""
        return EndpointFilter(self.job_id, dict(label.split("=", 1) for label in self.label))


class ListEndpoints(Paged, Selected):
    """A part of the endpoints."""


@operation("POST /v1/jobs/{job_id}/endpoints", Scope.WRITE, status=CREATED)
async def create_endpoint(context: RequestContext, command: CreateEndpoint) -> EndpointView:
    """Create an endpoint in a job. Its first run is one interval away, or at once with `start_now`."""
    limits = (await context.store.tenants.tenant(context.tenant_id)).limits
    wanted = admitted(context, new_endpoint(context, command), limits)
    now, cron = context.dependencies.clock.now(), context.dependencies.cron
    planned = plan_first_run(wanted, now=now, cron=cron, start_now=command.start_now)
    try:
        await context.store.endpoints.add(planned, Admission(known_job=True, most=limits.endpoints))
    except Conflict:
        await amended(context, planned.id, lambda old: revived(old, planned), most=limits.endpoints)
    return EndpointView.of(await context.store.endpoints.get(planned.key))


def new_endpoint(context: RequestContext, command: CreateEndpoint) -> Endpoint:
    """The endpoint that a command spells, not planned yet."""
    return Endpoint(
        id=command.id or context.dependencies.ids.new(),
        name=command.name,
        job_id=command.job_id,
        tenant_id=context.tenant_id,
        description=command.description,
        hint_mode=command.hint_mode,
        enabled=command.enabled,
        labels=command.labels,
        created_at=context.dependencies.clock.now(),
        **{name: part(name, getattr(command, name).made) for name in PARTS},
    )


def admitted(context: RequestContext, endpoint: Endpoint, limits: Limits) -> Endpoint:
    """The endpoint inside its tenant's limits, with a cron line that fires."""
    if isinstance(endpoint.baseline, Cron):
        line = endpoint.baseline
        part("baseline", lambda: context.dependencies.cron.check(line.expression, line.timezone))
    return limits.admit(endpoint)


def revived(old: Endpoint, wanted: Endpoint) -> ChangedEndpoint:
    """A deleted endpoint created again under its old id: a new one, with the old one's history."""
    if not old.archived or old.lease is not None:
        raise Conflict(f"There is an endpoint {old.id} already.")
    return ChangedEndpoint(evolve(wanted, job_active=old.job_active, last_run_at=old.last_run_at))


@operation("GET /v1/endpoints", Scope.READ)
async def list_endpoints(context: RequestContext, command: ListEndpoints) -> EndpointsPage:
    """List endpoints, all or those of a job or with labels, in the order of their ids."""
    found = await context.store.catalog.find(context.tenant_id, wanted=command.wanted(), page=command.page())
    endpoints, more = split_page(found, command.limit)
    return EndpointsPage(
        items=[EndpointView.of(one) for one in endpoints], next_cursor=endpoints[-1].id if more else None
    )


@operation("GET /v1/endpoints/{endpoint_id}", Scope.READ)
async def get_endpoint(context: RequestContext, command: OneEndpoint) -> EndpointView:
    """Show one endpoint: what its owner wrote, and where it stands."""
    return EndpointView.of(live(await context.store.endpoints.get(context.key(command.endpoint_id))))


@operation("PATCH /v1/endpoints/{endpoint_id}", Scope.WRITE)
async def update_endpoint(context: RequestContext, command: UpdateEndpoint) -> EndpointView:
    """Change an endpoint. It goes on from where it stands, and is planned anew at once."""
    limits = (await context.store.tenants.tenant(context.tenant_id)).limits
    changes = _changes(command)
    if "job_id" in changes:
        await context.store.catalog.job(context.tenant_id, changes["job_id"])
    now, cron = context.dependencies.clock.now(), context.dependencies.cron

    def change(endpoint: Endpoint) -> ChangedEndpoint:
        wanted = admitted(context, replace(endpoint, **changes), limits)
        anew = redefine(endpoint, wanted, now=now, cron=cron)
        return anew._replace(endpoint=evolve(anew.endpoint, enabled=wanted.enabled))

    return EndpointView.of(
        await amended(context, command.endpoint_id, if_live(change), most=limits.endpoints)
    )


def _changes(command: UpdateEndpoint) -> dict[str, Any]:
    given = {name: getattr(command, name) for name in command.model_fields_set - {"endpoint_id"}}
    for name, value in given.items():
        if value is None and name != "description":
            raise InvalidRequest(f"{name} cannot be null; leave it out to keep it.", name)
    return {name: part(name, value.made) if name in PARTS else value for name, value in given.items()}


@operation("DELETE /v1/endpoints/{endpoint_id}", Scope.WRITE, status=NO_CONTENT)
async def delete_endpoint(context: RequestContext, command: OneEndpoint) -> Nothing:
    """Delete an endpoint. A run that is in flight ends as it would; its history stays as long as runs do."""
    await context.store.endpoints.amend(context.key(command.endpoint_id), if_live(archived))
    return Nothing()


ENDPOINTS = (create_endpoint, list_endpoints, get_endpoint, update_endpoint, delete_endpoint)
