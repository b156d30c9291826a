"""Alerts about objectives, endpoints and quotas: their texts, and keys that make each unique."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any

from cadenza.domain.channel import Mark, slack_text
from cadenza.domain.validation import iso

LEVELS = (80, 95)
"""The percentages of a quota at which an alert is raised."""


class AlertKind(StrEnum):
    """What an alert is about."""

    SLO = "slo"
    ENDPOINT = "endpoint"
    HEARTBEAT = "heartbeat"
    """An endpoint whose work somebody else schedules: its heartbeat is missing, or reports a failure."""
    QUOTA = "quota"


class Severity(StrEnum):
    """How much an alert matters, from the least on."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class AlertState(StrEnum):
    """Whether it has begun or is over."""

    BEGUN = "begun"
    OVER = "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A message for operators, raised once for each key; the key names the subject and the occasion."""

    key: str
    kind: AlertKind
    state: AlertState
    text: str
    raised_at: datetime
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt to send it."""
        return f"alert-{sha256(self.key.encode()).hexdigest()[:32]}"

    @property
    def title(self) -> str:
        """A few words about what it is."""
        over = self.state is AlertState.OVER
        return "Resolved" if over else f"Alert: {self.facts.get('severity', self.kind)}"

    @property
    def mark(self) -> Mark:
        """How a service shows it, and as the end of an incident where a service knows such."""
        if self.state is AlertState.OVER:
            return Mark.SUCCESS
        marks = {"info": Mark.INFO, "critical": Mark.FAILURE}
        return marks.get(str(self.facts.get("severity")), Mark.WARNING)

    def as_event(self) -> dict[str, Any]:
        """The alert as a JSON event."""
        return {
            "type": f"cadenza.{self.kind}.{self.state}",
            "timestamp": iso(self.raised_at),
            "data": {"key": self.key, "text": self.text, **self.facts},
        }

    def as_slack(self) -> dict[str, Any]:
        """The alert as a message for Slack and compatible services."""
        sign = ":white_check_mark:" if self.state is AlertState.OVER else ":rotating_light:"
        return {"text": f"{sign} {slack_text(self.text)}"}


Facts = Mapping[str, Any]


def about_endpoint(tenant_id: str, endpoint_id: str) -> str:
    """The prefix of the keys of all alerts about an endpoint."""
    return f"{AlertKind.ENDPOINT}:{tenant_id}:{endpoint_id}:"


def alert_key_prefixes(tenant_id: str) -> tuple[str, str, str]:
    """Key prefixes of a tenant's alerts and the system's; keys of other tenants may match, too."""
    return f"{AlertKind.SLO}:", f"{AlertKind.ENDPOINT}:{tenant_id}:", f"{AlertKind.QUOTA}:{tenant_id}:"


def concerns_tenant(tenant_id: str, alert: Alert) -> bool:
    """Whether an alert is the tenant's own or the system's."""
    return bool(alert.facts.get("tenant_id", tenant_id) == tenant_id)


def slo_alert(facts: Facts, now: datetime) -> Alert:
    """An objective that is breached or met again; its key holds when the breach began."""
    state = AlertState(facts["change"])
    about = f"{facts['slo']} of the {facts['scheduler']} scheduler"
    measured = f"{_number(facts['value'])} against {_number(facts['threshold'])}"
    words = "is breached" if state is AlertState.BEGUN else "is OK again"
    return Alert(
        key=f"slo:{facts['process']}:{facts['scheduler']}:{facts['slo']}:{facts['since']}:{state}",
        kind=AlertKind.SLO,
        state=state,
        text=f"SLO {about} {words}: {measured}, over {facts['window_minutes']} minutes.",
        raised_at=now,
        facts=facts,
    )


def failure_alert(facts: Facts, now: datetime, *, most: int) -> Alert | None:
    """An endpoint that has failed exactly `most` times in a row; else None."""
    if facts["failures"] != most:
        return None
    return Alert(
        key=f"{about_endpoint(facts['tenant_id'], facts['endpoint_id'])}{facts['run_id']}:begun",
        kind=_kind_of(facts),
        state=AlertState.BEGUN,
        text=f"Endpoint {facts['endpoint_id']} has {_many(most, 'consecutive failure')}: {facts['error']}",
        raised_at=now,
        facts=facts,
    )


def recovery_alert(facts: Facts, now: datetime, *, most: int) -> Alert | None:
    """An endpoint that succeeds again, if its failures were alerted; else None."""
    if facts["failures"] < most:
        return None
    failures = int(facts["failures"])
    return Alert(
        key=f"{about_endpoint(facts['tenant_id'], facts['endpoint_id'])}{facts['run_id']}:over",
        kind=_kind_of(facts),
        state=AlertState.OVER,
        text=f"Endpoint {facts['endpoint_id']} recovered after {_many(failures, 'consecutive failure')}.",
        raised_at=now,
        facts=facts,
    )


def pause_alert(facts: Facts, now: datetime) -> Alert:
    """An endpoint that was paused until resumed; it says why, and what the way back is."""
    return Alert(
        key=f"{about_endpoint(facts['tenant_id'], facts['endpoint_id'])}{facts['run_id']}:paused",
        kind=_kind_of(facts),
        state=AlertState.BEGUN,
        text=f"Endpoint {facts['endpoint_id']} is paused until resumed: {facts['reason']}",
        raised_at=now,
        facts=facts,
    )


def quota_alert(facts: Facts, now: datetime) -> Alert | None:
    """The highest level of a month's quota that is reached; each is alerted once a month."""
    percent = quota_level(int(facts["spent"]), int(facts["limit"]))
    if percent is None:
        return None
    about = f"{facts['tenant_id']}:{facts['resource']}:{facts['month']}:{percent}"
    used = f"{int(facts['spent']):,} of {int(facts['limit']):,} {facts['resource']}"
    return Alert(
        key=f"quota:{about}",
        kind=AlertKind.QUOTA,
        state=AlertState.BEGUN,
        text=f"Tenant {facts['tenant_id']} has used {percent} % of its quota: {used} in {facts['month']}.",
        raised_at=now,
        facts={**facts, "percent": percent},
    )


def quota_level(spent: int, limit: int) -> int | None:
    """The highest level that usage has reached, in percent; None if it is below all of them."""
    return max((level for level in LEVELS if spent * 100 >= level * limit), default=None)


def _kind_of(facts: Facts) -> AlertKind:
    return AlertKind.HEARTBEAT if facts.get("heartbeat") else AlertKind.ENDPOINT


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _number(value: float | None) -> str:
    return "no data" if value is None else f"{value:,.4g}" if abs(value) < 1 else f"{value:,.0f}"
