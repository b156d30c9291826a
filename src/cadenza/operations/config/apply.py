"""Operations that apply a configuration file, and export one."""

from asyncio import to_thread
from collections import Counter
from typing import Any, Literal, Self

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.rules.rule import Escalation
from cadenza.operations.config.difference import Action, Decision, Difference, Kind, decide
from cadenza.operations.config.export import config_of
from cadenza.operations.config.schemas import MOST_ENDPOINTS, ConfigDocument, ConfigJob
from cadenza.operations.config.validation import read_intent
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Flag
from cadenza.operations.operation import Command, View, operation
from cadenza.operations.planning.rule_schemas import SHAPES, step_shape
from cadenza.operations.scheduling.schemas import KINDS, as_shape
from cadenza.ports.catalog import BulkChange, BulkState, Page


class ApplyConfig(ConfigDocument):
    """A configuration, and how far to go with it."""

    dry_run: Flag = False
    """Report what would change, and change nothing."""
    prune: Flag = False
    """Delete endpoints and rules of the file's jobs that it does not name, and jobs that a file made and this
    one does not name, with all that is theirs. Jobs that were made otherwise are never deleted."""


class FieldView(View):
    """A field that an update changes."""

    field: str
    before: JsonValue
    after: JsonValue


class DifferenceView(View):
    """A job, an endpoint or a rule that changes."""

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
    """How many jobs, endpoints and rules: each action, and what stays as it is."""

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
    jobs: list[ConfigJob]


@operation("POST /v1/apply", Scope.WRITE)
async def apply_config(context: RequestContext, command: ApplyConfig) -> AppliedView:
    """Bring jobs, endpoints and rules to what a configuration says, in one commit: all of it, or nothing.

    What it does not mention stays: hints, pauses, history, and jobs, endpoints and rules that it does
    not name, unless they are pruned. Endpoints that are running go on. Applied twice, it changes nothing.
    """
    limits = (await context.store.tenants.tenant(context.tenant_id)).limits
    # Thousands of endpoints take seconds to check; other requests need not wait for them.
    intent = await to_thread(read_intent, context, command, limits=limits, prune=command.prune)
    decisions: list[Decision] = []

    def decide_changes(current: BulkState) -> BulkChange:
        decisions.append(decide(current, intent))
        return BulkChange() if command.dry_run else decisions[-1].bulk_change

    await context.store.catalog.change_in_bulk(context.tenant_id, intent.scope(), decide_changes)
    return AppliedView.of(decisions[-1], applied=not command.dry_run)


@operation("GET /v1/export", Scope.READ)
async def export_config(context: RequestContext, command: ExportConfig) -> ConfigView:  # noqa: ARG001 - All of it is meant.
    """Write down everything as a configuration; to apply it changes nothing."""
    endpoints = await context.store.catalog.find(context.tenant_id, page=Page(MOST_ENDPOINTS + 1))
    jobs = await context.store.catalog.jobs(context.tenant_id, Page(MOST_ENDPOINTS + 1))
    rules = await context.store.rules.rules(context.tenant_id, page=Page(MOST_ENDPOINTS + 1))
    for found, name in ((endpoints, "endpoints"), (jobs, "jobs"), (rules, "rules")):
        if len(found) > MOST_ENDPOINTS:
            raise InvalidRequest(f"There are more than {MOST_ENDPOINTS:,} {name}: too many for one file.")
    return ConfigView.model_construct(version=1, jobs=config_of(jobs, endpoints, rules))


def _as_json(value: Any) -> JsonValue:
    """A value as it stands on the wire, without what is as usual."""
    if type(value) in KINDS:
        value = as_shape(value).model_dump(mode="json", exclude_defaults=True)
    if type(value) in SHAPES:
        value = step_shape(value).model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, tuple):
        return [_as_json(one) for one in value]
    if isinstance(value, Escalation):
        return {"after_ms": value.after_ms, "then": _as_json(value.then)}
    document: JsonValue = to_jsonable_python(value)
    return document


CONFIG = (apply_config, export_config)
