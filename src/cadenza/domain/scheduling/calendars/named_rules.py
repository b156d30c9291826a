"""The rules of an endpoint as its owner writes them: with the ids of calendars."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from cadenza.domain.errors import Fault, InvalidRequest
from cadenza.domain.scheduling.calendars.calendar import Calendar, no_calendar
from cadenza.domain.scheduling.calendars.rules import NO_RULES, CalendarRules, WhenClosed
from cadenza.domain.validation import check_id, check_moment

NAMED = ("only_during", "never_during")
OWN = (*NAMED, "when_closed", "starts_at", "ends_at")
"""What the owner of an endpoint writes; the rest is of its job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRules:
    """When an endpoint may run, as it is written: the calendars by their ids."""

    only_during: str | None = None
    never_during: str | None = None
    when_closed: WhenClosed = WhenClosed.SKIP
    starts_at: datetime | None = None
    ends_at: datetime | None = None

    def __post_init__(self) -> None:
        for name in NAMED:
            if getattr(self, name) is not None:
                check_id(name, getattr(self, name))
        if self.when_closed not in tuple(WhenClosed):
            raise InvalidRequest(f"when_closed must be one of {', '.join(WhenClosed)}.", "when_closed")
        object.__setattr__(self, "when_closed", WhenClosed(self.when_closed))
        for name in ("starts_at", "ends_at"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_moment(name, getattr(self, name)))
        if self.starts_at is not None and self.ends_at is not None and self.starts_at >= self.ends_at:
            raise InvalidRequest("ends_at must be later than starts_at.", "ends_at")

    @property
    def calendar_ids(self) -> frozenset[str]:
        """The calendars that they name."""
        return frozenset(id_ for id_ in (self.only_during, self.never_during) if id_ is not None)

    def with_calendars(
        self, calendars: Mapping[str, Calendar], *, beside: CalendarRules = NO_RULES
    ) -> CalendarRules:
        """The rules with these calendars, and with what the job of an endpoint says in `beside`.

        InvalidRequest names each calendar that is not there.
        """
        faults = [
            Fault(name, no_calendar(id_))
            for name in NAMED
            if (id_ := getattr(self, name)) is not None and id_ not in calendars
        ]
        if faults:
            raise InvalidRequest(faults[0].message, faults[0].field, faults)
        parts: dict[str, Any] = {name: getattr(self, name) for name in OWN}
        parts |= {name: calendars[id_] for name in NAMED if (id_ := parts[name]) is not None}
        parts |= {"job_only_during": beside.job_only_during, "job_never_during": beside.job_never_during}
        rules = CalendarRules(**parts)
        return NO_RULES if rules == NO_RULES else rules


NO_NAMED_RULES = NamedRules()
CLEARED: Mapping[str, Any] = MappingProxyType({name: getattr(NO_NAMED_RULES, name) for name in OWN})
"""The change that takes all rules away."""


def named_rules(rules: CalendarRules) -> NamedRules:
    """The rules of an endpoint as its owner wrote them; those of its job are no part of it."""
    only, never = rules.only_during, rules.never_during
    return NamedRules(
        only_during=None if only is None else only.id,
        never_during=None if never is None else never.id,
        when_closed=rules.when_closed,
        starts_at=rules.starts_at,
        ends_at=rules.ends_at,
    )


def changed_rules(
    rules: CalendarRules, fields: Mapping[str, Any], calendars: Mapping[str, Calendar]
) -> CalendarRules:
    """The rules with some fields of their owner changed, by these calendars; the others stay."""
    own = {one.id: one for one in (rules.only_during, rules.never_during) if one is not None}
    named = replace(named_rules(rules), **fields)
    return named.with_calendars({**own, **calendars}, beside=rules)


def with_own_rules(rules: CalendarRules, own: CalendarRules) -> CalendarRules:
    """The rules of a job with an endpoint's own in the place of those beside them."""
    wanted = CalendarRules(
        **{name: getattr(own, name) for name in OWN},
        job_only_during=rules.job_only_during,
        job_never_during=rules.job_never_during,
    )
    return NO_RULES if wanted == NO_RULES else wanted
