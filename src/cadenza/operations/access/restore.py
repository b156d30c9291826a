"""Puts a definition back as it was before a change, by the operations that anybody would use."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from cadenza.domain.access.audit import HEADERS, MASKED, RESTORED_KINDS, AuditRecord
from cadenza.domain.daily.keys import ProgrammeKey
from cadenza.domain.daily.programme import Programme
from cadenza.domain.errors import Conflict, NotFound
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.operations.context import RequestContext
from cadenza.operations.daily.programmes import PutProgramme, find_stored, put_programme
from cadenza.operations.planning.rules import CreateRule, UpdateRule, create_rule, update_rule
from cadenza.operations.scheduling.endpoint_parts.commands import CreateEndpoint, UpdateEndpoint
from cadenza.operations.scheduling.endpoints import create_endpoint, update_endpoint
from cadenza.operations.scheduling.jobs import CreateJob, UpdateJob, create_job, update_job

Definition = dict[str, Any]
Found = TypeVar("Found")
Model = TypeVar("Model", bound=BaseModel)


class Restored(NamedTuple):
    """What became of it."""

    subject_id: str
    created: bool
    note: str | None = None


async def restore(context: RequestContext, record: AuditRecord) -> Restored:
    """Restore the definition before a change; Conflict with a sentence if there is none to restore."""
    if record.subject_kind not in RESTORED_KINDS or record.subject_id is None:
        about = record.subject_kind.replace("_", " ")
        raise Conflict(
            f"Endpoints, jobs, rules and programmes can be restored, and this record is about a {about}."
        )
    if record.definition is None:
        raise Conflict(
            "This record has no definition: there was none before that change, nothing changed,"
            " or it was too long to store."
        )
    return await KINDS[record.subject_kind](context, record.subject_id, record)


async def _endpoint(context: RequestContext, id_: str, record: AuditRecord) -> Restored:
    present = await _found(context.store.endpoints.get(context.key(id_)))
    definition = _with_present_headers(dict(record.definition or {}), present)
    headers = [one.field.removeprefix(HEADERS) for one in record.changes if MASKED in (one.before, one.after)]
    kept = ", ".join(headers)
    note = f"Values of headers are not in the audit; these stay as they are now: {kept}." if kept else None
    if present is not None and not present.archived:
        changed = await update_endpoint.handle(context, _read(UpdateEndpoint, definition, endpoint_id=id_))
        return Restored(id_, created=False, note=" ".join(filter(None, (changed.note, note))) or None)
    await create_endpoint.handle(context, _read(CreateEndpoint, definition, id=id_))
    return Restored(id_, created=True, note=note)


async def _job(context: RequestContext, id_: str, record: AuditRecord) -> Restored:
    definition = dict(record.definition or {})
    if await _found(context.store.catalog.job(context.tenant_id, id_)) is not None:
        changed = await update_job.handle(context, _read(UpdateJob, definition, job_id=id_))
        return Restored(id_, created=False, note=changed.note)
    await create_job.handle(context, _read(CreateJob, definition, id=id_))
    return Restored(id_, created=True, note="Its endpoints and rules have audit records of their own.")


async def _rule(context: RequestContext, id_: str, record: AuditRecord) -> Restored:
    definition = dict(record.definition or {})
    if await _found(context.store.rules.rule(context.tenant_id, id_)) is None:
        await create_rule.handle(context, _read(CreateRule, definition, id=id_))
        return Restored(id_, created=True)
    definition.pop("job_id", None)
    await update_rule.handle(context, _read(UpdateRule, definition, rule_id=id_))
    return Restored(id_, created=False)


async def _programme(context: RequestContext, id_: str, record: AuditRecord) -> Restored:
    key = ProgrammeKey(context.tenant_id, id_)
    present = await _found(find_stored(context, key))
    definition = _with_present_headers(dict(record.definition or {}), present)
    await put_programme.handle(context, _read(PutProgramme, definition, programme_id=id_))
    return Restored(id_, created=present is None)


KINDS: Mapping[str, Callable[[RequestContext, str, AuditRecord], Awaitable[Restored]]] = {
    "endpoint": _endpoint,
    "job": _job,
    "rule": _rule,
    "programme": _programme,
}


def _with_present_headers(definition: Definition, present: Endpoint | Programme | None) -> Definition:
    """A definition whose masked headers have the values that they have now; Conflict if one has none."""
    target: dict[str, Json] = definition.get("target") or {}
    headers = target.get("headers")
    if not isinstance(headers, dict) or MASKED not in headers.values():
        return definition
    now = present.target.headers if present is not None and isinstance(present.target, HttpTarget) else {}
    if missing := [name for name, value in headers.items() if value == MASKED and name not in now]:
        raise Conflict(
            f"The value of the header {missing[0]} is not in the audit, and it is not set any more:"
            " set the header again, and then restore."
        )
    filled = {name: now[name] if value == MASKED else value for name, value in headers.items()}
    return {**definition, "target": {**target, "headers": filled}}


def _read(model: type[Model], definition: Definition, **identity: str) -> Model:
    try:
        return model.model_validate(definition | identity)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise Conflict(f"That definition is no longer valid: {field}: {first['msg']}.") from None


async def _found(looked_up: Awaitable[Found]) -> Found | None:
    with suppress(NotFound):
        return await looked_up
    return None
