"""Conditions, and the messages about them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from cadenza.adapters.stores.common import condition_matches, not_found
from cadenza.adapters.stores.memory.tables import MemoryTables, StoredAlertMessage
from cadenza.domain.monitoring.alert_message import DEFAULT_ROUTE, AlertMessage, Surroundings
from cadenza.domain.monitoring.condition import (
    MUTED_STATES,
    Condition,
    ConditionKey,
    ConditionState,
    condition_key,
    endpoint_condition,
    frees_others,
)
from cadenza.ports.alerting import (
    EVERY_CONDITION,
    AlertRule,
    ConditionChange,
    ConditionFilter,
    Gathering,
    MessageRule,
    MessageToSend,
)
from cadenza.ports.catalog import FIRST_PAGE, Page


class MemoryConditions:
    """Conditions in memory; whoever has the lock decides alone."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def apply_alerts(self, rule: AlertRule, *, limit: int, release_at: datetime) -> int:
        with self._lock:
            waiting = [one for one in self._tables.alerts.values() if not one.applied]
            taken = sorted(waiting, key=lambda one: (one.alert.raised_at, one.alert.key))[:limit]
            for one in taken:
                key = condition_key(one.alert)
                self._put(rule(self._tables.conditions.get(key), one.alert), release_at)
                one.applied = True
            return len(taken)

    async def plan_messages(self, rule: MessageRule, gathering: Gathering) -> int:
        with self._lock:
            due = self._due(gathering)
            if not due:
                return 0
            plan = rule(due, self._surroundings(due, gathering))
            self._tables.conditions |= {one.key: one for one in plan.conditions}
            for message in plan.messages:
                stored = StoredAlertMessage(message, gathering.now)
                self._tables.alert_messages.setdefault(message.key, stored)
            return len(due)

    async def condition(self, key: ConditionKey) -> Condition:
        with self._lock:
            return self._condition(key)

    async def conditions(
        self, tenant_id: str, *, wanted: ConditionFilter = EVERY_CONDITION, page: Page = FIRST_PAGE
    ) -> list[Condition]:
        with self._lock:
            own = [one for one in self._tables.conditions.values() if one.tenant_id == tenant_id]
            last = self._tables.conditions.get(ConditionKey(tenant_id, page.after or ""))
        if page.after is not None and last is None:
            return []
        found = sorted((one for one in own if condition_matches(one, wanted)), key=_newest_last, reverse=True)
        return list(
            islice(
                (one for one in found if last is None or _newest_last(one) < _newest_last(last)), page.limit
            )
        )

    async def count_conditions(self, tenant_id: str) -> Mapping[ConditionState, int]:
        with self._lock:
            return Counter(
                one.state
                for one in self._tables.conditions.values()
                if one.tenant_id == tenant_id and one.open
            )

    async def amend_condition(
        self, key: ConditionKey, change: ConditionChange, *, release_at: datetime
    ) -> Condition:
        with self._lock:
            after = change(self._condition(key))
            self._put(after, release_at)
            if after.state in MUTED_STATES:
                drop_messages(self._tables, key)
            return after

    async def open_conditions(self, *, after: ConditionKey | None, limit: int) -> list[Condition]:
        with self._lock:
            found = sorted((one for one in self._tables.conditions.values() if one.open), key=_by_key)
        return [one for one in found if after is None or one.key > after][:limit]

    async def forget_conditions(self, before: datetime) -> None:
        with self._lock:
            for one in list(self._tables.conditions.values()):
                silent_until = one.silenced_until or one.since
                if not one.open and one.since < before and silent_until < before:
                    del self._tables.conditions[one.key]

    def _condition(self, key: ConditionKey) -> Condition:
        try:
            return self._tables.conditions[key]
        except KeyError:
            raise not_found("condition", key.id) from None

    def _put(self, after: Condition, release_at: datetime) -> None:
        before = self._tables.conditions.get(after.key)
        self._tables.conditions[after.key] = after
        if frees_others(before, after):
            for one in list(self._tables.conditions.values()):
                if (one.tenant_id, one.suppressed_by) == (after.tenant_id, after.endpoint_id):
                    self._tables.conditions[one.key] = replace(one, decide_at=release_at)

    def _due(self, gathering: Gathering) -> list[Condition]:
        planned = [one for one in self._tables.conditions.values() if one.decide_at is not None]
        soonest = sorted(planned, key=lambda one: (one.decide_at, one.key))
        due = [one for one in soonest if _decide_by(one, gathering.now)][: gathering.limit]
        jobs = {(one.tenant_id, one.job_id) for one in due if one.job_id is not None}
        keys = {one.key for one in due}
        beside = [
            one
            for one in soonest
            if one.key not in keys
            and (one.tenant_id, one.job_id) in jobs
            and _decide_by(one, gathering.together_until)
        ]
        return due + beside[: gathering.limit]

    def _surroundings(self, due: Sequence[Condition], gathering: Gathering) -> Surroundings:
        tenants = {one.tenant_id for one in due}
        routes = {
            tenant_id: [
                route for (owner, _), route in sorted(self._tables.alert_routes.items()) if owner == tenant_id
            ]
            for tenant_id in tenants
        }
        return Surroundings(routes=routes, parents=self._parents(due), has_default=gathering.has_default)

    def _parents(self, due: Iterable[Condition]) -> dict[ConditionKey, Condition]:
        found: dict[ConditionKey, Condition] = {}
        below = list(due)
        while below:
            one = below.pop()
            if one.parent_id is None:
                continue
            key = endpoint_condition(one.tenant_id, one.parent_id)
            parent = self._tables.conditions.get(key)
            if parent is not None and key not in found:
                found[key] = parent
                below.append(parent)
        return found


