"""What every value must be: whole spans, aware moments, texts of a bearable length."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from cadenza.domain.errors import InvalidRequest

LONGEST_SPAN_MS = 10 * 366 * 86_400_000
LONGEST_TEXT = 2_000


def a_span(field: str, value: Any, *, least: int = 1) -> int:
    """A whole number of milliseconds, from `least` to ten years."""
    return a_count(field, value, least=least, most=LONGEST_SPAN_MS)


def a_count(field: str, value: Any, *, least: int, most: int) -> int:
    """A whole number within bounds; true and false are not numbers."""
    if type(value) is not int:
        raise InvalidRequest(f"{field} must be a whole number.", field)
    if not least <= value <= most:
        raise InvalidRequest(f"{field} must be from {least} to {most}.", field)
    return value


def without_point(value: Any) -> Any:
    """A number as JSON has it: 60.0 is the whole number 60. Anything else is left as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def a_moment(field: str, value: Any) -> datetime:
    """A moment with a time zone, given back in UTC."""
    if not isinstance(value, datetime):
        raise InvalidRequest(f"{field} must be a moment.", field)
    if value.tzinfo is UTC:
        return value
    if value.utcoffset() is None:
        raise InvalidRequest(f"{field} must carry a time zone.", field)
    return value.astimezone(UTC)


def a_text(field: str, value: Any, *, longest: int = LONGEST_TEXT) -> str:
    """A text that is not longer than people read."""
    if not isinstance(value, str):
        raise InvalidRequest(f"{field} must be a text.", field)
    if len(value) > longest:
        raise InvalidRequest(f"{field} has {len(value)} characters; at most {longest} are taken.", field)
    return value


def in_utc(value: object, *fields: str) -> None:
    """Make the named moments of a frozen value UTC; a local clock would add hours across daylight saving."""
    for field in fields:
        moment = getattr(value, field)
        if moment is not None and getattr(moment, "tzinfo", None) is not UTC:
            object.__setattr__(value, field, a_moment(field, moment))


def quoted(value: object) -> str:
    """Something that a stranger sent, short enough to be repeated in a sentence."""
    return repr(str(value)[:60])[:100]


def iso(moment: datetime) -> str:
    """A moment as it stands on the wire and in the log."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


@lru_cache(maxsize=4096)
def milliseconds(span: int) -> timedelta:
    """A span as Python adds it; remembered, because few spans are planned with over and over."""
    return timedelta(0, 0, 0, span)
