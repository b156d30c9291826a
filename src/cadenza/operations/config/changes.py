"""What a configuration changes: one thing as it is, and as it will be."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from cadenza.domain.access.run_limit import RunLimit
from cadenza.domain.monitoring.alert_route import AlertRoute
from cadenza.domain.planning.rules.rule import OWNER_FIELDS as OF_RULE
from cadenza.domain.planning.rules.rule import Rule
from cadenza.domain.scheduling.calendars.named_rules import named_rules
from cadenza.domain.scheduling.calendars.rules import CalendarRules
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.domain.scheduling.steer import DEFINITION_FIELDS
from cadenza.operations.config.alert_routes import OF_ROUTE
from cadenza.operations.daily.programme_schemas import OF_PROGRAMME, ConfigProgramme
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import CALENDAR

Kind = Literal["job", "endpoint", "rule", "alert_route", "limit", "programme"]
OF_JOB = ("name", "description", "active", "metadata")
OF_ENDPOINT = (*DEFINITION_FIELDS, "enabled")
OF_LIMIT = ("max_in_flight", "max_per_minute")
FIELDS: dict[Kind, tuple[str, ...]] = {
    "job": OF_JOB,
    "endpoint": OF_ENDPOINT,
    "rule": OF_RULE,
    "alert_route": OF_ROUTE,
    "limit": OF_LIMIT,
    "programme": OF_PROGRAMME,
}
Defined = Job | Endpoint | Rule | AlertRoute | RunLimit | ConfigProgramme


class Action(StrEnum):
    """What becomes of a job or an endpoint."""

    CREATE = "create"
    UPDATE = "update"
    REVIVE = "revive"
    """Deleted before, and created again with its id and history."""
    DELETE = "delete"


class Difference(NamedTuple):
    """One thing that changes, as it is and as it will be."""

    action: Action
    kind: Kind
    id: str
    before: Defined | None = None
    after: Defined | None = None

    def fields(self) -> Iterator[tuple[str, Any, Any]]:
        """What an update changes: names with the values before and after.

        The calendars of a job are no part of its endpoints in a file.
        """
        if self.action is Action.UPDATE:
            for field in FIELDS[self.kind]:
                name, before = _as_written(field, getattr(self.before, field))
                _, after = _as_written(field, getattr(self.after, field))
                if before != after:
                    yield name, before, after


def _as_written(field: str, value: Any) -> tuple[str, Any]:
    """The name of a field in a file, and its value there."""
    return (CALENDAR, named_rules(value)) if isinstance(value, CalendarRules) else (field, value)
