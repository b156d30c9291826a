"""Alerts: what people are told, in words, and once each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from cadenza.domain.validation import iso

LEVELS = (80, 95)
"""At these percents of a quota somebody is told."""


class AlertKind(StrEnum):
    """What an alert is about."""

    SLO = "slo"
    ENDPOINT = "endpoint"
    QUOTA = "quota"


class AlertState(StrEnum):
    """Has it begun, or is it over?"""

    BEGUN = "begun"
    OVER = "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """Something that people are told once; its key is what it is about, and which time that happened."""

    key: str
    kind: AlertKind
    state: AlertState
    text: str
    raised_at: datetime
    facts: Mapping[str, Any] = field(default_factory=dict)


class Raised(NamedTuple):
    """An alert, and whether it is to be sent; else it is only shown."""

    alert: Alert
    owed: bool


Facts = Mapping[str, Any]


def about_endpoint(tenant_id: str, endpoint_id: str) -> str:
    """What the keys of all alerts about an endpoint begin with."""
    return f"{AlertKind.ENDPOINT}:{tenant_id}:{endpoint_id}:"


def told_to(tenant_id: str) -> tuple[str, str, str]:
    """What the keys begin with of all alerts that are a tenant's own, or nobody's; and maybe others'."""
    return f"{AlertKind.SLO}:", f"{AlertKind.ENDPOINT}:{tenant_id}:", f"{AlertKind.QUOTA}:{tenant_id}:"


def is_told_to(tenant_id: str, alert: Alert) -> bool:
    """Is an alert this tenant's own, or nobody's?"""
    return bool(alert.facts.get("tenant_id", tenant_id) == tenant_id)


def of_slo(facts: Facts, now: datetime) -> Alert:
    """A promise that is broken, or kept again; its key is when the breach began."""
    state = AlertState(facts["change"])
    about = f"{facts['slo']} of the {facts['scheduler']} scheduler"
    measured = f"{_number(facts['value'])} against {_number(facts['threshold'])}"
    words = "is breached" if state is AlertState.BEGUN else "is kept again"
    return Alert(
        key=f"slo:{facts['process']}:{facts['scheduler']}:{facts['slo']}:{facts['since']}:{state}",
        kind=AlertKind.SLO,
        state=state,
        text=f"SLO {about} {words}: {measured}, over {facts['window_minutes']} minutes.",
        raised_at=now,
        facts=facts,
    )


def of_failures(facts: Facts, now: datetime, *, most: int) -> Alert | None:
    """An endpoint whose failures in a row are just as many as people want to know of."""
    if facts["failures"] != most:
        return None
    return Alert(
        key=f"{about_endpoint(facts['tenant_id'], facts['endpoint_id'])}{facts['run_id']}:begun",
        kind=AlertKind.ENDPOINT,
        state=AlertState.BEGUN,
        text=f"Endpoint {facts['endpoint_id']} has failed {_many(most, 'time')} in a row: {facts['error']}",
        raised_at=now,
        facts=facts,
    )


def of_recovery(facts: Facts, now: datetime, *, most: int) -> Alert | None:
    """An endpoint that is well again, if its failures were alerted."""
    if facts["failures"] < most:
        return None
    failures = int(facts["failures"])
    return Alert(
        key=f"{about_endpoint(facts['tenant_id'], facts['endpoint_id'])}{facts['run_id']}:over",
        kind=AlertKind.ENDPOINT,
        state=AlertState.OVER,
        text=f"Endpoint {facts['endpoint_id']} is well again after {_many(failures, 'failure')} in a row.",
        raised_at=now,
        facts=facts,
    )


def of_quota(facts: Facts, now: datetime) -> Alert | None:
    """The highest level of a month's quota that is reached; each is told once a month."""
    percent = reached(int(facts["spent"]), int(facts["limit"]))
    if percent is None:
        return None
    about = f"{facts['tenant_id']}:{facts['resource']}:{facts['month']}:{percent}"
    used = f"{int(facts['spent']):,} of {int(facts['limit']):,} {facts['resource']}"
    return Alert(
        key=f"quota:{about}",
        kind=AlertKind.QUOTA,
        state=AlertState.BEGUN,
        text=f"Tenant {facts['tenant_id']} has spent {percent} % of its quota: {used} in {facts['month']}.",
        raised_at=now,
        facts={**facts, "percent": percent},
    )


def reached(spent: int, limit: int) -> int | None:
    """The highest level that spending has reached, in percent; None if it is below all of them."""
    return max((level for level in LEVELS if spent * 100 >= level * limit), default=None)


def as_event(alert: Alert) -> dict[str, Any]:
    """The alert as other programs read it."""
    return {
        "type": f"cadenza.{alert.kind}.{alert.state}",
        "timestamp": iso(alert.raised_at),
        "data": {"key": alert.key, "text": alert.text, **alert.facts},
    }


def as_slack(alert: Alert) -> dict[str, Any]:
    """The alert as a message that Slack and its kin show."""
    sign = ":white_check_mark:" if alert.state is AlertState.OVER else ":rotating_light:"
    plain = alert.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": f"{sign} {plain}"}


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _number(value: float | None) -> str:
    return "nothing" if value is None else f"{value:,.4g}" if abs(value) < 1 else f"{value:,.0f}"
