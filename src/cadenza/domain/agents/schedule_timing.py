"""When a schedule fires: how requests say it, how it is read, checked, and kept within a user's limits."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from cadenza.domain.access.tenant import Limits
from cadenza.domain.agents.schedule import fires_in_a_day, next_fires, prompt_of
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.baseline import Baseline, Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.validation import check_count, check_text, iso, milliseconds, quoted
from cadenza.domain.wording import duration_in_words

LONGEST_AHEAD = timedelta(days=3_650)
LONGEST_SECONDS = LONGEST_AHEAD // timedelta(seconds=1)
SECOND_MS = 1_000
MOST_COMPARED = 200
"""How many fires of one day are compared with the least interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When a schedule fires, as a request says it."""

    run_at: str | datetime | None = None
    """A moment; without an offset it is read in `timezone`, or else in the user's time zone."""
    cron_expression: str | None = None
    timezone: str | None = None
    delay_seconds: int | None = None
    """Instead of `run_at`: the time from now."""
    interval_seconds: int | None = None
    """Instead of `cron_expression`: the time from one firing to the next."""
    min_interval_seconds: int | None = None
    max_interval_seconds: int | None = None

    @property
    def is_once(self) -> bool:
        """Whether it names one moment."""
        return self.run_at is not None or self.delay_seconds is not None

    @property
    def is_recurring(self) -> bool:
        """Whether it names a cron expression or an interval."""
        return self.cron_expression is not None or self.interval_seconds is not None


def recurring_baseline(timing: Timing, zone: str | None) -> Cron | Every:
    """An interval, or a cron expression, which the cron port checks, in a time zone."""
    if timing.is_once:
        raise InvalidRequest(
            "A recurring schedule takes no moment: leave run_at and delay_seconds out, or make it one-shot.",
            "run_at",
        )
    if timing.interval_seconds is not None:
        return _interval(timing, timing.interval_seconds)
    if timing.cron_expression is None:
        raise InvalidRequest(
            "A recurring schedule needs cron_expression: five fields, such as 0 17 * * 1 for Mondays at"
            " 17:00. It may have interval_seconds instead.",
            "cron_expression",
        )
    if zone is None:
        raise InvalidRequest(
            "A recurring schedule needs a time zone, and the user has none: ask where they are, and give a"
            " timezone such as Europe/Berlin.",
            "timezone",
        )
    return Cron(timing.cron_expression, zone)


def _interval(timing: Timing, seconds: int) -> Every:
    if timing.cron_expression is not None:
        raise InvalidRequest(
            "A recurring schedule takes cron_expression or interval_seconds, and not both.",
            "interval_seconds",
        )
    return Every(_seconds("interval_seconds", seconds) * SECOND_MS)


def one_shot_baseline(timing: Timing, *, now: datetime, zone: str | None) -> Once:
    """A moment that can be read and is in the future."""
    for field in ("cron_expression", "interval_seconds"):
        if getattr(timing, field) is not None:
            raise InvalidRequest(
                f"A one-shot schedule takes run_at alone: leave {field} out, or make it recurring.", field
            )
    if (timing.run_at is None) == (timing.delay_seconds is None):
        raise InvalidRequest(
            "A one-shot schedule needs a moment: either run_at, such as 2030-01-31T09:00:00+01:00, or"
            " delay_seconds.",
            "run_at",
        )
    if timing.delay_seconds is not None:
        return Once(now + timedelta(seconds=_seconds("delay_seconds", timing.delay_seconds)))
    return Once(future_moment("run_at", timing.run_at, now=now, zone=zone))


def guard_of(timing: Timing, baseline: Baseline) -> Guard:
    """The guard that a request asks for; its interval lies within it."""
    least, most = timing.min_interval_seconds, timing.max_interval_seconds
    for field, value in (("min_interval_seconds", least), ("max_interval_seconds", most)):
        if value is not None:
            _seconds(field, value)
            if isinstance(baseline, Once):
                raise InvalidRequest(f"A one-shot schedule fires once: leave {field} out.", field)
    if least is not None and most is not None and least > most:
        raise InvalidRequest(
            "min_interval_seconds must not exceed max_interval_seconds.", "min_interval_seconds"
        )
    guard = Guard(least and least * SECOND_MS, most and most * SECOND_MS)
    _check_within(baseline, guard)
    return guard


