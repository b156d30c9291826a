"""Conditions: what alerts are about, each with a state, and the rules that change it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple

from cadenza.domain.access.key import OPERATOR
from cadenza.domain.errors import Conflict, InvalidRequest, NotAllowed
from cadenza.domain.monitoring.alert import Alert, AlertKind, AlertState, Severity
from cadenza.domain.scheduling.hint import Rank, origin_text, rank_of

"""The tenant that the conditions of the whole installation belong to."""
OF_ENDPOINTS = frozenset({AlertKind.ENDPOINT, AlertKind.HEARTBEAT})
HEARD: dict[str, Any] = {"silenced_until": None, "silence_reason": None, "silenced_by": None}
"""Without a silence."""
LONGEST_OF_MODELS = timedelta(hours=24)
WARNING_PERCENT = 80
"""A quota that is spent further than that is critical."""


class ConditionState(StrEnum):
    """What a condition is in."""

    FIRING = "firing"
    ACKNOWLEDGED = "acknowledged"
    """It fires, and a person has it in hand: nothing more is sent until it is over or gets worse."""
    SILENCED = "silenced"
    """It fires, and nothing but its end is sent until a moment."""
    RESOLVED = "resolved"


MUTED_STATES = frozenset({ConditionState.ACKNOWLEDGED, ConditionState.SILENCED})
"""In which nothing is sent."""


class ConditionKey(NamedTuple):
    """The identity of a condition within its tenant."""

    tenant_id: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What alerts are about: an endpoint, an SLO or a quota. It fires and is resolved, again and again."""

    tenant_id: str
    id: str
    alert: Alert
    """The newest one about it; it gives the kind and the text."""
    since: datetime
    """When it began to fire, the last time."""
    severity: Severity = Severity.WARNING
    state: ConditionState = ConditionState.FIRING
    job_id: str | None = None
    endpoint_id: str | None = None
    parent_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    resolved_at: datetime | None = None
    acknowledged_at: datetime | None = None
    acknowledged_by: str | None = None
    note: str | None = None
    silenced_until: datetime | None = None
    silence_reason: str | None = None
    silenced_by: str | None = None
    """Who silenced it; no lower rank changes or ends that."""
    suppressed_by: str | None = None
    """The endpoint for which nothing is sent about this one, because it depends on it."""
    grouped: int = 1
    """How many conditions its last message was about."""
    sent: int = 0
    """How many messages were made since it began to fire."""
    decide_at: datetime | None = None
    """When it is decided whether a message is sent; None while there is nothing to decide."""

    @property
    def key(self) -> ConditionKey:
        """Its identity."""
        return ConditionKey(self.tenant_id, self.id)

    @property
    def kind(self) -> AlertKind:
        """What kind of thing it is about."""
        return self.alert.kind

    @property
    def open(self) -> bool:
        """Does it fire, whether or not anything is sent?"""
        return self.state is not ConditionState.RESOLVED


def condition_key(alert: Alert) -> ConditionKey:
    """The condition that an alert is about."""
    facts = alert.facts
    if alert.kind is AlertKind.SLO:
        return _key(OPERATOR, "slo", *(str(facts.get(part)) for part in ("process", "scheduler", "slo")))
    tenant_id = str(facts.get("tenant_id", OPERATOR))
    if alert.kind is AlertKind.QUOTA:
        return _key(tenant_id, "quota", str(facts.get("resource")))
    if "endpoint_id" not in facts:
        return _key(tenant_id, "alert", alert.key)
    return endpoint_condition(tenant_id, str(facts["endpoint_id"]))


def endpoint_condition(tenant_id: str, endpoint_id: str) -> ConditionKey:
    """The condition that alerts about an endpoint are about."""
    return _key(tenant_id, "endpoint", endpoint_id)


def after_alert(before: Condition | None, alert: Alert, now: datetime, *, gather: timedelta) -> Condition:
    """A condition after one more alert about it.

    1. The end of something resolves it; that is sent if its beginning was, or was lost.
    2. The beginning opens it, or opens it anew: the acknowledgement of the last time is over,
       a silence lasts until its own end.
    3. While it is open, another alert changes its text. It is sent unless it is acknowledged or
       silenced; one that is more severe ends an acknowledgement.
    4. What is about endpoints waits for `gather`, so that one message can name several.
    """
    wait = gather if alert.kind in OF_ENDPOINTS else timedelta(0)
    base = before or _new(alert)
    if alert.state is AlertState.OVER:
        return _resolved(base, alert, now, decide_at=now + wait, told=before is None or before.sent > 0)
    about = _about(alert)
    if before is None or not before.open:
        fresh = replace(
            base,
            alert=alert,
            **about,
            since=alert.raised_at,
            resolved_at=None,
            acknowledged_at=None,
            acknowledged_by=None,
            note=None,
            suppressed_by=None,
            sent=0,
            grouped=1,
        )
        return with_state(replace(fresh, decide_at=now + wait), now)
    worse = _rank(about["severity"]) > _rank(before.severity)
    changed = replace(before, alert=alert, **about)
    if worse:
        changed = replace(changed, acknowledged_at=None, acknowledged_by=None, note=None)
    return with_state(replace(changed, decide_at=now + wait), now)


