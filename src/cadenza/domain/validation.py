"""Checks of values from outside: durations, counts, moments, texts and labels; each raises InvalidRequest."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.text_patterns import AN_ID
from cadenza.domain.wording import duration_in_words, number_in_words, text_in_words

LONGEST_SPAN_MS = 10 * 366 * 86_400_000
LONGEST_TEXT = 2_000
UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
DURATION_PART = re.compile(r"(\d{1,15})(ms|s|m|h|d)")

Duration = str | timedelta
"""As people write it: 500ms, 20s, 1h30m; or as Python has it."""


def check_duration_ms(field: str, value: Any, *, least: int = 1) -> int:
    """A whole number of milliseconds, from `least` to ten years."""
    return check_count(field, value, least=least, most=LONGEST_SPAN_MS)


def parse_duration_ms(field: str, duration: Duration) -> int:
    """A written duration in milliseconds, from one to ten years' worth."""
    span_ms = (
        duration // milliseconds(1) if isinstance(duration, timedelta) else read_duration_ms(field, duration)
    )
    if not 1 <= span_ms <= LONGEST_SPAN_MS:
        longest = duration_in_words(LONGEST_SPAN_MS)
        raise InvalidRequest(f"{field} must be a span from 1ms to {longest}.", field)
    return span_ms


def read_duration_ms(field: str, duration: str) -> int:
    """A written duration in milliseconds, however long."""
    text = str(duration).replace(" ", "")
    if not re.fullmatch(f"({DURATION_PART.pattern})+", text):
        raise InvalidRequest(f"{field} must be a span such as 500ms, 20s, 5m or 1h30m.", field)
    return sum(int(number) * UNITS_MS[unit] for number, unit in DURATION_PART.findall(text))


def check_count(field: str, value: Any, *, least: int, most: int) -> int:
    """A whole number within bounds; true and false are not numbers."""
    if type(value) is not int or not least <= value <= most:
        raise InvalidRequest(f"{field} must be {number_in_words(field, least=least, most=most)}.", field)
    return value


def as_whole_number(value: Any) -> Any:
    """A number as JSON has it: 60.0 is the whole number 60. Anything else is left as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def check_moment(field: str, value: Any) -> datetime:
    """A moment with a time zone, given back in UTC."""
    if not isinstance(value, datetime):
        raise InvalidRequest(f"{field} must be a moment.", field)
    if value.tzinfo is UTC:
        return value
    if value.utcoffset() is None:
        raise InvalidRequest(f"{field} must carry a time zone.", field)
    return value.astimezone(UTC)


def check_text(field: str, value: Any, *, longest: int = LONGEST_TEXT) -> str:
    """A text of at most so many characters."""
    if not isinstance(value, str):
        raise InvalidRequest(f"{field} must be a text.", field)
    if len(value) > longest:
        raise InvalidRequest(f"{field} has {len(value):,} characters; the maximum is {longest:,}.", field)
    return value


def check_id(field: str, value: str) -> str:
    """An id that every surface takes."""
    if not re.fullmatch(AN_ID, value):
        raise InvalidRequest(f"{field} must be {text_in_words(AN_ID)}.", field)
    return value


def convert_to_utc(value: object, *fields: str) -> None:
    """Convert moments of a frozen value to UTC: local times would be an hour off across daylight saving."""
    for field in fields:
        moment = getattr(value, field)
        if moment is not None and getattr(moment, "tzinfo", None) is not UTC:
            object.__setattr__(value, field, check_moment(field, moment))


def quoted(value: object) -> str:
    """A value from outside, shortened to be repeated in a message."""
    return repr(str(value)[:60])[:100]


def iso(moment: datetime) -> str:
    """A moment as JSON and the log have it."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


@lru_cache(maxsize=4096)
def milliseconds(count: int) -> timedelta:
    """A duration as a timedelta; cached, because the same few are used over and over."""
    return timedelta(0, 0, 0, count)


MOST_LABELS = 32
LABEL_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?")
LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._:/@-]{0,61}[A-Za-z0-9])?)?")


def check_labels(labels: Any) -> dict[str, str]:
    """Labels with which an owner finds and steers endpoints together.

    Names and values are short words without spaces; a value may be empty.
    """
    if not isinstance(labels, Mapping) or len(labels) > MOST_LABELS:
        raise InvalidRequest(f"labels must be at most {MOST_LABELS} names with their values.", "labels")
    for name, value in labels.items():
        if not isinstance(name, str) or not LABEL_NAME.fullmatch(name):
            raise InvalidRequest(f"{quoted(name)} is not the name of a label.", "labels")
        if not isinstance(value, str) or not LABEL_VALUE.fullmatch(value):
            raise InvalidRequest(f"{quoted(value)} is not the value of a label.", "labels")
    return dict(labels)


def has_labels(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Are all the wanted labels there, with these values?"""
    return all(labels.get(name) == value for name, value in wanted.items())
