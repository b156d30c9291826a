"""Hours, holidays and dates of calendars as people write them in a line, and the other way round."""

import re
from collections.abc import Sequence

from cadenza.domain.scheduling.calendars.definition import (
    TIME_OF_DAY,
    WEEKDAYS,
    DateSpan,
    HolidaySource,
    WeeklyHours,
)

HOURS = re.compile(rf"(?P<days>[a-z,-]+) +(?P<opens>(?!24)({TIME_OF_DAY}))-(?P<closes>({TIME_OF_DAY}))")
DATES = re.compile(r"(?P<first>\d{4}-\d\d-\d\d)(\.\.(?P<last>\d{4}-\d\d-\d\d))?")
HOURS_FORM = '"mon-fri 08:00-18:00", or "sat,sun 10:00-24:00"'
DATES_FORM = "2027-01-02, or 2027-01-02..2027-01-05"
LEAST_RANGE = 3
"""So many days in a row are written as a range."""


def hours_in(text: str) -> dict[str, object] | None:
    """The fields of `mon-fri 08:00-18:00`; None if it is written otherwise."""
    found = HOURS.fullmatch(text.strip().lower())
    ranges = [weekdays_in(part) for part in found["days"].split(",")] if found else []
    if found is None or not all(ranges):
        return None
    days = [day for some in ranges for day in some]
    return {
        "days": days,
        "opens": found["opens"],
        "closes": found["closes"],
    }


def holidays_in(text: str) -> dict[str, object]:
    """The fields of `DE`, or of `DE-BY`."""
    country, _, subdivision = text.strip().partition("-")
    return {"country": country.upper(), **({"subdivision": subdivision} if subdivision else {})}


def dates_in(text: str) -> dict[str, object] | None:
    """The fields of `2027-01-02`, or of `2027-01-02..2027-01-05`; None if it is written otherwise."""
    found = DATES.fullmatch(text.strip())
    if found is None:
        return None
    return {"first": found["first"], **({"last": found["last"]} if found["last"] else {})}


def hours_as_text(hours: WeeklyHours) -> str:
    """Hours in a line, which `hours_in` reads."""
    return f"{','.join(map(_range, _in_a_row(hours.days)))} {hours.opens}-{hours.closes}"


def holidays_as_text(source: HolidaySource) -> str:
    """Holidays in a word, which `holidays_in` reads."""
    return source.country if source.subdivision is None else f"{source.country}-{source.subdivision}"


def dates_as_text(dates: DateSpan) -> str:
    """Days in a word, which `dates_in` reads."""
    first, last = dates.first.isoformat(), dates.last.isoformat()
    return first if first == last else f"{first}..{last}"


def weekdays_in(word: str) -> list[str]:
    """The days from one to another, also over the weekend, such as mon-fri; none if they are not known."""
    first, dash, last = word.partition("-")
    if first not in WEEKDAYS or (dash and last not in WEEKDAYS):
        return []
    begin, end = WEEKDAYS.index(first), WEEKDAYS.index(last or first)
    return [WEEKDAYS[(begin + number) % 7] for number in range((end - begin) % 7 + 1)]


def _in_a_row(days: Sequence[str]) -> list[list[str]]:
    """Days, each run of days that follow each other in a list of its own."""
    rows: list[list[str]] = []
    for day in days:
        if rows and WEEKDAYS.index(day) == (WEEKDAYS.index(rows[-1][-1]) + 1) % 7:
            rows[-1].append(day)
        else:
            rows.append([day])
    return rows


def _range(days: Sequence[str]) -> str:
    return f"{days[0]}-{days[-1]}" if len(days) >= LEAST_RANGE else ",".join(days)