def with_state(condition: Condition, now: datetime) -> Condition:
    """The condition in the state that its fields mean now.

    What is resolved is neither acknowledged nor silenced; what is acknowledged is not sent, also
    when a silence ends; what is silenced is decided when its silence is over.
    """
    if condition.resolved_at is not None:
        return replace(condition, state=ConditionState.RESOLVED)
    if condition.acknowledged_at is not None:
        return replace(condition, state=ConditionState.ACKNOWLEDGED, decide_at=None)
    until = condition.silenced_until
    if until is not None and until > now:
        return replace(condition, state=ConditionState.SILENCED, decide_at=until)
    return replace(condition, state=ConditionState.FIRING, **HEARD)


def acknowledge(condition: Condition, *, by: str, note: str | None, now: datetime) -> Condition:
    """A condition that a person has in hand; Conflict if it is over."""
    _require_open(condition)
    taken = replace(condition, acknowledged_at=now, acknowledged_by=by, note=note)
    return with_state(taken, now)


def silence(
    condition: Condition, *, until: datetime, reason: str | None, now: datetime, by: str
) -> Condition:
    """A condition of which nothing is sent until a moment, also if it begins anew before it.

    A model silences for a day at most.
    """
    if until <= now:
        raise InvalidRequest("The end of a silence must be in the future.", "until")
    if rank_of(by) <= Rank.LLM and until > now + LONGEST_OF_MODELS:
        raise NotAllowed("A model silences for 24 hours at most: ask a person to silence for longer.")
    _check_silence(condition, by, now)
    return with_state(replace(condition, silenced_until=until, silence_reason=reason, silenced_by=by), now)


def unsilence(condition: Condition, now: datetime, *, by: str) -> Condition:
    """A condition without its silence: if it fires, it is sent now. Conflict if it is not silenced."""
    if condition.silenced_until is None or condition.silenced_until <= now:
        raise Conflict("The condition is not silenced.")
    _check_silence(condition, by, now)
    heard = replace(condition, **HEARD)
    waits = condition.decide_at if condition.state is not ConditionState.SILENCED else now
    return with_state(replace(heard, decide_at=waits), now)


def close(condition: Condition, why: str, now: datetime) -> Condition:
    """A condition that is over without an alert that says so."""
    alert = replace(
        condition.alert,
        key=f"{condition.alert.key}:closed",
        state=AlertState.OVER,
        text=f"No longer an alert: {why} It was: {condition.alert.text}",
        raised_at=now,
    )
    return _resolved(condition, alert, now, decide_at=now, told=condition.sent > 0)


def frees_others(before: Condition | None, after: Condition) -> bool:
    """Is it decided anew about conditions that depend on its endpoint?"""
    was_open = before is not None and before.open
    return was_open and not after.open and after.endpoint_id is not None


def _resolved(
    condition: Condition, alert: Alert, now: datetime, *, decide_at: datetime, told: bool
) -> Condition:
    if not condition.open:
        return condition
    return replace(
        condition,
        alert=alert,
        state=ConditionState.RESOLVED,
        resolved_at=now,
        acknowledged_at=None,
        acknowledged_by=None,
        note=None,
        suppressed_by=None,
        decide_at=decide_at if told else None,
    )


def _new(alert: Alert) -> Condition:
    tenant_id, id_ = condition_key(alert)
    return Condition(tenant_id=tenant_id, id=id_, alert=alert, since=alert.raised_at, **_about(alert))


def _about(alert: Alert) -> dict[str, Any]:
    facts = alert.facts
    return {
        "severity": _severity(alert),
        "job_id": facts.get("job_id"),
        "endpoint_id": facts.get("endpoint_id"),
        "parent_id": facts.get("parent_id"),
        "labels": facts.get("labels") or {},
    }


def _severity(alert: Alert) -> Severity:
    if alert.kind is AlertKind.SLO:
        return Severity.CRITICAL
    if alert.kind is AlertKind.QUOTA:
        high = int(alert.facts.get("percent", 0)) > WARNING_PERCENT
        return Severity.CRITICAL if high else Severity.WARNING
    return Severity(alert.facts.get("severity", Severity.WARNING))


def _rank(severity: object) -> int:
    return list(Severity).index(Severity(str(severity)))


def _check_silence(condition: Condition, by: str, now: datetime) -> None:
    """NotAllowed if a higher rank silenced it until a moment that is ahead."""
    until, who = condition.silenced_until, condition.silenced_by
    if until is not None and until > now and who is not None and rank_of(who) > rank_of(by):
        raise NotAllowed(f"{origin_text(who)} silenced it, which ranks higher than {origin_text(by)}.")


def _require_open(condition: Condition) -> None:
    if not condition.open:
        raise Conflict("The condition is resolved already.")


def _key(tenant_id: str, *parts: str) -> ConditionKey:
    """An id that is the same wherever it is made, and that no other parts have."""
    digest = sha256(json.dumps(parts).encode()).hexdigest()
    return ConditionKey(tenant_id, f"{parts[0]}-{digest[:24]}")
