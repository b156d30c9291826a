"""Hints from HTTP headers: `Retry-After` pauses, `Cache-Control: max-age` sets the interval."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.scheduling.baseline import Once, interval_at
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run
from cadenza.domain.validation import iso, milliseconds
from cadenza.ports.planning import EMPTY_RESULT, Briefing, CallTool, PlannerResult

NAME = "http"
LONGEST = timedelta(days=1)
"""No response pauses or slows an endpoint for longer."""
LEAST_INTERVAL_MS = 60_000
TRY_LATER = frozenset({429, 503})
SECONDS = re.compile(r"\s*(\d{1,10})\s*", re.ASCII)
MAX_AGE = re.compile(r"(?:^|,)\s*max-age\s*=\s*\"?(\d{1,10})\"?\s*(?=,|$)", re.ASCII | re.IGNORECASE)
NOT_CACHEABLE = re.compile(r"(?:^|,)\s*(?:no-store|no-cache)\b", re.ASCII | re.IGNORECASE)
OK, MULTIPLE_CHOICES = 200, 300


class _Advice(NamedTuple):
    """A tool to call, and why."""

    tool: str
    arguments: Mapping[str, Any]
    reason: str


class HttpHints:
    """Follows the headers of a response, where the owner of the endpoint allows it."""

    @property
    def name(self) -> str:
        """The name under which its analyses and hints are recorded."""
        return NAME

    def wants(self, briefing: Briefing) -> bool:
        """Only after a run, and only if its headers ask for something."""
        ran = briefing.trigger in (Trigger.RUN, Trigger.FAILURE)
        return briefing.endpoint.planning.http_hints and ran and _advice(briefing) is not None

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        """Do what the newest response asks for, within bounds."""
        advice = _advice(briefing)
        if advice is None:
            return EMPTY_RESULT
        await call(briefing.endpoint, advice.tool, {**advice.arguments, "reason": advice.reason})
        return PlannerResult(advice.reason)


def _advice(briefing: Briefing) -> _Advice | None:
    newest = briefing.recent[0] if briefing.recent else None
    response = None if newest is None else newest.response
    if newest is None or not isinstance(response, dict) or not isinstance(response.get("headers"), dict):
        return None
    headers: Mapping[str, Any] = response["headers"]  # type: ignore[assignment]
    status = response.get("status")
    if status in TRY_LATER:
        return _pause(briefing, newest, f"{status} with Retry-After", headers.get("retry-after"))
    if isinstance(status, int) and OK <= status < MULTIPLE_CHOICES:
        return _interval(briefing, headers.get("cache-control"))
    return None


def _pause(briefing: Briefing, run: Run, reason: str, value: Any) -> _Advice | None:
    """Pause until the given moment; a longer pause stays."""
    asked = _moment(value, run.finished_at or briefing.now)
    if asked is None:
        return None
    until = min(asked, briefing.now + LONGEST)
    paused_until = briefing.endpoint.paused_until
    if until <= briefing.now or (paused_until is not None and paused_until >= until):
        return None
    return _Advice("pause_until", {"untilIso": iso(until)}, f"{reason}: {value[:100]}")


def _moment(value: Any, answered_at: datetime) -> datetime | None:
    """The moment in `Retry-After`: seconds after the response, or a date."""
    if not isinstance(value, str):
        return None
    seconds = SECONDS.fullmatch(value)
    if seconds is not None:
        return answered_at + min(timedelta(seconds=int(seconds[1])), LONGEST)
    try:
        moment = parsedate_to_datetime(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _interval(briefing: Briefing, value: Any) -> _Advice | None:
    """An interval as long as the response may be cached, but no shorter than the owner's."""
    endpoint = briefing.endpoint
    if not isinstance(value, str) or NOT_CACHEABLE.search(value) or isinstance(endpoint.baseline, Once):
        return None
    age = MAX_AGE.search(value)
    if age is None or not int(age[1]):
        return None
    span = min(timedelta(seconds=int(age[1])), LONGEST) // milliseconds(1)
    interval_ms = max(span, _least_ms(endpoint, briefing.now))
    arguments = {"intervalMs": interval_ms, "ttlMinutes": interval_ms / 60_000}
    return _Advice("propose_interval", arguments, f"Cache-Control: max-age={age[1]}")


def _least_ms(endpoint: Endpoint, now: datetime) -> int:
    """The shortest interval that a response may ask for: the owner's own, that of the day part in force."""
    if endpoint.guard.min_interval_ms is not None:
        return endpoint.guard.min_interval_ms
    return interval_at(endpoint.baseline, now) or LEAST_INTERVAL_MS
