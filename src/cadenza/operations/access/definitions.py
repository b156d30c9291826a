"""Definitions of jobs, endpoints and rules as JSON values, for the audit."""

from dataclasses import asdict, is_dataclass
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from cadenza.domain.daily.programme import Programme
from cadenza.domain.json_values import Json
from cadenza.domain.monitoring.alert_route import AlertRoute
from cadenza.domain.planning.rules.rule import Rule
from cadenza.domain.scheduling.calendars.named_rules import named_rules
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.operations.daily.programme_schemas import programme_definition
from cadenza.operations.monitoring.route_schemas import route_definition
from cadenza.operations.planning.rule_schemas import rule_parts_as_shapes
from cadenza.operations.scheduling.calendars.of_jobs import calendar_of_job
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import CALENDAR, calendar_rules_shape
from cadenza.operations.scheduling.schemas import as_shape

OF_JOB = ("name", "description", "active", "metadata")
OF_ENDPOINT = (
    "name",
    "job_id",
    "description",
    "labels",
    "hint_mode",
    "severity",
    "parent_id",
    "limit_key",
    "priority",
    "enabled",
)
PARTS = ("target", "baseline", "guard", "policy", "planning")
NOT_DEFINED = ("id", "tenant_id", "created_at")


def definition_of(value: Any) -> dict[str, Json] | None:
    """What the owner wrote; None if there is nothing."""
    match value:
        case None:
            return None
        case Endpoint():
            written = {name: getattr(value, name) for name in OF_ENDPOINT}
            parts = {name: as_shape(getattr(value, name)) for name in PARTS}
            return _plain(written | parts | {CALENDAR: calendar_rules_shape(value.calendar_rules)})
        case Job():
            return _plain(
                {name: getattr(value, name) for name in OF_JOB} | {CALENDAR: calendar_of_job(value)}
            )
        case Rule():
            of_rule = {"job_id": value.job_id, "endpoint_id": value.endpoint_id, "enabled": value.enabled}
            return _plain(of_rule | rule_parts_as_shapes(value))
        case AlertRoute() | Programme():
            return _plain(
                route_definition(value) if isinstance(value, AlertRoute) else programme_definition(value)
            )
        case _:
            words = asdict(value) if is_dataclass(value) and not isinstance(value, type) else dict(value)
            return _plain({name: word for name, word in words.items() if name not in NOT_DEFINED})


def is_only_steered(before: Any, after: Any) -> bool:
    """Whether an endpoint has the same definition, as after most changes: then it need not be written out."""
    if not (isinstance(before, Endpoint) and isinstance(after, Endpoint)):
        return False
    if named_rules(before.calendar_rules) != named_rules(after.calendar_rules):
        return False
    return all(getattr(before, name) == getattr(after, name) for name in (*OF_ENDPOINT, *PARTS))


def steered_state_of(value: Any) -> dict[str, Json]:
    """What steering changes of an endpoint: hints, pause, failures and the next run."""
    if not isinstance(value, Endpoint):
        return {}
    interval, one_shot = value.interval_hint, value.one_shot_hint
    return _plain(
        {
            "interval_hint.interval_ms": interval and interval.interval_ms,
            "interval_hint.expires_at": interval and interval.expires_at,
            "one_shot_hint.at": one_shot and one_shot.at,
            "one_shot_hint.expires_at": one_shot and one_shot.expires_at,
            "paused_until": value.paused_until,
            "failure_count": value.failure_count,
            "next_run_at": value.next_run_at,
        }
    )


def _plain(words: dict[str, Any]) -> dict[str, Json]:
    plain: dict[str, Json] = {name: _json(word) for name, word in words.items()}
    return plain


def _json(value: Any) -> Json:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    document: Json = to_jsonable_python(value)
    return document
