"""Alert messages: what is sent of conditions, grouped, and held back while a parent is down."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from cadenza.domain.monitoring.alert import Alert, AlertState, Severity
from cadenza.domain.monitoring.alert_route import AlertRoute
from cadenza.domain.monitoring.condition import (
    OF_ENDPOINTS,
    Condition,
    ConditionKey,
    ConditionState,
    endpoint_condition,
    with_state,
)

DEFAULT_ROUTE = ""
"""The route of the settings, for tenants that have none of their own."""
NAMED = 3
"""So many endpoints are named in the text of a group."""
LISTED = 100
"""So many are listed in its facts."""
LONGEST_ERROR = 80
RECHECK = timedelta(minutes=5)
"""How often it is looked whether the parent of a suppressed condition is still down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertMessage:
    """What is sent to one route; its key names it once and for all."""

    tenant_id: str
    route_id: str
    alert: Alert
    condition_id: str | None
    """None if it is about several."""

    @property
    def key(self) -> str:
        """The same for the same message, whoever makes it."""
        return f"{self.route_id}|{self.alert.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What decides about messages beside the conditions themselves."""

    routes: Mapping[str, Sequence[AlertRoute]] = field(default_factory=dict)
    """The routes of each tenant."""
    parents: Mapping[ConditionKey, Condition] = field(default_factory=dict)
    """Conditions of the endpoints that others depend on, as far up as there are any."""
    has_default: bool = False
    """Whether there is a default route."""


class MessagePlan(NamedTuple):
    """What was decided about conditions: each as it is now, and the messages about them."""

    conditions: list[Condition]
    messages: list[AlertMessage]


def plan_messages(due: Iterable[Condition], around: Surroundings, now: datetime) -> MessagePlan:
    """Decide what is sent of conditions whose moment has come.

    1. What is acknowledged or silenced is not sent; a silence that is over makes it fire again.
    2. What depends on an endpoint that is down waits until that is resolved.
    3. What is left of one job goes together, beginnings and ends apart.
    4. Each route gets one message about those that it matches.
    """
    quiet, loud = [], []
    for condition in (with_state(one, now) for one in due):
        parent = down_parent(condition, around.parents)
        if condition.state in (ConditionState.ACKNOWLEDGED, ConditionState.SILENCED):
            quiet.append(condition)
        elif condition.state is ConditionState.FIRING and parent is not None:
            quiet.append(replace(condition, suppressed_by=parent, decide_at=now + RECHECK))
        else:
            loud.append(replace(condition, suppressed_by=None, decide_at=None))
    sent: list[Condition] = []
    messages: list[AlertMessage] = []
    for group in _groups(loud):
        messages += _messages(group, around, now)
        sent += [replace(one, sent=one.sent + 1, grouped=len(group)) for one in group]
    return MessagePlan([*quiet, *sent], messages)


def down_parent(condition: Condition, parents: Mapping[ConditionKey, Condition]) -> str | None:
    """The endpoint that a condition waits for, because it is down; None if it waits for none.

    Endpoints that depend on each other in a circle, which two writers at once could make, wait for none.
    """
    if condition.parent_id is None:
        return None
    parent = parents.get(endpoint_condition(condition.tenant_id, condition.parent_id))
    if parent is None or not parent.open:
        return None
    above: Condition | None = parent
    seen = {condition.endpoint_id}
    while above is not None and above.endpoint_id not in seen:
        seen.add(above.endpoint_id)
        if above.parent_id is None:
            return condition.parent_id
        if above.parent_id in seen:
            return None
        above = parents.get(endpoint_condition(condition.tenant_id, above.parent_id))
    return condition.parent_id


def _groups(loud: Iterable[Condition]) -> Iterator[list[Condition]]:
    """Those that share a message: of one job, all that begin or all that end; everything else is alone."""
    found: dict[tuple[str, ...], list[Condition]] = {}
    for one in sorted(loud, key=lambda one: (one.since, one.tenant_id, one.endpoint_id or one.id)):
        of_job = one.kind in OF_ENDPOINTS and one.job_id is not None
        subject = (one.tenant_id, "job", str(one.job_id)) if of_job else (*one.key, "alone")
        found.setdefault((*subject, one.alert.state.value), []).append(one)
    yield from found.values()


def _messages(group: Sequence[Condition], around: Surroundings, now: datetime) -> Iterator[AlertMessage]:
    tenant_id = group[0].tenant_id
    routes = around.routes.get(tenant_id, ())
    if not routes and around.has_default:
        yield _message(DEFAULT_ROUTE, group, now)
    for route in routes:
        members = [one for one in group if route.takes(one)]
        if members:
            yield _message(route.id, members, now)


def _message(route_id: str, members: Sequence[Condition], now: datetime) -> AlertMessage:
    first = members[0]
    if len(members) > 1:
        alert, about = group_alert(members, now), None
    else:
        again = f":{first.sent}" if first.sent and first.open else ""
        alert, about = replace(first.alert, key=f"{first.alert.key}{again}"), first.id
    return AlertMessage(tenant_id=first.tenant_id, route_id=route_id, alert=alert, condition_id=about)


def group_alert(members: Sequence[Condition], now: datetime) -> Alert:
    """One alert about endpoints of a job: it says how many, and names the first few."""
    first, keys = members[0], [one.alert.key for one in members]
    over = first.alert.state is AlertState.OVER
    what = "recovered" if over else "are failing"
    words = [str(one.endpoint_id) if over else _with_error(one) for one in members[:NAMED]]
    rest = len(members) - len(words)
    names = f"{', '.join(words)} and {rest} more" if rest else f"{', '.join(words[:-1])} and {words[-1]}"
    digest = sha256("\n".join([*keys, str(now)]).encode()).hexdigest()[:24]
    return Alert(
        key=f"group:{first.tenant_id}:{digest}",
        kind=first.kind,
        state=first.alert.state,
        text=f"{len(members)} endpoints of job {first.job_id} {what}: {names}.",
        raised_at=now,
        facts={
            "tenant_id": first.tenant_id,
            "job_id": first.job_id,
            "severity": max((one.severity for one in members), key=list(Severity).index).value,
            "count": len(members),
            "endpoint_ids": [one.endpoint_id for one in members[:LISTED]],
            "keys": keys[:LISTED],
        },
    )


def _with_error(condition: Condition) -> str:
    facts = condition.alert.facts
    error = " ".join(str(facts.get("error") or facts.get("reason") or "").split())
    short = error if len(error) <= LONGEST_ERROR else f"{error[: LONGEST_ERROR - 1]}…"
    return f"{condition.endpoint_id} ({short})" if short else str(condition.endpoint_id)
