"""Carries out operations that change something, with their audit records in the same commit."""

import re
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

import orjson
from pydantic import SecretStr

from cadenza.domain.access.audit import (
    MASKED,
    Actor,
    AuditRecord,
    FieldChange,
    actor_of,
    field_changes,
    without_header_values,
)
from cadenza.domain.access.key import Caller, key_id_of
from cadenza.domain.errors import Unavailable
from cadenza.domain.json_values import Json
from cadenza.engine.async_helpers import beside_event_loop
from cadenza.operations.access.definitions import definition_of, is_only_steered, steered_state_of
from cadenza.operations.audit_trail import NotedChange
from cadenza.operations.context import Dependencies, RequestContext
from cadenza.operations.operation import AnyOperation, Command, View

LONGEST_DEFINITION = 1 << 16
MANY = 100
"""The records of more changes are made in a thread, so that other requests go on."""
PLACE = re.compile(r"{(\w+)}")
COLLECTIONS = {"daily/users": "daily_users", "daily/programmes": "programmes"}
NOT_SAID = frozenset({"reason", "dry_run"})


async def perform_recorded(operation: AnyOperation, context: RequestContext, command: Any) -> View:
    """Carry out an operation, and add its audit records.

    1. They are one commit; a request that is repeated by its idempotency key adds none.
    2. What calls out, or commits part by part, cannot be one commit: its records are added after it.
    3. What is refused changes nothing, and leaves none.
    """
    actor = await named_actor(context.dependencies, context.caller)

    async def work() -> tuple[View, Sequence[AuditRecord]]:
        view: View = await operation.handle(context, command)
        make = partial(_records, operation, context, command, view=view, actor=actor)
        many = len(context.trail.changes) > MANY
        return view, await beside_event_loop(make) if many else make()

    if not (operation.calls_out or operation.in_parts):
        return await context.store.audit.change_with_records(work)
    view, records = await work()
    try:
        await context.store.audit.add_records(records)
    except Unavailable as problem:  # It was done, and the caller is told.
        context.dependencies.log.warning(
            "an audit record could not be added", operation=operation.name, problem=problem.message
        )
    return view


async def named_actor(dependencies: Dependencies, caller: Caller) -> Actor:
    """Who it is, with the name of their key: a session knows only its id."""
    actor, key_id = actor_of(caller), key_id_of(caller.origin)
    if actor.name is not None or key_id is None:
        return actor
    stored = await dependencies.store.keys.stored_key(key_id)
    return actor if stored is None else actor._replace(name=stored.key.name)


def _records(
    operation: AnyOperation, context: RequestContext, command: Command, *, view: View, actor: Actor
) -> list[AuditRecord]:
    trail = context.trail
    noted = trail.changes or ([] if trail.is_complete else [_from_command(operation, command, view)])
    about: dict[str, Any] = {
        "tenant_id": trail.tenant_id or context.tenant_id,
        "operation": operation.name,
        "reason": trail.reason or getattr(command, "reason", None),
    }
    return [record_of(context.dependencies, one, actor=actor, **about) for one in noted]


def record_of(dependencies: Dependencies, noted: NotedChange, **about: Any) -> AuditRecord:
    """The record of a change that was noted, made now."""
    return record_change(noted, id_=dependencies.ids.new(), at=dependencies.system_now(), **about)


def record_change(
    noted: NotedChange,
    *,
    id_: str,
    at: datetime,
    tenant_id: str,
    actor: Actor,
    operation: str,
    reason: str | None = None,
) -> AuditRecord:
    """The record of a change that was noted."""
    changes, definition = difference(noted)
    return AuditRecord(
        id=id_,
        tenant_id=tenant_id,
        at=at,
        actor=actor,
        operation=operation,
        subject_kind=noted.kind,
        subject_id=noted.id,
        reason=reason,
        changes=changes,
        definition=definition,
    )


def difference(noted: NotedChange) -> tuple[tuple[FieldChange, ...], dict[str, Json] | None]:
    """What differs, and the definition before if it differs or is gone and is not too long to keep."""
    if is_only_steered(noted.before, noted.after):
        return field_changes(steered_state_of(noted.before), steered_state_of(noted.after)), None
    before, after = definition_of(noted.before), definition_of(noted.after)
    steered = ({}, {}) if None in (before, after) else map(steered_state_of, (noted.before, noted.after))
    earlier, later = steered
    changes = field_changes((before or {}) | earlier, (after or {}) | later)
    if before is None or before == after:
        return changes, None
    kept = without_header_values(before)
    return changes, kept if len(orjson.dumps(kept)) <= LONGEST_DEFINITION else None


def _from_command(operation: AnyOperation, command: Command, view: View) -> NotedChange:
    """The subject by the route, and what was said about it; values of secrets are masked."""
    path = "" if operation.route is None else operation.route.path
    places = PLACE.findall(path)
    said = {name: getattr(command, name) for name in sorted(command.model_fields_set - {*places, *NOT_SAID})}
    after = {name: MASKED if isinstance(word, SecretStr) else word for name, word in said.items()}
    subject = getattr(command, places[0]) if places else getattr(view, "id", None)
    return NotedChange(subject_kind(path), subject, None, after)


def subject_kind(path: str) -> str:
    """The kind of thing that a route is about, such as `endpoint` or `login_link`."""
    rest = path.removeprefix("/v1/")
    for words, name in COLLECTIONS.items():
        rest = rest.replace(words, name, 1) if rest.startswith(words) else rest
    return rest.partition("/")[0].removesuffix("s").replace("-", "_")