class MemoryAlertMessages:
    """Messages in memory."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def take_messages(
        self, *, now: datetime, until: datetime, limit: int, default: bool = True
    ) -> list[MessageToSend]:
        with self._lock:
            first = _first_raised(one.message for one in self._tables.alert_messages.values())
            due = [
                one
                for one in self._tables.alert_messages.values()
                if one.due_at <= now
                and (default or one.message.route_id != DEFAULT_ROUTE)
                and one.message.alert.raised_at <= first.get(_about(one.message), one.message.alert.raised_at)
            ]
            taken = sorted(due, key=lambda one: (one.message.alert.raised_at, one.message.key))[:limit]
            for one in taken:
                one.due_at, one.attempts = until, one.attempts + 1
            return [MessageToSend(one.message, one.attempts) for one in taken]

    async def settle_message(self, key: str, again_at: datetime | None) -> None:
        with self._lock:
            if again_at is None:
                self._tables.alert_messages.pop(key, None)
            elif key in self._tables.alert_messages:
                self._tables.alert_messages[key].due_at = again_at

    async def forget_messages(self, before: datetime) -> None:
        with self._lock:
            self._tables.alert_messages = {
                key: one
                for key, one in self._tables.alert_messages.items()
                if one.message.alert.raised_at >= before
            }


def drop_messages(tables: MemoryTables, about: ConditionKey) -> None:
    """Delete the messages about one condition alone; with the lock held."""
    for key, stored in list(tables.alert_messages.items()):
        if (stored.message.tenant_id, stored.message.condition_id) == about:
            del tables.alert_messages[key]


def _first_raised(messages: Iterable[AlertMessage]) -> dict[tuple[str, ...], datetime]:
    """When the oldest alert was raised that waits for a route about one condition alone."""
    found: dict[tuple[str, ...], datetime] = {}
    for one in messages:
        if one.condition_id is not None:
            found[_about(one)] = min(one.alert.raised_at, found.get(_about(one), one.alert.raised_at))
    return found


def _about(message: AlertMessage) -> tuple[str, ...]:
    return message.tenant_id, message.route_id, message.condition_id or ""


def _decide_by(condition: Condition, moment: datetime) -> bool:
    return condition.decide_at is not None and condition.decide_at <= moment


def _newest_last(condition: Condition) -> tuple[datetime, str]:
    return condition.since, condition.id


def _by_key(condition: Condition) -> ConditionKey:
    return condition.key
