"""Parses recurrences as people write them, and turns them into cron expressions."""

import re
from collections.abc import Callable
from datetime import date, datetime, time
from typing import NamedTuple

from cadenza.adapters.agents.offline.times import PARTS, TimeOfDay
from cadenza.adapters.agents.offline.vocabulary import (
    NUMBER,
    ORDINAL,
    WEEKDAY,
    UnclearRequest,
    a_number,
    a_weekday,
    an_ordinal,
)

DEFAULT_TIME = time(9)
"""The time of a day that is given without one."""
LAST_EVERYWHERE = 28
"""The last day that every month has."""
DAYS = rf"{WEEKDAY}s?(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s+or\s+){WEEKDAY}s?)*"
THE_MONTH = r"(?:of\s+)?(?:each|every|the|a)\s+month"
NTH_DAY = rf"(?P<nth>{ORDINAL}|last)(?:\s+(?P<nth_weekday>{WEEKDAY}|day))?"
UNITS = r"minute|min|hour|hr|h|day|week|fortnight|month|quarter|year"
FORMS = (
    rf"(?:every|each)\s+month\s+on\s+the\s+{NTH_DAY}",
    rf"monthly\s+on\s+the\s+{NTH_DAY}",
    rf"(?:on\s+)?(?:the\s+|every\s+)?{NTH_DAY}\s+{THE_MONTH}",
    rf"(?:every|each)\s+week\s+on\s+(?P<weekly>{DAYS})",
    rf"weekly\s+on\s+(?P<weekly>{DAYS})",
    rf"(?:every|each)\s+(?P<weekly>{DAYS})(?!\w)",
    rf"(?:on\s+)?(?P<weekly>{WEEKDAY}s(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+){WEEKDAY}s)*)(?!\w)",
    r"(?:(?:every|each)\s+|on\s+)?(?:working\s+days?|workdays?|business\s+days?|weekdays?)\b",
    r"(?:(?:every|each)\s+|on\s+)?(?P<weekend>weekends?)\b",
    r"(?:every|each)\s+(?P<part>morning|afternoon|evening|night|noon|midday|midnight)\b",
    rf"(?:every|each)\s+(?P<other>other|second|third)\s+(?P<unit>{UNITS})\b",
    rf"(?:every|each)\s+(?:(?P<number>{NUMBER})\s+)?(?P<unit>{UNITS}|seconds?|secs?)s?\b",
    r"(?P<named>hourly|daily|weekly|fortnightly|biweekly|monthly|yearly|annually)\b",
)
RECURRENCE_FORMS = tuple(re.compile(form) for form in FORMS)
NAMED = {
    "hourly": "hour",
    "daily": "day",
    "weekly": "week",
    "fortnightly": "fortnight",
    "biweekly": "fortnight",
    "monthly": "month",
    "yearly": "year",
    "annually": "year",
}
SHORT = {"min": "minute", "hr": "hour", "h": "hour"}
DIVISORS = {
    "minute": (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30),
    "hour": (1, 2, 3, 4, 6, 8, 12),
}
WHOLE = {"minute": 60, "hour": 24}


class Recurrence(NamedTuple):
    """A recurrence: an interval, or the days on which it happens."""

    unit: str = "day"
    number: int = 1
    weekdays: str | None = None
    month_day: str | None = None
    part: str | None = None


def parse_recurrence(found: re.Match[str]) -> Recurrence:
    """The recurrence of a match."""
    said = {name: word for name, word in found.groupdict().items() if word}
    match said:
        case {"nth": nth}:
            return _monthly(nth, said.get("nth_weekday"))
        case {"weekly": days}:
            numbers = sorted({a_weekday(day) for day in re.findall(WEEKDAY, days)})
            return Recurrence(weekdays=",".join(map(str, numbers)))
        case {"part": part}:
            return Recurrence(part=part)
        case {"named": named}:
            return Recurrence(unit=NAMED[named])
        case {"unit": unit}:
            number = {"other": 2, "second": 2, "third": 3}.get(said.get("other", ""), 0)
            return Recurrence(unit=SHORT.get(unit, unit), number=number or a_number(said.get("number", "a")))
        case _:
            return Recurrence(weekdays="0,6" if "weekend" in said else "1-5")


