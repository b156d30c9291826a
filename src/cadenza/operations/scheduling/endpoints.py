"""Operations that create, list, change and delete endpoints."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from cadenza.domain.access.key import Scope
from cadenza.domain.access.tenant import Limits
from cadenza.domain.agents.schedule_protection import refuse_id_of_schedule, refuse_schedule
from cadenza.domain.errors import Conflict, InvalidRequest, NotFound
from cadenza.domain.planning.planner_limits import BOUNDS, why_not_changed
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.following import with_calendars_of
from cadenza.domain.scheduling.endpoint import Endpoint, Job, evolve
from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.nudge import plan_if_switched_on
from cadenza.domain.scheduling.policy import check_timeout
from cadenza.domain.scheduling.steer import (
    ChangedEndpoint,
    EndpointChange,
    HintRecord,
    archive,
    plan_first_run,
    redefine,
)
from cadenza.domain.scheduling.target import CallableTarget
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import part
from cadenza.operations.fields import Paged
from cadenza.operations.long_pages import LONGEST_PAGE, LONGEST_READ, one_more, read_page, size_of
from cadenza.operations.operation import CREATED, NO_CONTENT, Nothing, operation
from cadenza.operations.scheduling.endpoint_limit import apply_within_limit
from cadenza.operations.scheduling.endpoint_parts.baselines import check_baseline, with_named_calendars
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import (
    CALENDAR,
    apply_fields,
    changed_fields,
    known_calendars,
    resolve_shape,
)
from cadenza.operations.scheduling.endpoint_parts.commands import (
    CreateEndpoint,
    ListEndpoints,
    OneEndpoint,
    UpdateEndpoint,
)
from cadenza.operations.scheduling.endpoint_view import EndpointsPage, EndpointView, endpoint_view
from cadenza.operations.scheduling.parents import check_parent, check_parent_id
from cadenza.ports.catalog import (
    EVERY_ENDPOINT,
    Admission,
    EndpointFilter,
    Page,
)


def require_live(endpoint: Endpoint) -> Endpoint:
    """The endpoint; NotFound if it was deleted."""
    if endpoint.archived:
        raise NotFound(f"Endpoint {endpoint.id} not found.")
    return endpoint


def unless_archived(change: EndpointChange) -> EndpointChange:
    """The change, or NotFound in the same commit if the endpoint was deleted."""
    return lambda endpoint: change(require_live(endpoint))


MAY_BE_NULL = frozenset({"description", "parent_id", "limit_key"})
PARTS = ("target", "baseline", "guard", "policy", "planning")
UNSAVED, UNSAVED_NAME = "-", "This target"


@operation("POST /v1/jobs/{job_id}/endpoints", Scope.WRITE, status=CREATED)
async def create_endpoint(context: RequestContext, command: CreateEndpoint) -> EndpointView:
    """Create an endpoint in a job. Its first run is one interval away, or at once with `start_now`."""
    limits = (await context.store.tenants.tenant(context.tenant_id)).limits
    parts = {name: part(name, getattr(command, name).to_domain) for name in PARTS}
    parts = await with_named_calendars(context, parts)
    new = new_endpoint(
        context, command, parts | {"calendar_rules": await resolve_shape(context, command.calendar)}
    )
    job = await context.store.catalog.job(context.tenant_id, command.job_id)
    wanted = within_limits(context, with_calendars_of(new, job), limits)
    await check_parent(context, wanted)
    planned = plan_first_run(wanted, **context.dependencies.planning_context(), start_now=command.start_now)
    try:
        await context.store.endpoints.add(planned, Admission(known_job=True, most=limits.endpoints))
    except Conflict:
        await apply_within_limit(
            context, planned.id, lambda old: recreated(old, planned), most=limits.endpoints
        )
    context.trail.note_endpoint(None, planned)
    return EndpointView.of(await context.store.endpoints.get(planned.key))


def new_endpoint(context: RequestContext, command: CreateEndpoint, parts: Mapping[str, Any]) -> Endpoint:
    """The endpoint of a command and its parts, not planned yet."""
    return Endpoint(
        id=command.id or context.dependencies.ids.new(),
        name=command.name,
        job_id=command.job_id,
        tenant_id=context.tenant_id,
        description=command.description,
        hint_mode=command.hint_mode,
        enabled=command.enabled,
        labels=command.labels,
        severity=command.severity,
        parent_id=command.parent_id,
        limit_key=command.limit_key,
        priority=command.priority,
        created_at=context.dependencies.clock.now(),
        **parts,
    )


def unsaved_endpoint(context: RequestContext, **parts: Any) -> Endpoint:
    """An endpoint that is not stored, with these parts; its id is one that no stored endpoint can have."""
    given = {"target": CallableTarget(), "baseline": Every(60_000), **parts}
    return Endpoint(id=UNSAVED, name=UNSAVED_NAME, job_id=UNSAVED, tenant_id=context.tenant_id, **given)


def within_limits(
    context: RequestContext, endpoint: Endpoint, limits: Limits, *, before: Endpoint | None = None
) -> Endpoint:
    """The endpoint within its tenant's limits and the operator's, with a checked baseline.

    A baseline that it had before is not checked: the calendar of a day part may be over by now.
    """
    if before is None or endpoint.baseline != before.baseline:
        part("baseline", partial(check_baseline, endpoint.baseline, context))
    old = None if before is None else before.policy
    policy = check_timeout(endpoint.policy, context.dependencies.max_timeout_ms, old)
    return limits.apply_to(endpoint if policy is endpoint.policy else evolve(endpoint, policy=policy))


def recreated(old: Endpoint, wanted: Endpoint) -> ChangedEndpoint:
    """A deleted endpoint that is created again with its id: a new one, with the old one's history."""
    refuse_id_of_schedule(old)
    if not old.archived or old.lease is not None:
        raise Conflict(f"There is an endpoint {old.id} already.")
    return ChangedEndpoint(evolve(wanted, job_active=old.job_active, last_run_at=old.last_run_at))


