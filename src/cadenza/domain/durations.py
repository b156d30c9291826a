"""Spans as people write them: 500ms, 20s, 1h30m, or a timedelta."""

import re
from datetime import timedelta

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import a_span, milliseconds

UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
PART = re.compile(r"(\d{1,15})(ms|s|m|h|d)")

Span = str | timedelta


def span_ms(field: str, span: Span) -> int:
    """A span in milliseconds; refuses what is not one, and what is not positive."""
    if isinstance(span, timedelta):
        return a_span(field, span // milliseconds(1))
    text = str(span).replace(" ", "")
    if not re.fullmatch(f"({PART.pattern})+", text):
        raise InvalidRequest(f"{field} must be a span such as 500ms, 20s, 5m or 1h30m.", field)
    parts = PART.findall(text)
    return a_span(field, sum(int(number) * UNITS_MS[unit] for number, unit in parts))
