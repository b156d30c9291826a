"""Parses days and delays as people write them; calendar dates are read by dateparser."""

import re
from calendar import monthrange
from datetime import date, datetime, timedelta
from typing import NamedTuple

from cadenza.adapters.agents.offline.vocabulary import (
    NUMBER,
    ORDINAL,
    WEEKDAY,
    UnclearRequest,
    a_number,
    an_ordinal,
)

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
DAY_FORMS = (
    r"(?:the\s+)?day\s+after\s+tomorrow",
    r"(?:today|tonight|tomorrow)\b",
    rf"(?:on\s+|this\s+|next\s+|coming\s+)*{WEEKDAY}(?!\w)",
    r"(?:on\s+)?\d{4}-\d\d-\d\d(?!\d)",
    rf"(?:on\s+)?(?:the\s+)?(?:{ORDINAL}|\d{{1,2}})\.?\s+(?:of\s+)?{MONTH}(?:,?\s+\d{{4}}\b)?",
    rf"(?:on\s+)?{MONTH}\s+(?:the\s+)?(?:{ORDINAL}|\d{{1,2}})(?!\w|:)(?:,?\s+\d{{4}}\b)?",
    r"(?:on\s+)?\d{1,2}\.\d{1,2}\.(?:\d{4})?(?!\d)",
    r"(?:on\s+)?(?P<slashed>\d{1,2}/\d{1,2}(?:/\d{2,4})?)(?!\d)",
    r"next\s+(?:week|month|year)\b",
    rf"(?:on\s+)?the\s+(?P<nth>{ORDINAL})\b(?!\s+(?!at\b|in\b|to\b|remind)\w)",
)
DAYS = tuple(re.compile(form) for form in DAY_FORMS)

LONG = ("month", "year", "fortnight")
UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800} | {
    "month": 30 * 86_400,
    "year": 365 * 86_400,
    "fortnight": 14 * 86_400,
}
UNIT = r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|fortnights?|months?|years?)\b"
AMOUNT = (
    rf"{NUMBER}\s+(?:and\s+a\s+half\s+)?{UNIT}|\d{{1,6}}(?:\.\d)?\s*(?:{UNIT}|h\b|m\b|min\b|s\b)"
    r"|half\s+an?\s+(?:hour|day)\b"
)
TOGETHER = rf"(?:{AMOUNT})(?:(?:\s*,\s*|\s+and\s+|\s+)(?:{AMOUNT}|a\s+half\b|a\s+quarter\b))*"
DELAY_FORMS = (
    re.compile(rf"(?:in|after)\s+(?P<span>{TOGETHER})(?:\s+from\s+now)?(?:'?s?\s+time\b)?"),
    re.compile(rf"(?P<span>{TOGETHER})\s+from\s+(?:now|today)\b"),
)
ONE_AMOUNT = re.compile(
    rf"(?P<lead>half)\s+an?\s+(?P<of>hour|day)|(?P<more>a\s+half|a\s+quarter)(?!\s+\w*hour)"
    rf"|(?P<number>\d{{1,6}}\.\d|{NUMBER})\s*(?P<halved>and\s+a\s+half\s+)?(?P<unit>{UNIT}|h\b|m\b|min\b|s\b)"
)
LONGEST = timedelta(days=3_660)


class RelativeTime(NamedTuple):
    """A time from now."""

    span: timedelta
    days: bool
    """Whether its unit is a day or longer, so that a time of day can go with it."""
    months: int = 0
    """Calendar months, which differ in length."""

    def after(self, moment: datetime) -> datetime:
        """The moment that is so much later; a day that the month does not have becomes its last."""
        place = moment.month - 1 + self.months
        year, month = moment.year + place // 12, place % 12 + 1
        day = min(moment.day, monthrange(year, month)[1])
        return moment.replace(year=year, month=month, day=day) + self.span


def parse_delay(found: re.Match[str]) -> RelativeTime:
    """The delay of a match."""
    seconds, months, unit_s, smallest = 0.0, 0, 0, 10**9
    for one in ONE_AMOUNT.finditer(found["span"]):
        if one["more"]:
            seconds += unit_s / (2 if "half" in one["more"] else 4)
            smallest = min(smallest, unit_s // 2)
            continue
        unit = one["of"] or one["unit"]
        unit_s = _seconds(unit)
        amount = 0.5 if one["lead"] else _amount(one["number"]) + (0.5 if one["halved"] else 0)
        whole = _months(unit) if amount.is_integer() else 0
        months += int(amount) * whole
        seconds += 0 if whole else amount * unit_s
        smallest = min(smallest, unit_s)
    return _bounded(seconds, months, days=smallest >= UNITS["d"])


def _bounded(seconds: float, months: int, *, days: bool) -> RelativeTime:
    if not 0 < seconds + months * UNITS["month"] < LONGEST.total_seconds():
        raise UnclearRequest("When do you mean: in so many minutes, hours or days, within ten years?")
    return RelativeTime(timedelta(seconds=round(seconds)), days, months)


def _amount(word: str) -> float:
    return float(word) if word[0].isdigit() else float(a_number(word))


def _seconds(unit: str) -> int:
    """The approximate length of a unit, found by its first letters."""
    return next((UNITS[long] for long in LONG if unit.startswith(long)), 0) or UNITS[unit[0]]


def _months(unit: str) -> int:
    """How many calendar months a unit has; 0 if it is not made of months."""
    return {"month": 1, "months": 1, "year": 12, "years": 12}.get(unit, 0)


def parse_day(found: re.Match[str], now: datetime) -> date:
    """The day of a match, the next one if several fit; `now` is the user's local time."""
    said = found[0]
    if found.groupdict().get("nth"):
        return _day_of_month(an_ordinal(found["nth"]), now.date())
    slashed = found.groupdict().get("slashed")
    if slashed and _has_two_readings(slashed):
        raise UnclearRequest(f"Is {slashed} the day or the month first? Say the month by its name, please.")
    day = _parsed(re.sub(r"^(?:on\s+)?(?:the\s+)?(?:this\s+|coming\s+)?", "", said), now)
    if day is None:
        raise UnclearRequest(f"I do not know the day “{said.strip()}”; which one do you mean?")
    return day


def _parsed(phrase: str, now: datetime) -> date | None:
    import dateparser  # noqa: PLC0415 - it takes a third of a second to import

    settings = {
        "RELATIVE_BASE": now.replace(tzinfo=None),
        "PREFER_DATES_FROM": "future",
        "STRICT_PARSING": False,
        "DATE_ORDER": "DMY" if re.match(r"\d+\.|(?:1[3-9]|2\d|3[01])/", phrase) else "MDY",
    }
    for old, new in (("tonight", "today"), ("of ", ""), ("the ", "")):
        phrase = phrase.replace(old, new)
    found = dateparser.parse(phrase.strip(), languages=["en"], settings=settings)
    return None if found is None else found.date()


def _day_of_month(number: int, today: date) -> date:
    """The next day with this number, from today on."""
    for ahead in range(62):
        day = today + timedelta(days=ahead)
        if day.day == number:
            return day
    raise UnclearRequest(f"No month has a day {number}; which day do you mean?")


def _has_two_readings(slashed: str) -> bool:
    first, second, *_ = map(int, slashed.split("/"))
    return first != second and max(first, second) <= 12  # noqa: PLR2004 - months of a year
