"""Calendars and the rules that name them, as parts of JSON documents and back."""

from base64 import b85decode, b85encode
from datetime import datetime
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any
from zlib import compress, decompress

from cadenza.domain.scheduling.calendars.calendar import EPOCH, MICROSECOND, Calendar
from cadenza.domain.scheduling.calendars.rules import NO_RULES, CalendarRules, WhenClosed

REMEMBERED = 4_096
BYTES = 8
NAMED = ("only_during", "never_during", "job_only_during", "job_never_during")
MOMENTS = ("starts_at", "ends_at")


def write_calendar(calendar: Calendar) -> dict[str, str]:
    """A calendar with its spans: steps from one boundary to the next, which repeat and so pack well."""
    micros = [(one - EPOCH) // MICROSECOND for one in calendar.boundaries]
    steps = [*micros[:1], *(later - earlier for earlier, later in pairwise(micros))]
    packed = compress(b"".join(step.to_bytes(BYTES, "big", signed=True) for step in steps), 9)
    return {
        "id": calendar.id,
        "timezone": calendar.timezone,
        "revision": calendar.revision,
        "spans": b85encode(packed).decode(),
    }


def read_calendar(document: dict[str, str]) -> Calendar:
    """The calendar; one object, however many documents hold it."""
    return _remembered(document["id"], document["timezone"], document["revision"], document["spans"])


@lru_cache(maxsize=REMEMBERED)
def _remembered(calendar_id: str, timezone: str, revision: str, spans: str) -> Calendar:
    packed = decompress(b85decode(spans))
    steps = (
        int.from_bytes(packed[at : at + BYTES], "big", signed=True) for at in range(0, len(packed), BYTES)
    )
    boundaries = tuple(EPOCH + micros * MICROSECOND for micros in accumulate(steps))
    return Calendar(calendar_id, timezone, revision, boundaries)


def write_calendar_rules(rules: CalendarRules) -> dict[str, Any]:
    """What differs from the rules of an endpoint without calendars."""
    document: dict[str, Any] = {
        name: write_calendar(calendar) for name in NAMED if (calendar := getattr(rules, name)) is not None
    }
    document |= {name: at.isoformat() for name in MOMENTS if (at := getattr(rules, name)) is not None}
    if rules.when_closed is not NO_RULES.when_closed:
        document["when_closed"] = rules.when_closed
    return document


def read_calendar_rules(document: dict[str, Any] | None) -> CalendarRules:
    """The rules of a document; without one, an endpoint without calendars."""
    if document is None:
        return NO_RULES
    parts: dict[str, Any] = {name: read_calendar(document[name]) for name in NAMED if name in document}
    parts |= {name: datetime.fromisoformat(document[name]) for name in MOMENTS if name in document}
    return CalendarRules(**parts, when_closed=WhenClosed(document.get("when_closed", NO_RULES.when_closed)))
