"""Operations that apply a configuration file, and export one."""

from asyncio import to_thread
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self, TypeVar

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from cadenza.domain.access.key import Scope
from cadenza.domain.channel import Channel
from cadenza.domain.errors import InvalidRequest, NotAllowed
from cadenza.domain.monitoring.alert_route import MOST_ROUTES, RouteMatch
from cadenza.domain.planning.rules.rule import Escalation, Rule
from cadenza.domain.scheduling.calendars.named_rules import NamedRules
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.domain.scheduling.hint import Rank, rank_of
from cadenza.engine.async_helpers import beside_event_loop
from cadenza.operations.access.limits import ConfigLimit
from cadenza.operations.config.alert_routes import config_routes
from cadenza.operations.config.calendars import (
    ChangedCalendars,
    calendar_changes,
    remove_calendars,
    stored_calendars,
    write_calendars,
)
from cadenza.operations.config.changes import Action, Decision, Difference, Intent, Kind
from cadenza.operations.config.difference import decide
from cadenza.operations.config.export import config_of
from cadenza.operations.config.limits import limit_differences, limits_of, with_limits, write_limits
from cadenza.operations.config.programmes import (
    programme_differences,
    stored_programmes,
    with_programmes,
    write_programmes,
)
from cadenza.operations.config.schemas import (
    MOST_ENDPOINTS,
    ConfigAlertRoute,
    ConfigDocument,
    ConfigJob,
)
from cadenza.operations.config.validation import calendar_ids_in, read_intent
from cadenza.operations.context import RequestContext
from cadenza.operations.daily.programme_schemas import ConfigProgramme
from cadenza.operations.fields import Flag
from cadenza.operations.long_pages import size_of
from cadenza.operations.monitoring.route_schemas import ChannelShape, MatchShape
from cadenza.operations.operation import Command, View, operation
from cadenza.operations.planning.rule_schemas import SHAPES, step_shape
from cadenza.operations.scheduling.calendars.config_schemas import ConfigCalendar
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import named_rules_shape
from cadenza.operations.scheduling.parents import parents_outside
from cadenza.operations.scheduling.schemas import KINDS, as_shape
from cadenza.ports.catalog import BulkChange, BulkState, Page

PART = 250
LONGEST_FILE = 1 << 23
NOT_FOR_MODELS = frozenset({"alert_route", "limit"})
Stored = TypeVar("Stored", Job, Endpoint, Rule)


class ApplyConfig(ConfigDocument):
    """A configuration, and how far to go with it."""

    dry_run: Flag = False
    """Report what would change, and change nothing."""
    prune: Flag = False
    """Delete endpoints and rules of the file's jobs that it does not name, and jobs that a file made and this
    one does not name, with all that is theirs. Jobs that were made otherwise are never deleted. If the file
    has `alert_routes`, `limits`, `calendars` or `programmes`, those that it does not name are deleted."""


class FieldView(View):
    """A field that an update changes."""

    field: str
    before: JsonValue
    after: JsonValue


class DifferenceView(View):
    """A job, an endpoint, a rule, a limit, a calendar or a daily programme that changes."""

    action: Action
    kind: Kind
    id: str
    fields: list[FieldView]
    """What an update changes."""

    @classmethod
    def of(cls, one: Difference) -> Self:
        """The view of a difference."""
        changed = [
            FieldView(field=name, before=_as_json(before), after=_as_json(after))
            for name, before, after in one.fields()
        ]
        return cls(action=one.action, kind=one.kind, id=one.id, fields=changed)


class AppliedView(View):
    """What a configuration changes, or would change."""

    applied: bool
    """False if it was only tried."""
    changes: list[DifferenceView]
    counts: dict[Action | Literal["unchanged"], int]
    """How many jobs, endpoints, rules and limits: each action, and what stays as it is."""

    @classmethod
    def of(cls, decision: Decision, *, applied: bool) -> Self:
        """The view of a decision."""
        counted = Counter(one.action for one in decision.differences)
        return cls(
            applied=applied,
            changes=[DifferenceView.of(one) for one in decision.differences],
            counts={**{action: counted[action] for action in Action}, "unchanged": decision.unchanged},
        )


class ExportConfig(Command):
    """Everything there is."""


class ConfigView(View):
    """Everything as a configuration that `apply_config` takes. Secrets are in it as references alone."""

    version: Literal[1]
    limits: list[ConfigLimit]
    calendars: list[ConfigCalendar] = []
    jobs: list[ConfigJob]
    alert_routes: list[ConfigAlertRoute] = []
    """Their addresses are written as they are shown; applied here, such an address means the stored one."""
    programmes: list[ConfigProgramme] = []
    """Daily programmes; `daily` only if something is stored about it."""


@operation("POST /v1/apply", Scope.WRITE, bulk=True, ranked=True)
async def apply_config(context: RequestContext, command: ApplyConfig) -> AppliedView:
    """Bring all that a configuration names to what it says, in one commit: all of it, or nothing.

    It names jobs with their endpoints and rules, alert routes, limits, calendars, and daily programmes.

    What it does not mention stays: hints, pauses, history, and jobs, endpoints and rules that it does
    not name, unless they are pruned. Endpoints that are running go on. Applied twice, it changes nothing.
    """
    calendars = await calendar_changes(context, command.calendars, prune=command.prune)
    intent = await _checked_intent(context, command, calendars)
    limits = await limit_differences(context, command.limits, prune=command.prune)
    programmes = await programme_differences(
        context, command.programmes, prune=command.prune, find=calendars.find
    )
    decide_now = partial(_decide, context, intent, calendars, limits)
    if calendars.written and not command.dry_run:
        await decide_now(dry_run=True)  # What is refused must not have written a calendar.
        await write_calendars(context, calendars)
    decision = await decide_now(dry_run=command.dry_run)
    _note(context, () if command.dry_run else decision.differences)
    await write_limits(context, () if command.dry_run else limits)
    await write_programmes(context, () if command.dry_run else programmes)
    await remove_calendars(context, () if command.dry_run else calendars.removed)
    decision = with_limits(calendars.added_to(decision), command.limits, limits)
    decision = with_programmes(decision, command.programmes, programmes)
    return await beside_event_loop(AppliedView.of, decision, applied=not command.dry_run)


