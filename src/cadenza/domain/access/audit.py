"""Audit records: who changed, steered or logged in, from which surface, and what was different after it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from cadenza.domain.access.key import Caller, Surface
from cadenza.domain.http_request import REFERENCE
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.hint import LOWERED
from cadenza.domain.validation import convert_to_utc

MASKED = "[masked]"
HEADERS = "target.headers."
MOST_CHANGES = 100
LONGEST_VALUE = 2_000
CUT = "…"
RESTORED_KINDS = frozenset({"endpoint", "job", "rule", "programme"})


class AuditOutcome(StrEnum):
    """What became of a request."""

    DONE = "done"
    REFUSED = "refused"
    """Only wrong logins are recorded with it; other refusals change nothing and leave no record."""


class FieldChange(NamedTuple):
    """A field by its path, such as `baseline.interval_ms`, with its values; null where there was none."""

    field: str
    before: Json
    after: Json


class Actor(NamedTuple):
    """Who did something: the origin, the name of the key or user, and the surface."""

    who: str
    name: str | None
    surface: Surface


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """One change of one thing, or one login."""

    id: str
    tenant_id: str
    at: datetime
    actor: Actor
    operation: str
    subject_kind: str
    subject_id: str | None = None
    """None if several things are meant."""
    reason: str | None = None
    outcome: AuditOutcome = AuditOutcome.DONE
    changes: tuple[FieldChange, ...] = ()
    definition: Mapping[str, Json] | None = None
    """The whole definition before the change, with masked headers; None if there was none, or it was long."""

    def __post_init__(self) -> None:
        convert_to_utc(self, "at")

    @property
    def restorable(self) -> bool:
        """Whether the definition before it can be restored."""
        return self.subject_kind in RESTORED_KINDS and self.definition is not None


class AuditFilter(NamedTuple):
    """Which records are wanted; None is any. `who` is an origin or a name."""

    who: str | None = None
    surface: str | None = None
    operation: str | None = None
    subject_kind: str | None = None
    subject_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def matches(self, record: AuditRecord) -> bool:
        """Whether a record is wanted."""
        actor = record.actor
        return (
            self.who in (None, actor.who, actor.name)
            and self.surface in (None, actor.surface)
            and self.operation in (None, record.operation)
            and self.subject_kind in (None, record.subject_kind)
            and self.subject_id in (None, record.subject_id)
            and (self.since is None or record.at >= self.since)
            and (self.until is None or record.at < self.until)
        )


EVERY_RECORD = AuditFilter()


def actor_of(caller: Caller) -> Actor:
    """Who a caller is, without the rank at which they asked to be heard."""
    user = caller.on_behalf_of
    name = caller.name or (None if user is None else f"user {user.user_id}")
    rank, _, origin = caller.origin.partition(":")
    return Actor(origin if origin and rank in LOWERED else caller.origin, name, caller.surface)


def field_changes(
    before: Mapping[str, Json] | None, after: Mapping[str, Json] | None
) -> tuple[FieldChange, ...]:
    """What differs, by path: values of headers are masked, long ones cut, and of many the first are kept."""
    earlier, later = dict(_paths(before or {})), dict(_paths(after or {}))
    differing = [path for path in {**earlier, **later} if earlier.get(path) != later.get(path)]
    changes = [
        FieldChange(path, _shown(path, earlier.get(path)), _shown(path, later.get(path)))
        for path in differing[:MOST_CHANGES]
    ]
    if len(differing) > MOST_CHANGES:
        changes.append(FieldChange(CUT, None, f"{len(differing) - MOST_CHANGES} more fields differ."))
    return tuple(changes)


def without_header_values(definition: Mapping[str, Json]) -> dict[str, Json]:
    """A definition whose headers are masked, all but those that refer to a secret."""
    target = definition.get("target")
    headers = target.get("headers") if isinstance(target, dict) else None
    if not isinstance(target, dict) or not isinstance(headers, dict):
        return dict(definition)
    masked: dict[str, Json] = {name: _masked(value) for name, value in headers.items()}
    return {**definition, "target": {**target, "headers": masked}}


def _paths(value: Mapping[str, Json], before: str = "") -> Iterator[tuple[str, Json]]:
    for name, part in value.items():
        if isinstance(part, dict) and part:
            yield from _paths(part, f"{before}{name}.")
        else:
            yield f"{before}{name}", part


def _shown(path: str, value: Json) -> Json:
    if path.startswith(HEADERS):
        return _masked(value)
    return _cut(value)


def _masked(value: Json) -> Json:
    if not isinstance(value, str) or REFERENCE.search(value):
        return value
    return MASKED


def _cut(value: Json) -> Json:
    if isinstance(value, str):
        return value if len(value) <= LONGEST_VALUE else value[:LONGEST_VALUE] + CUT
    if isinstance(value, Sequence) and len(text := str(value)) > LONGEST_VALUE:
        return text[:LONGEST_VALUE] + CUT
    return value