def _check_within(baseline: Baseline, guard: Guard) -> None:
    if not isinstance(baseline, Every):
        return
    too_short = guard.min_interval_ms is not None and baseline.interval_ms < guard.min_interval_ms
    too_long = guard.max_interval_ms is not None and baseline.interval_ms > guard.max_interval_ms
    if too_short or too_long:
        raise InvalidRequest(
            "interval_seconds must lie between min_interval_seconds and max_interval_seconds.",
            "interval_seconds",
        )


def _seconds(field: str, value: int) -> int:
    return check_count(field, value, least=1, most=LONGEST_SECONDS)


def future_moment(field: str, value: str | datetime | None, *, now: datetime, zone: str | None) -> datetime:
    """A moment in UTC that lies in the future; without an offset it is read in the user's time zone."""
    moment = _with_offset(field, _parse(field, value), zone)
    if moment <= now:
        raise InvalidRequest(
            f"{field} {iso(moment)} is in the past: it is {iso(now)} now. Give a time in the future.", field
        )
    if moment > now + LONGEST_AHEAD:
        raise InvalidRequest(f"{field} {iso(moment)} is more than ten years ahead: check the year.", field)
    return moment


def _parse(field: str, value: str | datetime | None) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(check_text(field, value).strip())
    except ValueError:
        example = "2030-01-31T09:00:00+01:00"
        raise InvalidRequest(f"{field} must be an ISO date and time, such as {example}.", field) from None


def _with_offset(field: str, moment: datetime, zone: str | None) -> datetime:
    """The moment in UTC; a local time that daylight saving skips is moved later by the skipped time."""
    if moment.utcoffset() is None:
        if zone is None:
            raise InvalidRequest(
                f"{field} has no offset and the user has no time zone: ask where they are, and give an"
                " offset such as +01:00 or a timezone such as Europe/Berlin.",
                field,
            )
        moment = moment.replace(tzinfo=ZoneInfo(zone))
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidRequest(f"{field} is outside the calendar: check the year.", field) from None


def within_limits(schedule: Endpoint, limits: Limits, cron: CronClock) -> Endpoint:
    """The schedule, if it leaves the least interval between two fires; that is the least of its guard, too.

    Where its agent may pace it, the guard gets that minimum if it has none.
    """
    least_ms = limits.schedule_min_interval_ms
    if least_ms is None or isinstance(schedule.baseline, Once):
        return schedule
    _check_fires_apart(schedule, least_ms, cron)
    guard, words = schedule.guard, duration_in_words(least_ms)
    for field, value in (("min", guard.min_interval_ms), ("max", guard.max_interval_ms)):
        if value is not None and value < least_ms:
            name = f"{field}_interval_seconds"
            raise InvalidRequest(f"{name} may not be less than {words} here.", name)
    if guard.min_interval_ms is None and prompt_of(schedule).may_pace:
        return evolve(schedule, guard=Guard(least_ms, guard.max_interval_ms))
    return schedule


def _check_fires_apart(schedule: Endpoint, least_ms: int, cron: CronClock) -> None:
    within_a_day = fires_in_a_day(schedule, cron, most=MOST_COMPARED)
    fires = next_fires(schedule, cron, most=len(within_a_day) + 1)
    if all(later - earlier >= milliseconds(least_ms) for earlier, later in pairwise(fires)):
        return
    baseline, words = schedule.baseline, duration_in_words(least_ms)
    if isinstance(baseline, Cron):
        said = f"{quoted(baseline.expression)} fires more often than every {words}"
        raise InvalidRequest(f"{said}: leave more time between two fires.", "cron_expression")
    raise InvalidRequest(f"interval_seconds may not be less than {words} here.", "interval_seconds")
