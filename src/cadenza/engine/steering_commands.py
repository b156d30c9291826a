"""The commands of the three steering tools, checked before anything is changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, Self, TypedDict

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.field_faults import LONGEST_NAME, unknown_field
from cadenza.domain.scheduling.due import FOREVER
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.governor import CronClock
from cadenza.domain.scheduling.hint import (
    LONGEST_TTL_MINUTES,
    SHORTEST_TTL_MINUTES,
    IntervalHint,
    OneShotHint,
)
from cadenza.domain.scheduling.steer import (
    ChangedEndpoint,
    clear_hints,
    pause,
    resume,
    take_interval_hint,
    take_one_shot,
)
from cadenza.domain.validation import (
    as_whole_number,
    check_duration_ms,
    check_moment,
    check_text,
    iso,
    milliseconds,
)
from cadenza.domain.wording import number_in_words

DEFAULT_INTERVAL_TTL = 60
DEFAULT_ONE_SHOT_TTL = 30
NOW = "now"


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeringContext:
    """The moment and the origin of a steering command."""

    now: datetime
    cron: CronClock
    origin: str
    jitter_ms: int = 0
    """By how much endpoints that are planned together are spread."""


class SteeringAction(Protocol):
    """A change of an endpoint by steering."""

    def apply(self, endpoint: Endpoint, by: SteeringContext) -> ChangedEndpoint:
        """The endpoint after this; pure."""
        ...


class SteeringCommand(SteeringAction, Protocol):
    """A checked call of a tool."""

    @classmethod
    def parse(cls, arguments: Mapping[str, Any]) -> Self:
        """Read the arguments by their JSON names; InvalidRequest names the field at fault."""
        ...


class ProposeIntervalArguments(TypedDict, total=False):
    """What `propose_interval` takes."""

    intervalMs: int
    ttlMinutes: float
    reason: str | None


class ProposeNextTimeArguments(TypedDict, total=False):
    """What `propose_next_time` takes."""

    nextRunInMs: int
    nextRunAtIso: str
    ttlMinutes: float
    reason: str | None


class PauseUntilArguments(TypedDict, total=False):
    """What `pause_until` takes."""

    untilIso: str | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeInterval:
    """Run every so often for a while, then fall back to the baseline."""

    interval_ms: int
    ttl: timedelta = timedelta(hours=1)
    reason: str | None = None

    @classmethod
    def parse(cls, arguments: Mapping[str, Any]) -> Self:
        """Read `intervalMs`, `ttlMinutes` and `reason`."""
        _check_names(arguments, ProposeIntervalArguments)
        ttl = arguments.get("ttlMinutes")
        return cls(
            interval_ms=check_duration_ms("intervalMs", as_whole_number(_required(arguments, "intervalMs"))),
            ttl=hint_ttl(DEFAULT_INTERVAL_TTL if ttl is None else ttl),
            reason=_reason(arguments),
        )

    def hint(self, now: datetime) -> IntervalHint:
        """The hint, as of now."""
        return IntervalHint(self.interval_ms, now + self.ttl, self.reason)

    def apply(self, endpoint: Endpoint, by: SteeringContext) -> ChangedEndpoint:
        """Write the hint and nudge."""
        return take_interval_hint(endpoint, self.hint(by.now), now=by.now, cron=by.cron, origin=by.origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeNextTime:
    """Run once, at a moment or after a while."""

    at: datetime | None = None
    in_ms: int | None = None
    ttl: timedelta | None = None
    reason: str | None = None

    @classmethod
    def parse(cls, arguments: Mapping[str, Any]) -> Self:
        """Read exactly one of `nextRunInMs` and `nextRunAtIso`, and `ttlMinutes` and `reason`.

        A moment may be the word "now".
        """
        _check_names(arguments, ProposeNextTimeArguments)
        in_ms, at = arguments.get("nextRunInMs"), arguments.get("nextRunAtIso")
        if (in_ms is None) == (at is None):
            raise InvalidRequest("Give exactly one of nextRunInMs and nextRunAtIso.", "nextRunInMs")
        if isinstance(at, str) and at.strip().lower() == NOW:
            in_ms, at = 0, None
        ttl = arguments.get("ttlMinutes")
        return cls(
            at=None if at is None else wire_moment("nextRunAtIso", at),
            in_ms=None
            if in_ms is None
            else check_duration_ms("nextRunInMs", as_whole_number(in_ms), least=0),
            ttl=None if ttl is None else hint_ttl(ttl),
            reason=_reason(arguments),
        )

    def hint(self, now: datetime) -> OneShotHint:
        """The hint, as of now."""
        at = max(self.at or now + milliseconds(self.in_ms or 0), now)
        expires_at = at + timedelta(minutes=DEFAULT_ONE_SHOT_TTL) if self.ttl is None else now + self.ttl
        if expires_at <= at:
            raise InvalidRequest(
                "The hint would expire before its moment; give a longer ttlMinutes.", "ttlMinutes"
            )
        return OneShotHint(at, expires_at, self.reason)

    def apply(self, endpoint: Endpoint, by: SteeringContext) -> ChangedEndpoint:
        """Write the hint and nudge; a moment that has passed counts as now.

        Without a ttl it expires half an hour after its moment.
        """
        asked, hint = self.at or by.now + milliseconds(self.in_ms or 0), self.hint(by.now)
        changed = take_one_shot(endpoint, hint, now=by.now, cron=by.cron, origin=by.origin)
        if asked >= by.now or not changed.applied:
            return changed
        passed = f"{iso(asked)} has passed, so it counts as now."
        return changed._replace(note=f"{passed} {changed.note}" if changed.note else passed)


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseUntil:
    """Close the gate until a moment, or open it again."""

    until: datetime | None
    reason: str | None = None

    @classmethod
    def parse(cls, arguments: Mapping[str, Any]) -> Self:
        """Read `untilIso`, which may be null but not left out, and `reason`."""
        _check_names(arguments, PauseUntilArguments)
        if "untilIso" not in arguments:
            raise InvalidRequest("untilIso is missing; null resumes.", "untilIso")
        until = arguments["untilIso"]
        return cls(until=None if until is None else wire_moment("untilIso", until), reason=_reason(arguments))

    def apply(self, endpoint: Endpoint, by: SteeringContext) -> ChangedEndpoint:
        """Pause or resume."""
        if self.until is None:
            return resume(
                endpoint,
                self.reason,
                now=by.now,
                cron=by.cron,
                origin=by.origin,
                jitter_ms=by.jitter_ms,
            )
        return pause(
            endpoint,
            self.until,
            self.reason,
            now=by.now,
            cron=by.cron,
            origin=by.origin,
            jitter_ms=by.jitter_ms,
        )


class ClearHints:
    """Remove both hints."""

    def apply(self, endpoint: Endpoint, by: SteeringContext) -> ChangedEndpoint:
        """Clear them and plan anew."""
        return clear_hints(endpoint, now=by.now, cron=by.cron, origin=by.origin, jitter_ms=by.jitter_ms)


def _check_names(arguments: Mapping[str, Any], arguments_type: type) -> None:
    if not isinstance(arguments, Mapping):
        raise InvalidRequest("The arguments of a tool must be an object.")
    for name in arguments:
        if name not in arguments_type.__annotations__:
            field = str(name)[:LONGEST_NAME]
            raise InvalidRequest(unknown_field(field, arguments_type.__annotations__), field)


def _required(arguments: Mapping[str, Any], name: str) -> Any:
    if name not in arguments:
        raise InvalidRequest(f"{name} is missing.", name)
    return arguments[name]


def _reason(arguments: Mapping[str, Any]) -> str | None:
    reason = arguments.get("reason")
    return None if reason is None else check_text("reason", reason)


def hint_ttl(minutes: Any) -> timedelta:
    """How long a hint counts, from `ttlMinutes`."""
    if type(minutes) not in (int, float) or not SHORTEST_TTL_MINUTES <= minutes <= LONGEST_TTL_MINUTES:
        wanted = number_in_words("ttlMinutes", above=0, most=LONGEST_TTL_MINUTES, whole=False)
        raise InvalidRequest(f"ttlMinutes must be {wanted}.", "ttlMinutes")
    return timedelta(minutes=minutes)


def wire_moment(field: str, value: Any) -> datetime:
    """A moment from its ISO 8601 text, in UTC, and not after the last moment that can be planned."""
    try:
        moment = check_moment(field, datetime.fromisoformat(check_text(field, value, longest=64)))
    except (ValueError, OverflowError):
        raise InvalidRequest(
            f"{field} must be an ISO 8601 moment such as 2030-01-31T12:00:00Z.", field
        ) from None
    if moment > FOREVER:
        raise InvalidRequest(f"{field} must not be after {iso(FOREVER)}.", field)
    return moment
