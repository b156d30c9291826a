"""Functions of an embedding program: the options of their decorators, and the context of a run."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from re import fullmatch
from typing import Any, TypedDict, get_type_hints

from cadenza.domain.errors import CadenzaError, InvalidRequest
from cadenza.domain.scheduling.baseline import Baseline
from cadenza.domain.scheduling.calendars.named_rules import NAMED, OWN, NamedRules
from cadenza.domain.scheduling.calendars.rules import WhenClosed
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Backoff, Guard, Misfire, Policy
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import CallableTarget
from cadenza.domain.text_patterns import AN_ID
from cadenza.domain.validation import (
    Duration,
    check_moment,
    check_text,
    milliseconds,
    parse_duration_ms,
    quoted,
)
from cadenza.domain.wording import name_operations, text_in_words
from cadenza.engine.steering import Steering
from cadenza.engine.steering_commands import PauseUntil, ProposeInterval, ProposeNextTime, SteeringCommand

JOB = "embedded"
DEFAULTS = Policy()


class CalendarNames(TypedDict, total=False):
    """When something may run: calendars by their ids, and its first and last moments."""

    only_during: str
    never_during: str
    when_closed: WhenClosed | str
    starts_at: datetime
    ends_at: datetime


class Options(CalendarNames, total=False):
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
    limit_key: str
    priority: int


class IntervalParts(TypedDict, total=False):
    """An interval in parts."""

    days: float
    hours: float
    minutes: float
    seconds: float


def interval_ms(span: Duration | None, parts: IntervalParts) -> int:
    """The interval, given either as a duration or in parts."""
    if (span is None) == (not parts):
        raise InvalidRequest('Give one interval: every("90s") or every(minutes=1, seconds=30).', "interval")
    if span is not None:
        return parse_duration_ms("interval", span)
    try:
        return parse_duration_ms("interval", timedelta(**parts))
    except (InvalidRequest, TypeError, ValueError, OverflowError):
        given = ", ".join(f"{unit}={quantity!r:.40}" for unit, quantity in parts.items())
        raise InvalidRequest(
            f"every({given}) is not an interval: use numbers, in total from 1ms to 10 years.",
            min(parts),
        ) from None


def check_options(given: Mapping[str, Any], kind: type) -> None:
    """Refuse options that are none of this kind."""
    unknown = given.keys() - get_type_hints(kind).keys()
    if unknown:
        raise InvalidRequest(f"Unknown option {quoted(min(unknown))}.", min(unknown))


def named_rules_of(options: Mapping[str, Any]) -> NamedRules:
    """The calendars that options name, and nothing of the rest."""
    given = {name: options[name] for name in OWN if options.get(name) is not None}
    for name in NAMED:
        check_text(name, given.get(name, ""))
    return NamedRules(**given)


def endpoint_for(function: Callable[..., Any], baseline: Baseline, options: Options) -> Endpoint:
    """The endpoint of a function."""
    if not callable(function):
        raise InvalidRequest("Only functions and other callables can be declared.", "function")
    check_options(options, Options)
    name = _name(options.get("name", getattr(function, "__name__", None)))
    if "description" in options:
        check_text("description", options["description"])
    return Endpoint(
        id=name,
        name=name,
        job_id=JOB,
        description=options.get("description"),
        baseline=baseline,
        target=CallableTarget(name),
        guard=_guard(options),
        policy=_policy(options),
        hint_mode=options.get("hint_mode", HintMode.OVERRIDE),  # type: ignore[arg-type]
        limit_key=options.get("limit_key"),
        priority=options.get("priority", 0),
    )


def _name(name: object) -> str:
    """The name of a function, which is the id of its endpoint."""
    if name is None:
        raise InvalidRequest("This has no name of its own: give it one, with name=...", "name")
    if not isinstance(name, str) or not fullmatch(AN_ID, name):
        raise InvalidRequest(
            f"{quoted(name)} is not a valid function name: give another one with name=,"
            f" of {text_in_words(AN_ID)}.",
            "name",
        )
    return name


def _guard(options: Options) -> Guard:
    shortest, longest = _ms("min", options.get("min")), _ms("max", options.get("max"))
    if shortest is not None and longest is not None and shortest > longest:
        raise InvalidRequest("min must not be longer than max.", "min")
    return Guard(shortest, longest)


def _policy(options: Options) -> Policy:
    return Policy(
        timeout_ms=_ms("timeout", options.get("timeout")) or DEFAULTS.timeout_ms,
        max_attempts=options.get("max_attempts", DEFAULTS.max_attempts),
        retry_delay_ms=_ms("retry_delay", options.get("retry_delay")) or DEFAULTS.retry_delay_ms,
        misfire=options.get("misfire", DEFAULTS.misfire),  # type: ignore[arg-type]
        misfire_grace_ms=_ms("misfire_grace", options.get("misfire_grace")) or DEFAULTS.misfire_grace_ms,
        backoff=options.get("backoff", DEFAULTS.backoff),  # type: ignore[arg-type]
    )


def check_flag(field: str, given: object) -> bool:
    """Refuse what is neither True nor False: of texts, every one that says something would count as true."""
    if not isinstance(given, bool):
        raise InvalidRequest(f"{field} must be True or False, not {quoted(given)}.", field)
    return given


@contextmanager
def commands_in_refusals() -> Iterator[None]:
    """Let refusals name commands in the place of operations, which a program has no functions for."""
    try:
        yield
    except CadenzaError as problem:
        from cadenza.surfaces.cli.groups import command_of  # Its imports cost time.

        problem.message = name_operations(problem.message, command_of)
        problem.args = (problem.message,)
        raise


def _ms(field: str, span: Duration | None) -> int | None:
    return None if span is None else parse_duration_ms(field, span)


AN_HOUR = timedelta(hours=1)


class EndpointTools:
    """The three tools of one endpoint; each waits until it may act on the endpoint."""

    def __init__(
        self,
        steering: Steering,
        key: EndpointKey,
        origin: str,
        ready: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        self._steering = steering
        self._key = key
        self._origin = origin
        self._ready = ready

    async def propose_interval(
        self, interval: Duration, *, ttl: Duration = AN_HOUR, reason: str | None = None
    ) -> ChangedEndpoint:
        """Run every so often for a while, then fall back to the baseline."""
        return await self._steer(
            ProposeInterval(
                interval_ms=parse_duration_ms("interval", interval),
                ttl=milliseconds(parse_duration_ms("ttl", ttl)),
                reason=reason,
            )
        )

    async def propose_next_time(
        self, when: Duration | datetime, *, ttl: Duration | None = None, reason: str | None = None
    ) -> ChangedEndpoint:
        """Run once, at a moment or after a while."""
        at = check_moment("when", when) if isinstance(when, datetime) else None
        in_ms = None if isinstance(when, datetime) else parse_duration_ms("when", when)
        lasts = None if ttl is None else milliseconds(parse_duration_ms("ttl", ttl))
        return await self._steer(ProposeNextTime(at=at, in_ms=in_ms, ttl=lasts, reason=reason))

    async def pause_until(self, until: datetime | None, *, reason: str | None = None) -> ChangedEndpoint:
        """Pause until a moment; None resumes."""
        moment = None if until is None else check_moment("until", until)
        return await self._steer(PauseUntil(until=moment, reason=reason))

    async def _steer(self, command: SteeringCommand) -> ChangedEndpoint:
        if self._ready is not None:
            await self._ready()
        with commands_in_refusals():
            return await self._steering.steer(self._key, command, origin=self._origin)


class RunContext(EndpointTools):
    """One run, as its function sees it. In a thread, call `wait` on what the tools return."""

    id: str
    slot: datetime
    """The moment at which its endpoint came due."""
    attempt: int
    """1 for the first try at the slot."""
    source: Source
    """What set the moment it runs for."""
    idempotency_key: str
    """The same for every attempt at the slot."""
    endpoint: Endpoint
    """The endpoint as it was when the run was claimed."""

    def __init__(self, steering: Steering, claim: Claim) -> None:
        super().__init__(steering, claim.key, origin=f"run:{claim.endpoint.name}")
        self._loop = asyncio.get_running_loop()
        self.id = claim.run_id
        self.slot = claim.slot
        self.attempt = claim.attempt
        self.source = claim.source
        self.idempotency_key = claim.idempotency_key
        self.endpoint = claim.endpoint

    def wait(self, asked: Coroutine[Any, Any, ChangedEndpoint]) -> ChangedEndpoint:
        """For functions that are not async: let a tool act, and come back when it has."""
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result()
