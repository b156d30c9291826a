"""From the options of a decorator to an endpoint."""

from datetime import timedelta
from typing import TypedDict

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.baseline import Baseline
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.scheduling.policy import Backoff, Guard, Misfire, Policy
from cadenza.domain.scheduling.target import CallableTarget
from cadenza.domain.validation import Duration, parse_duration_ms, quoted

JOB = "embedded"
DEFAULTS = Policy()


class Options(TypedDict, total=False):
    """What every decorator takes."""

    name: str
    description: str
    min: Duration
    max: Duration
    timeout: Duration
    max_attempts: int
    retry_delay: Duration
    misfire: Misfire | str
    misfire_grace: Duration
    backoff: Backoff | str
    hint_mode: HintMode | str


class IntervalParts(TypedDict, total=False):
    """An interval in parts."""

    days: float
    hours: float
    minutes: float
    seconds: float


def interval_of(span: Duration | None, parts: IntervalParts) -> Duration:
    """The one interval that was given, in one way or the other."""
    if (span is None) == (not parts):
        raise InvalidRequest('Give one interval: every("90s") or every(minutes=1, seconds=30).', "interval")
    return timedelta(**parts) if span is None else span


def declared(function: str, baseline: Baseline, options: Options) -> Endpoint:
    """The endpoint of a function."""
    unknown = options.keys() - Options.__annotations__.keys()
    if unknown:
        raise InvalidRequest(f"There is no option {quoted(min(unknown))} here.", min(unknown))
    name = options.get("name", function)
    return Endpoint(
        id=name,
        name=name,
        job_id=JOB,
        description=options.get("description"),
        baseline=baseline,
        target=CallableTarget(name),
        guard=Guard(_ms("min", options.get("min")), _ms("max", options.get("max"))),
        policy=_policy(options),
        hint_mode=options.get("hint_mode", HintMode.OVERRIDE),  # type: ignore[arg-type]
    )


def _policy(options: Options) -> Policy:
    return Policy(
        timeout_ms=_ms("timeout", options.get("timeout")) or DEFAULTS.timeout_ms,
        max_attempts=options.get("max_attempts", DEFAULTS.max_attempts),
        retry_delay_ms=_ms("retry_delay", options.get("retry_delay")) or DEFAULTS.retry_delay_ms,
        misfire=options.get("misfire", DEFAULTS.misfire),  # type: ignore[arg-type]
        misfire_grace_ms=_ms("misfire_grace", options.get("misfire_grace")) or DEFAULTS.misfire_grace_ms,
        backoff=options.get("backoff", DEFAULTS.backoff),  # type: ignore[arg-type]
    )


def _ms(field: str, span: Duration | None) -> int | None:
    return None if span is None else parse_duration_ms(field, span)
