"""What owners wrote, as rows and back: jobs, and endpoints with their labels."""

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import orjson

from cadenza.adapters.stores.sql.scheduling.packed_calendar import (
    read_calendar,
    read_calendar_rules,
    write_calendar,
    write_calendar_rules,
)
from cadenza.domain.daily.programme import ProgrammePrompt, ProgrammeTarget
from cadenza.domain.monitoring.alert import Severity
from cadenza.domain.planning.planner_settings import Planning
from cadenza.domain.scheduling.baseline import Cron, DayPart, DayParts, Every, Once
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.rules import NO_RULES
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.scheduling.policy import Guard, Policy
from cadenza.domain.scheduling.target import (
    CallableTarget,
    HeartbeatTarget,
    HttpTarget,
    McpTarget,
    Probe,
    PromptTarget,
)

JOB = (
    "tenant_id",
    "id",
    "name",
    "active",
    "description",
    "applied",
    "created_at",
    "metadata",
    "pause_origin",
    "calendar_rules",
)
LABEL = ("tenant_id", "name", "value", "endpoint_id")
KINDS: dict[str, type] = {
    "every": Every,
    "cron": Cron,
    "once": Once,
    "day-parts": DayParts,
    "http": HttpTarget,
    "callable": CallableTarget,
    "prompt": PromptTarget,
    "mcp": McpTarget,
    "heartbeat": HeartbeatTarget,
    "daily-prompt": ProgrammePrompt,
}
KIND_OF = {kind: name for name, kind in KINDS.items()}
REMEMBERED = 16_384
LONGEST_REMEMBERED = 4_096
"""Longer documents are few, and may be so long that thousands of them would not fit into memory."""


def write_job(job: Job) -> tuple[Any, ...]:
    """The columns `JOB`."""
    has_calendars = job.calendar_rules != NO_RULES
    return (
        job.tenant_id,
        job.id,
        job.name,
        job.active,
        job.description,
        job.applied,
        job.created_at,
        orjson.dumps(job.metadata).decode() if job.metadata else None,
        job.pause_origin,
        orjson.dumps(write_calendar_rules(job.calendar_rules)).decode() if has_calendars else None,
    )


def read_job(row: Iterable[Any], read: Callable[[Any], Any]) -> Job:
    """The job of a row selected as `JOB`."""
    tenant_id, id_, name, active, description, applied, created_at, metadata, pause_origin, rules = row
    return _unchecked(
        Job,
        {
            "id": id_,
            "name": name,
            "tenant_id": tenant_id,
            "active": bool(active),
            "description": description,
            "applied": bool(applied),
            "created_at": read(created_at),
            "metadata": {} if metadata is None else orjson.loads(metadata),
            "pause_origin": pause_origin,
            "calendar_rules": NO_RULES if rules is None else read_calendar_rules(orjson.loads(rules)),
        },
    )


def write_owner_columns(endpoint: Endpoint) -> tuple[str | None, ...]:
    """What its owner wrote: the columns of `endpoints`."""
    owned = (endpoint.job_id, endpoint.name, endpoint.description, write_definition(endpoint))
    return (*endpoint.key, *owned)


def write_labels(endpoint: Endpoint) -> set[tuple[str, ...]]:
    """The rows `LABEL` of an endpoint."""
    return {(endpoint.tenant_id, *label, endpoint.id) for label in endpoint.labels.items()}


def write_definition(endpoint: Endpoint) -> str:
    """What an endpoint's owner wrote, as one JSON document."""
    document: dict[str, Any] = {
        "baseline": _tagged(endpoint.baseline),
        "target": _tagged(endpoint.target),
        "guard": endpoint.guard,
        "policy": endpoint.policy,
        "hint_mode": endpoint.hint_mode,
        "labels": endpoint.labels,
        "planning": endpoint.planning,
        "created_at": endpoint.created_at,
    }
    if endpoint.severity is not Severity.WARNING:
        document["severity"] = endpoint.severity
    if endpoint.parent_id is not None:
        document["parent_id"] = endpoint.parent_id
    if endpoint.limit_key is not None:
        document["limit_key"] = endpoint.limit_key
    if endpoint.priority:
        document["priority"] = endpoint.priority
    if endpoint.calendar_rules != NO_RULES:
        document["calendar_rules"] = write_calendar_rules(endpoint.calendar_rules)
    return orjson.dumps(document).decode()