async def find_page(
    context: RequestContext,
    command: Paged,
    wanted: EndpointFilter = EVERY_ENDPOINT,
    *,
    longest: int = LONGEST_READ,
) -> tuple[list[Endpoint], str | None]:
    """A page of endpoints, and where the next one begins; it ends early if their targets are long."""

    async def find(page: Page) -> list[Endpoint]:
        return await context.store.catalog.find(context.tenant_id, wanted=wanted, page=page)

    page = Page(command.limit, command.cursor)
    return await read_page(one_more(find), page, lambda one: size_of(one.target), longest=longest)


@operation("GET /v1/endpoints", Scope.READ)
async def list_endpoints(context: RequestContext, command: ListEndpoints) -> EndpointsPage:
    """List endpoints, all or those of a job or with labels, in the order of their ids."""
    endpoints, cursor = await find_page(context, command, command.wanted(), longest=LONGEST_PAGE)
    return EndpointsPage(items=[EndpointView.of(one) for one in endpoints], next_cursor=cursor)


@operation("GET /v1/endpoints/{endpoint_id}", Scope.READ)
async def get_endpoint(context: RequestContext, command: OneEndpoint) -> EndpointView:
    """Show one endpoint: its definition and its current state."""
    return endpoint_view(require_live(await context.store.endpoints.get(context.key(command.endpoint_id))))


@operation("PATCH /v1/endpoints/{endpoint_id}", Scope.WRITE)
async def update_endpoint(context: RequestContext, command: UpdateEndpoint) -> EndpointView:
    """Change an endpoint. It keeps its state, and its next run is recalculated at once."""
    limits = (await context.store.tenants.tenant(context.tenant_id)).limits
    changes = await with_named_calendars(context, _changes(command))
    job: Job | None = None
    if "job_id" in changes:
        job = await context.store.catalog.job(context.tenant_id, changes["job_id"])
    if changes.get("parent_id") is not None:
        await check_parent_id(context, command.endpoint_id, changes["parent_id"])
    calendars, fields = await known_calendars(context, command.calendar), changed_fields(command)
    planning, origin = context.dependencies.planning_context(), context.caller.origin

    def change(endpoint: Endpoint) -> ChangedEndpoint:
        refuse_schedule(endpoint)  # Before its parts are put together, which may not fit a schedule.
        asked = changes | _changed_rules(endpoint, fields, calendars)
        refused = why_not_changed(endpoint, asked, origin, into_active=job is None or job.active)
        allowed = {name: value for name, value in asked.items() if name not in refused}
        wanted = within_limits(context, replace(endpoint, **allowed), limits, before=endpoint)
        if job is not None and wanted.job_id == job.id:
            wanted = with_calendars_of(wanted, job)
        redefined = redefine(endpoint, wanted, **planning)
        active = job.active if job is not None and wanted.job_id == job.id else endpoint.job_active
        switched = evolve(redefined.endpoint, enabled=wanted.enabled, job_active=active)
        planned = redefined._replace(endpoint=plan_if_switched_on(endpoint, switched, **planning))
        return _with_refused(planned, refused, by=origin, now=planning["now"])

    changed = await apply_within_limit(
        context, command.endpoint_id, unless_archived(context.trail.noting(change)), most=limits.endpoints
    )
    return EndpointView.of(changed.endpoint, changed.note)


def _with_refused(
    changed: ChangedEndpoint, refused: Mapping[str, str], *, by: str, now: datetime
) -> ChangedEndpoint:
    """A change with a note of what was not applied; a switch that was not is also recorded."""
    if not refused:
        return changed
    because = " and ".join(refused.values())
    noted = changed._replace(note=f"Not applied, because {because}.")
    if refused.keys() <= BOUNDS.keys():
        return noted
    kind = HintKind.PAUSE if changed.endpoint.switched_on else HintKind.RESUME
    return noted._replace(record=HintRecord(kind, now, by, not_applied=because))


def _changed_rules(
    endpoint: Endpoint, fields: Mapping[str, Any] | None, calendars: Mapping[str, Calendar]
) -> dict[str, Any]:
    """The calendar rules with these fields changed, beside those of its job; nothing if none are given."""
    if fields is None:
        return {}
    return {"calendar_rules": apply_fields(endpoint.calendar_rules, fields, calendars)}


def _changes(command: UpdateEndpoint) -> dict[str, Any]:
    given = {name: getattr(command, name) for name in command.model_fields_set - {"endpoint_id", CALENDAR}}
    for name, value in given.items():
        if value is None and name not in MAY_BE_NULL:
            raise InvalidRequest(f"{name} cannot be null; leave it out to keep it.", name)
    return {name: part(name, value.to_domain) if name in PARTS else value for name, value in given.items()}


@operation("DELETE /v1/endpoints/{endpoint_id}", Scope.WRITE, status=NO_CONTENT)
async def delete_endpoint(context: RequestContext, command: OneEndpoint) -> Nothing:
    """Delete an endpoint. A run in flight completes; run history is kept until its retention ends."""
    change = unless_archived(context.trail.noting(partial(archive, now=context.dependencies.clock.now())))
    await context.store.endpoints.amend(context.key(command.endpoint_id), change)
    return Nothing()


ENDPOINTS = (create_endpoint, list_endpoints, get_endpoint, update_endpoint, delete_endpoint)