def _monthly(nth: str, weekday: str | None) -> Recurrence:
    if nth == "last":
        if weekday in (None, "day"):
            return Recurrence(unit="month", month_day="L")
        raise UnclearRequest(
            "Which day of the month do you mean: a number such as the 15th, or the last day?"
        )
    number = an_ordinal(nth)
    if weekday in (None, "day"):
        if not 1 <= number <= 31:  # noqa: PLR2004 - as months are
            raise UnclearRequest(f"No month has a day {number}; which day do you mean?")
        return Recurrence(unit="month", month_day=str(number))
    if number > 4:  # noqa: PLR2004 - some months have no fifth one
        raise UnclearRequest("Not every month has that many of them; which day do you mean?")
    return Recurrence(unit="month", weekdays=f"{a_weekday(weekday or '')}#{number}")


def cron_line(said: Recurrence, *, time_of_day: TimeOfDay | None, day: date | None, now: datetime) -> str:
    """The cron expression of a recurrence, in the user's local time; UnclearRequest if there is none."""
    if day is not None and (said.unit != "year" or said.number != 1):
        raise UnclearRequest("I can repeat something or do it on a day, not both; which one do you want?")
    if said.unit.startswith("sec"):
        raise UnclearRequest(
            "I can repeat something every minute, and not more often; how often do you want it?"
        )
    if said.unit in DIVISORS:
        return _often(said, time_of_day, now)
    if said.number != 1 or said.unit in ("fortnight", "quarter") or said.unit not in LINES:
        raise UnclearRequest(
            "I cannot repeat that evenly; shall it be every day, week, month or year, or on certain weekdays?"
        )
    if time_of_day is not None and time_of_day.could_be_afternoon:
        raise time_of_day.half_of_day_question
    at = (
        time_of_day.time if time_of_day is not None else time(PARTS[said.part]) if said.part else DEFAULT_TIME
    )
    return f"{at.minute} {at.hour} {LINES[said.unit](said, day or now.date())}"


def _often(said: Recurrence, time_of_day: TimeOfDay | None, now: datetime) -> str:
    """The cron expression of an interval in minutes or hours, counted from now."""
    step, whole = said.number, WHOLE[said.unit]
    if time_of_day is not None:
        raise UnclearRequest(f"Shall it be every {step} {said.unit}s, or at that time of the day?")
    if step not in DIVISORS[said.unit]:
        possible = ", ".join(map(str, DIVISORS[said.unit][1:]))
        raise UnclearRequest(f"I can repeat every {possible} {said.unit}s; which of them do you want?")
    now_at = now.minute if said.unit == "minute" else now.hour
    times = ",".join(str(one) for one in range(now_at % step, whole, step)) if step > 1 else "*"
    return f"{times} * * * *" if said.unit == "minute" else f"{now.minute} {times} * * *"


def _days(said: Recurrence, _: date) -> str:
    return f"* * {said.weekdays or '*'}"


def _weekly(_: Recurrence, day: date) -> str:
    return f"* * {day.isoweekday() % 7}"


def _each_month(said: Recurrence, day: date) -> str:
    if said.weekdays:
        return f"* * {said.weekdays}"
    if said.month_day is None and day.day > LAST_EVERYWHERE:
        raise UnclearRequest("On which day of the month?")
    return f"{said.month_day or day.day} * *"


def _yearly(_: Recurrence, day: date) -> str:
    return f"{day.day} {day.month} *"


LINES: dict[str, Callable[[Recurrence, date], str]] = {
    "day": _days,
    "week": _weekly,
    "month": _each_month,
    "year": _yearly,
}
