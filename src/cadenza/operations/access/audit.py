"""Operations that list and show audit records, and restore a definition."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field, JsonValue, StringConstraints

from cadenza.domain.access.audit import AuditFilter, AuditOutcome, AuditRecord
from cadenza.domain.access.key import Scope, Surface
from cadenza.domain.scheduling.hint import origin_text
from cadenza.operations.access.restore import Restored, restore
from cadenza.operations.config.apply import FieldView
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Id, Listed, Moment, Name, Paged, Text
from cadenza.operations.long_pages import one_more, read_page, size_of
from cadenza.operations.operation import Command, View, operation
from cadenza.ports.catalog import Page

Word = Annotated[str, StringConstraints(strict=True, pattern=r"^[a-z_]{1,64}$")]
Subject = Annotated[str, Field(strict=True, min_length=1, max_length=200)]


class ListAudit(Paged):
    """Which records; what is left out does not matter."""

    who: Name | None = None
    """An origin, such as `key:3fJ8kQ2pXw1Z`, `dashboard` or `cli`, or the name of a key."""
    surface: Surface | None = None
    operation: Word | None = None
    """The name of an operation, or `log_in` and `log_out`."""
    subject_kind: Word | None = None
    """Such as `endpoint`, `job`, `rule`, `key` or `session`."""
    subject_id: Subject | None = None
    since: Moment | None = None
    until: Moment | None = None
    """Before this moment."""

    def wanted(self) -> AuditFilter:
        """The filter for the store."""
        return AuditFilter(**{name: getattr(self, name) for name in AuditFilter._fields})


class OneRecord(Command):
    """The audit record that is meant."""

    record_id: Id


class AuditRecordView(View):
    """One change of one thing, or one login."""

    id: str
    at: datetime
    who: str
    """The origin, as the hint history has it."""
    by: str
    """The same in words."""
    name: str | None
    """The name that the key had, or the user for whom it was done."""
    surface: Surface
    operation: str
    subject_kind: str
    subject_id: str | None
    """Null if several things are meant, or one that has no id."""
    reason: str | None
    outcome: AuditOutcome
    changes: list[FieldView]
    """What differs, by field; values of headers and secrets are masked, and long ones are cut."""
    restorable: bool
    """Whether the definition before it was kept, and `restore_definition` takes it."""

    @classmethod
    def of(cls, record: AuditRecord) -> Self:
        """The view of a record."""
        return cls(**_words(record))


class AuditRecordDetails(AuditRecordView):
    """A record with the definition before it."""

    definition: dict[str, JsonValue] | None
    """The whole definition before the change, with masked headers; null if there was none, it stayed as it
    was, or it was too long to store."""


class AuditPage(Listed[AuditRecordView]):
    """A page of audit records, newest first."""


class RestoreDefinition(OneRecord):
    """The record before whose change the definition is to be restored."""

    reason: Text | None = None


class RestoredView(View):
    """What was restored."""

    subject_kind: str
    subject_id: str
    created: bool
    """Whether it had been deleted, and was created again."""
    note: str | None
    """What could not be restored, and why."""


@operation("GET /v1/audit", Scope.ADMIN)
async def list_audit(context: RequestContext, command: ListAudit) -> AuditPage:
    """List who changed, steered or logged in, from which surface, with the difference, newest first."""

    async def find(page: Page) -> list[AuditRecord]:
        return await context.store.audit.records(context.tenant_id, wanted=command.wanted(), page=page)

    page = Page(command.limit, command.cursor)
    records, cursor = await read_page(one_more(find), page, lambda one: size_of([*map(list, one.changes)]))
    return AuditPage(items=[AuditRecordView.of(one) for one in records], next_cursor=cursor)


@operation("GET /v1/audit/{record_id}", Scope.ADMIN)
async def get_audit_record(context: RequestContext, command: OneRecord) -> AuditRecordDetails:
    """Show one audit record, with the definition before its change."""
    record = await context.store.audit.record(context.tenant_id, command.record_id)
    definition = None if record.definition is None else dict(record.definition)
    return AuditRecordDetails(**_words(record), definition=definition)


@operation("POST /v1/audit/{record_id}/restore", Scope.ADMIN, agent=False)
async def restore_definition(context: RequestContext, command: RestoreDefinition) -> RestoredView:
    """Put an endpoint, a job or a rule back as it was before a change, as an ordinary update of it.

    What was deleted is created again with its id. Values of headers are not in the audit: the present
    ones stay.
    """
    record = await context.store.audit.record(context.tenant_id, command.record_id)
    context.trail.reason = command.reason or f"Restored as it was before {record.id}."
    restored: Restored = await restore(context, record)
    return RestoredView(subject_kind=record.subject_kind, **restored._asdict())


def _words(record: AuditRecord) -> dict[str, Any]:
    actor = record.actor
    return {
        "id": record.id,
        "at": record.at,
        "who": actor.who,
        "by": origin_text(actor.who),
        "name": actor.name,
        "surface": actor.surface,
        "operation": record.operation,
        "subject_kind": record.subject_kind,
        "subject_id": record.subject_id,
        "reason": record.reason,
        "outcome": record.outcome,
        "changes": [FieldView(**change._asdict()) for change in record.changes],
        "restorable": record.restorable,
    }


AUDIT = (list_audit, get_audit_record, restore_definition)