def write_programme_target(target: ProgrammeTarget) -> dict[str, Any]:
    """The target of a daily programme as a part of its document."""
    return _tagged(target)


def read_programme_target(document: dict[str, Any]) -> ProgrammeTarget:
    """The target of a daily programme."""
    return cast("ProgrammeTarget", _untagged(document))


def read_definition(document: str) -> dict[str, Any]:
    """The fields of an endpoint that stand in a document; remembered, as workers read them every cycle."""
    return _remembered(document) if len(document) <= LONGEST_REMEMBERED else _read(document)


def _read(document: str) -> dict[str, Any]:
    read = orjson.loads(document)
    return {
        "baseline": _untagged(read["baseline"]),
        "target": _untagged(read["target"]),
        "guard": _restored(Guard, read["guard"]),
        "policy": _restored(Policy, read["policy"]),
        "hint_mode": HintMode(read["hint_mode"]),
        "labels": read.get("labels", {}),
        "planning": _restored(Planning, read.get("planning", {})),
        "created_at": _restored(datetime, read.get("created_at")),
        "severity": Severity(read.get("severity", Severity.WARNING)),
        "parent_id": read.get("parent_id"),
        "limit_key": read.get("limit_key"),
        "priority": read.get("priority", 0),
        "calendar_rules": read_calendar_rules(read.get("calendar_rules")),
    }


_remembered = lru_cache(maxsize=REMEMBERED)(_read)


def _tagged(value: Any) -> dict[str, Any]:
    kind = {"kind": KIND_OF[type(value)]} if type(value) in KIND_OF else {}
    return kind | {one.name: _written(getattr(value, one.name)) for one in fields(value) if one.init}


def _written(part: Any) -> Any:
    """A part of a value, with the kinds of those inside it."""
    match part:
        case Calendar():
            return write_calendar(part)
        case Probe() | HttpTarget() | CallableTarget() | McpTarget() | DayPart() | Every() | Cron():
            return _tagged(part)
        case tuple() if any(isinstance(one, DayPart) for one in part):
            return [_tagged(one) for one in part]
        case _:
            return part


def _untagged(document: dict[str, Any]) -> Any:
    return _restored(
        KINDS[document["kind"]], {key: value for key, value in document.items() if key != "kind"}
    )


@lru_cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


Checked = TypeVar("Checked")


def _unchecked(kind: type[Checked], parts: dict[str, Any]) -> Checked:
    """A value of these parts, and of defaults for the others; they were checked when they were written.

    To check a long body or much metadata again takes many times as long as to read it.
    """
    value = object.__new__(kind)
    for field in fields(kind):  # type: ignore[arg-type]
        object.__setattr__(value, field.name, parts[field.name] if field.name in parts else _default(field))
    return value


def _default(field: Field[Any]) -> Any:
    assert field.default is not MISSING or field.default_factory is not MISSING, f"{field.name} is missing"
    return field.default if field.default_factory is MISSING else field.default_factory()


def _restored(kind: Any, value: Any) -> Any:
    """A value of a declared type, from what JSON keeps of it."""
    if value is None:
        return None
    if kind is Calendar:
        return read_calendar(value)
    if is_dataclass(kind):
        hints = _hints(cast("type", kind))
        parts = {name: _restored(hints[name], part) for name, part in value.items()}
        return _unchecked(HttpTarget, parts) if kind is HttpTarget else kind(**parts)  # type: ignore[operator]
    if kind is datetime:
        return datetime.fromisoformat(value)
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_restored(get_args(kind)[0], part) for part in value)
    return _restored_of_several(kind, value) if get_origin(kind) in (UnionType, Union) else value


def _restored_of_several(kind: Any, value: Any) -> Any:
    """A value of one of several types: the only one, or the class that it is tagged with."""
    possible = [one for one in get_args(kind) if one is not NoneType]
    if len(possible) == 1:
        return _restored(possible[0], value)
    return _untagged(value) if all(map(is_dataclass, possible)) else value
