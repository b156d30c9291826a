"""The JSON model of the calendars that an endpoint or a schedule keeps to, and its way to the domain."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

from pydantic import BaseModel

from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.named_rules import (
    CLEARED,
    NO_NAMED_RULES,
    OWN,
    NamedRules,
    changed_rules,
    named_rules,
)
from cadenza.domain.scheduling.calendars.rules import CalendarRules, WhenClosed
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import Shape, part, unvalidated
from cadenza.operations.fields import Id, Moment
from cadenza.operations.scheduling.endpoint_parts.baselines import find_calendars

CALENDAR = "calendar"
"""Its name on the wire; the calendars of a job stand beside it in the domain, as `calendar_rules`."""


class GivenRules(Protocol):
    """What a command says of calendars."""

    def changes(self) -> dict[str, Any]:
        """The fields that were given."""
        ...


class CalendarRulesShape(Shape):
    """When it may run: calendars by their ids, a start and an end.

    Of a change, what is left out stays as it is, and null takes it away.
    """

    only_during: Id | None = None
    """It runs only while this calendar is open."""
    never_during: Id | None = None
    """It does not run while this calendar is open."""
    when_closed: WhenClosed = WhenClosed.SKIP
    """What becomes of a slot while it may not run: it is skipped, with a verdict, or it runs at the end."""
    starts_at: Moment | None = None
    """Nothing runs before."""
    ends_at: Moment | None = None
    """Nothing runs then or later."""

    def to_domain(self) -> NamedRules:
        """The rules, with the ids of calendars."""
        return NamedRules(**{name: getattr(self, name) for name in OWN})

    @property
    def calendar_ids(self) -> set[str]:
        """The calendars that it names."""
        return {id_ for id_ in (self.only_during, self.never_during) if id_ is not None}

    def changes(self) -> dict[str, Any]:
        """The fields that were given."""
        return {name: getattr(self, name) for name in OWN if name in self.model_fields_set}


def named_rules_of(shape: CalendarRulesShape | None) -> NamedRules:
    """The rules as they were written; None is without rules."""
    return NO_NAMED_RULES if shape is None else part(CALENDAR, shape.to_domain)


def calendar_rules_shape(rules: CalendarRules) -> CalendarRulesShape | None:
    """The rules that an owner wrote, as JSON has them; None without rules, whatever the job says."""
    return named_rules_shape(named_rules(rules))


def named_rules_shape(named: NamedRules) -> CalendarRulesShape | None:
    """Rules as JSON has them; None without rules."""
    if named == NO_NAMED_RULES:
        return None
    return unvalidated(CalendarRulesShape, {name: getattr(named, name) for name in OWN})


def changed_fields(command: BaseModel) -> Mapping[str, Any] | None:
    """Which rules a command changes, and to what; None if it says nothing about them."""
    if CALENDAR not in command.model_fields_set:
        return None
    shape: GivenRules | None = getattr(command, CALENDAR)
    return CLEARED if shape is None else shape.changes()


def apply_fields(
    rules: CalendarRules, fields: Mapping[str, Any], calendars: Mapping[str, Calendar]
) -> CalendarRules:
    """The rules with some fields changed; InvalidRequest with the path of each that cannot be taken."""
    return part(CALENDAR, partial(changed_rules, rules, fields, calendars))


async def resolve_shape(context: RequestContext, shape: CalendarRulesShape | None) -> CalendarRules:
    """The rules with the calendars of the caller's tenant; InvalidRequest with the path of the field."""
    return resolved_rules(shape, await known_calendars(context, shape))


async def known_calendars(context: RequestContext, shape: CalendarRulesShape | None) -> dict[str, Calendar]:
    """The calendars that rules name, as far as the caller's tenant has them."""
    return {} if shape is None else await find_calendars(context, shape.calendar_ids)


def resolved_rules(shape: CalendarRulesShape | None, calendars: Mapping[str, Calendar]) -> CalendarRules:
    """The rules with these calendars; InvalidRequest with the path of each that is not there."""
    return part(CALENDAR, partial(named_rules_of(shape).with_calendars, calendars))
