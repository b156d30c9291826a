"""What a configuration wants, and what it changes: one thing as it is, and as it will be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from cadenza.domain.access.run_limit import RunLimit
from cadenza.domain.monitoring.alert_route import AlertRoute
from cadenza.domain.planning.rules.rule import OWNER_FIELDS as OF_RULE
from cadenza.domain.planning.rules.rule import Rule
from cadenza.domain.scheduling.calendars.named_rules import named_rules
from cadenza.domain.scheduling.calendars.rules import CalendarRules
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.domain.scheduling.governor import CronClock
from cadenza.domain.scheduling.steer import DEFINITION_FIELDS
from cadenza.operations.config.alert_routes import OF_ROUTE, WantedRoute
from cadenza.operations.config.rules import WantedRule
from cadenza.operations.daily.programme_schemas import OF_PROGRAMME, ConfigProgramme
from cadenza.operations.scheduling.calendars.config_schemas import OF_CALENDAR, CalendarWords
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import CALENDAR
from cadenza.ports.catalog import BulkChange, BulkScope

Kind = Literal["job", "endpoint", "rule", "alert_route", "limit", "calendar", "programme"]
OF_JOB = ("name", "description", "active", "metadata", "calendar_rules")
OF_ENDPOINT = (*DEFINITION_FIELDS, "enabled")
OF_LIMIT = ("max_in_flight", "max_per_minute")
FIELDS: dict[Kind, tuple[str, ...]] = {
    "job": OF_JOB,
    "endpoint": OF_ENDPOINT,
    "rule": OF_RULE,
    "alert_route": OF_ROUTE,
    "limit": OF_LIMIT,
    "calendar": OF_CALENDAR,
    "programme": OF_PROGRAMME,
}
Defined = Job | Endpoint | Rule | AlertRoute | RunLimit | CalendarWords | ConfigProgramme


class Action(StrEnum):
    """What becomes of a thing."""

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
            for part in FIELDS[self.kind]:
                name, before = _as_written(part, getattr(self.before, part))
                _, after = _as_written(part, getattr(self.after, part))
                if before != after:
                    yield name, before, after


def _as_written(name: str, value: Any) -> tuple[str, Any]:
    """The name of a field in a file, and its value there."""
    return (CALENDAR, named_rules(value)) if isinstance(value, CalendarRules) else (name, value)


class Decision(NamedTuple):
    """All that changes, how it is written, and how much stays as it is."""

    differences: Sequence[Difference]
    bulk_change: BulkChange
    unchanged: int


class WantedJob(NamedTuple):
    """A job as a file wants it; `active` is None if the file does not say."""

    job: Job
    active: bool | None


class WantedEndpoint(NamedTuple):
    """An endpoint as a file wants it, and where; `enabled` is None if the file does not say."""

    endpoint: Endpoint
    enabled: bool | None
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What a file wants, checked, by ids."""

    jobs: Mapping[str, WantedJob]
    endpoints: Mapping[str, WantedEndpoint]
    rules: Mapping[str, WantedRule]
    routes: Mapping[str, WantedRoute] = field(default_factory=dict)
    names_routes: bool = False
    """Whether the file says which alert routes there are."""
    outside_parents: Mapping[str, Endpoint] = field(default_factory=dict)
    """Endpoints that those of the file depend on, and that it may not name."""
    prune: bool
    most: int | None
    """The limit of live endpoints."""
    now: datetime
    cron: CronClock
    origin: str
    jitter_ms: int = 0

    def planning(self) -> dict[str, Any]:
        """The moment, the cron calculator and the jitter with which a run is planned."""
        return {"now": self.now, "cron": self.cron, "jitter_ms": self.jitter_ms}

    def scope(self) -> BulkScope:
        """What must be read to decide."""
        return BulkScope(
            frozenset(self.jobs),
            frozenset(self.endpoints),
            self.prune,
            rule_ids=frozenset(self.rules),
            routes=self.names_routes,
        )