async def _checked_intent(
    context: RequestContext, command: ApplyConfig, calendars: ChangedCalendars
) -> Intent:
    """What the file wants; InvalidRequest in its own words."""
    limits = (await context.store.tenants.tenant(context.tenant_id)).limits
    found = await calendars.find(context, calendar_ids_in(command))
    # Thousands of endpoints take seconds to check; other requests need not wait for them.
    try:
        intent = await to_thread(
            read_intent, context, command, limits=limits, prune=command.prune, calendars=found
        )
    except InvalidRequest as problem:
        raise command.as_written(problem) from None
    outside = await parents_outside(context, [one.endpoint for one in intent.endpoints.values()])
    return replace(intent, outside_parents=outside)


async def _decide(
    context: RequestContext,
    intent: Intent,
    calendars: ChangedCalendars,
    limits: Iterable[Difference],
    *,
    dry_run: bool,
) -> Decision:
    """Decide about the fresh rows, and write that unless it is a dry run."""
    decisions: list[Decision] = []

    def decide_changes(current: BulkState) -> BulkChange:
        decisions.append(decide(calendars.followed(current), intent))
        _refuse_models(context, [*decisions[-1].differences, *limits])
        return BulkChange() if dry_run else decisions[-1].bulk_change

    await context.store.catalog.change_in_bulk(context.tenant_id, intent.scope(), decide_changes)
    return decisions[-1]


def _refuse_models(context: RequestContext, differences: Iterable[Difference]) -> None:
    """NotAllowed if a model would change whom alerts reach, or a limit: operations on those are no tools."""
    changed = [one for one in differences if one.kind in NOT_FOR_MODELS]
    if changed and rank_of(context.caller.origin) <= Rank.LLM:
        raise NotAllowed(
            f"The {changed[0].kind.replace('_', ' ')} {changed[0].id} cannot be changed by a model: leave"
            " `alert_routes` and `limits` out, or ask a person to apply the file."
        )


def _note(context: RequestContext, differences: Iterable[Difference]) -> None:
    context.trail.is_complete = True
    for action, kind, id_, before, after in differences:
        revived = action is Action.REVIVE
        context.trail.note(kind, id_, before=None if revived else before, after=after)


@operation("GET /v1/export", Scope.READ, bulk=True)
async def export_config(context: RequestContext, command: ExportConfig) -> ConfigView:  # noqa: ARG001 - All of it is meant.
    """Export everything as a configuration. Applying it unchanged changes nothing."""
    store, tenant_id = context.store, context.tenant_id
    jobs = await _all("jobs", lambda page: store.catalog.jobs(tenant_id, page))
    endpoints = await _all("endpoints", lambda page: store.catalog.find(tenant_id, page=page))
    rules = await _all("rules", lambda page: store.rules.rules(tenant_id, page=page))
    routes = await store.alert_routes.routes(tenant_id, Page(MOST_ROUTES))
    limits = limits_of(await store.limits.limits(tenant_id))
    return ConfigView.model_construct(
        version=1,
        limits=limits,
        calendars=await stored_calendars(context),
        jobs=await to_thread(config_of, jobs, endpoints, rules),
        alert_routes=config_routes(routes),
        programmes=await stored_programmes(context),
    )


async def _all(name: str, read: Callable[[Page], Awaitable[list[Stored]]]) -> list[Stored]:
    """All of a kind, read page by page, so that other requests have their turn."""
    found: list[Stored] = []
    page, length = Page(PART), 0
    while some := await read(page):
        found += some
        length += await beside_event_loop(lambda some: sum(map(_length, some)), some)
        if len(found) > MOST_ENDPOINTS:
            raise InvalidRequest(f"There are more than {MOST_ENDPOINTS:,} {name}: too many for one file.")
        if length > LONGEST_FILE:
            raise InvalidRequest(f"The {name} have more than {LONGEST_FILE:,} bytes: too many for one file.")
        page = Page(PART, after=found[-1].id)
    return found


def _length(stored: Job | Endpoint | Rule) -> int:
    """About how many bytes something takes in a file: those of its part that may be long."""
    if isinstance(stored, Rule):
        return len(stored.when)
    return size_of(stored.metadata if isinstance(stored, Job) else stored.target)


def _as_json(value: Any) -> JsonValue:
    """A value as it stands on the wire, without what is as usual."""
    if type(value) in KINDS:
        value = as_shape(value).model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, NamedRules):
        shape = named_rules_shape(value)
        value = None if shape is None else shape.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, RouteMatch):
        value = MatchShape.of(value)
    if isinstance(value, Channel):
        value = ChannelShape.of(value)
    if type(value) in SHAPES:
        value = step_shape(value).model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, tuple):
        return [_as_json(one) for one in value]
    if isinstance(value, Escalation):
        return {"after_ms": value.after_ms, "then": _as_json(value.then)}
    document: JsonValue = to_jsonable_python(value)
    return document


CONFIG = (apply_config, export_config)
