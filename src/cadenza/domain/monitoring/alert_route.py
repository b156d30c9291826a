"""Alert routes: which conditions go to which channel."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from cadenza.domain.channel import Channel
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.monitoring.alert import AlertKind, Severity
from cadenza.domain.monitoring.condition import Condition
from cadenza.domain.validation import check_labels, convert_to_utc, has_labels

MOST_ROUTES = 100
MOST_MATCHED = 100


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """Which conditions a route is for: all that fit each of these; what is empty fits every one."""

    labels: Mapping[str, str] = field(default_factory=dict)
    job_ids: tuple[str, ...] = ()
    kinds: tuple[AlertKind, ...] = ()
    severities: tuple[Severity, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", check_labels(self.labels))
        for name, kind in (("job_ids", str), ("kinds", AlertKind), ("severities", Severity)):
            listed = tuple(getattr(self, name))
            if len(listed) > MOST_MATCHED:
                raise InvalidRequest(f"{name} has at most {MOST_MATCHED} entries.", name)
            object.__setattr__(self, name, tuple(map(kind, listed)))

    def fits(self, condition: Condition) -> bool:
        """Is the route for this condition?"""
        return (
            has_labels(condition.labels, self.labels)
            and (not self.job_ids or condition.job_id in self.job_ids)
            and (not self.kinds or condition.kind in self.kinds)
            and (not self.severities or condition.severity in self.severities)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRoute:
    """Sends the conditions that it matches to one channel."""

    id: str
    name: str
    channel: Channel
    match: RouteMatch = RouteMatch()
    tenant_id: str = "default"
    enabled: bool = True
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        convert_to_utc(self, "created_at")

    def takes(self, condition: Condition) -> bool:
        """Does a message about this condition go here?"""
        return self.enabled and condition.tenant_id == self.tenant_id and self.match.fits(condition)
