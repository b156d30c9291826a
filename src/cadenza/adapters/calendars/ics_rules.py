"""The days of a recurrence rule of iCalendar, one period after the other, so that it always ends."""

import re
from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from cadenza.domain.errors import InvalidRequest

DAY = timedelta(days=1)
COST = {"DAILY": (1, 1), "WEEKLY": (7, 3), "MONTHLY": (30, 12), "YEARLY": (365, 120)}
"""Days of a period, and what it costs to look at one beside one day."""
TAKEN = frozenset(
    {"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", "BYMONTH", "BYMONTHDAY", "BYSETPOS"}
)
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
A_DAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
MOST_VALUES = 62

Parts = Mapping[str, Sequence[object]]


class RecurrenceRule(NamedTuple):
    """A rule that recurs on days: a period, and which of its days."""

    frequency: str
    interval: int = 1
    months: frozenset[int] = frozenset()
    month_days: frozenset[int] = frozenset()
    weekdays: frozenset[tuple[int, int]] = frozenset()
    """The number within the period, or 0 for each; and the day of the week, Monday first."""
    positions: frozenset[int] = frozenset()
    week_start: int = 0

    def steps(self, first: date, last: date) -> int:
        """What it costs to follow it from one day to another."""
        days, cost = COST[self.frequency]
        return cost * (1 + max(0, (last - first).days) // (days * self.interval))


def read_rule(parts: Parts) -> RecurrenceRule:
    """The rule of an RRULE; InvalidRequest if it has parts that are not taken."""
    given = {name.upper(): value for name, value in parts.items()}
    frequency = str(_one(given, "FREQ", "")).upper()
    if frequency not in COST or not TAKEN.issuperset(given):
        raise _refused("takes DAILY, WEEKLY, MONTHLY or YEARLY, with BYDAY, BYMONTH, BYMONTHDAY and BYSETPOS")
    interval = int(str(_one(given, "INTERVAL", 1)))
    if interval < 1 or any(len(value) > MOST_VALUES for value in given.values()):
        raise _refused(f"takes an INTERVAL from 1 on, and at most {MOST_VALUES} values of a part")
    return RecurrenceRule(
        frequency,
        interval,
        _numbers(given, "BYMONTH"),
        _numbers(given, "BYMONTHDAY"),
        frozenset(_weekday(str(one)) for one in given.get("BYDAY", ())),
        _numbers(given, "BYSETPOS"),
        WEEKDAYS.index(str(_one(given, "WKST", "MO")).upper()),
    )


def days_of(rule: RecurrenceRule, start: date, last: date) -> Iterator[date]:
    """The days of a rule from the start of its event until a last one, in order."""
    for begin, end in _periods(rule, start, last):
        days = _days_within(rule, start, begin, end)
        if rule.positions:
            places = {at - 1 if at > 0 else len(days) + at for at in rule.positions}
            days = [day for place, day in enumerate(days) if place in places]
        yield from (day for day in days if start <= day <= last)


def _periods(rule: RecurrenceRule, start: date, last: date) -> Iterator[tuple[date, date]]:
    """The first and the last day of each period."""
    if rule.frequency in ("DAILY", "WEEKLY"):
        length = COST[rule.frequency][0]
        begin = start - (start.weekday() - rule.week_start) % length * DAY if length > 1 else start
        for number in range(0, (last - begin).days + 1, length * rule.interval):
            yield begin + number * DAY, begin + (number + length - 1) * DAY
        return
    months = (1 if rule.frequency == "MONTHLY" else 12) * rule.interval
    since = start.year * 12 + (start.month - 1 if rule.frequency == "MONTHLY" else 0)
    for number in range(since, last.year * 12 + last.month, months):
        begin = date(number // 12, number % 12 + 1, 1)
        final = begin.month if rule.frequency == "MONTHLY" else 12
        yield begin, date(begin.year, final, monthrange(begin.year, final)[1])


def _days_within(rule: RecurrenceRule, start: date, begin: date, end: date) -> list[date]:
    """The days of one period that the rule means, in order."""
    days = (begin + number * DAY for number in range((end - begin).days + 1))
    return [day for day in days if _is_meant(rule, start, day)]


def _is_meant(rule: RecurrenceRule, start: date, day: date) -> bool:
    if rule.months and day.month not in rule.months:
        return False
    if rule.month_days and rule.month_days.isdisjoint((day.day, day.day - _days_in_month(day) - 1)):
        return False
    if rule.weekdays:
        return _on_weekday(rule, day)
    return bool(rule.month_days) or _is_like_start(rule, start, day)


def _is_like_start(rule: RecurrenceRule, start: date, day: date) -> bool:
    """Whether a day is meant by a rule that names none."""
    if rule.frequency == "WEEKLY":
        return day.weekday() == start.weekday()
    if rule.frequency == "YEARLY" and not rule.months and day.month != start.month:
        return False
    return rule.frequency == "DAILY" or day.day == start.day


def _on_weekday(rule: RecurrenceRule, day: date) -> bool:
    numbers = {number for number, weekday in rule.weekdays if weekday == day.weekday()}
    if 0 in numbers or not numbers:
        return bool(numbers)
    if rule.frequency in ("DAILY", "WEEKLY"):
        return True
    if rule.frequency == "MONTHLY" or rule.months:
        place, length = day.day, _days_in_month(day)
    else:
        place = day.timetuple().tm_yday
        length = date(day.year, 12, 31).timetuple().tm_yday
    return not numbers.isdisjoint(((place - 1) // 7 + 1, -((length - place) // 7 + 1)))


def _days_in_month(day: date) -> int:
    return monthrange(day.year, day.month)[1]


def _weekday(written: str) -> tuple[int, int]:
    matched = A_DAY.fullmatch(written.upper())
    if matched is None:
        raise _refused("takes days such as MO or -1FR as BYDAY")
    return int(matched[1] or 0), WEEKDAYS.index(matched[2])


def _numbers(given: Parts, name: str) -> frozenset[int]:
    return frozenset(int(str(one)) for one in given.get(name, ()))


def _one(given: Parts, name: str, otherwise: object) -> object:
    return (given.get(name) or (otherwise,))[0]


def _refused(why: str) -> InvalidRequest:
    return InvalidRequest(f"The ICS file has a rule that is not taken; an RRULE {why}.", "ics")
