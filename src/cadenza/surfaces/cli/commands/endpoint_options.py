"""What an owner writes about an endpoint, as options, and what they make of the endpoint that was there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import read_duration_ms
from cadenza.surfaces.cli.argument_parsing import body, bound, day_parts, later, pairs, whole_number
from cadenza.surfaces.cli.parameters import Description, Labels, Name
from cadenza.surfaces.cli.written_words import Fills

TARGET = Group("Target", sort_key=-3)
WHEN = Group("Schedule", sort_key=-2)
TROUBLE = Group("Failures and delays", sort_key=-1)
Document = dict[str, Any]


def _option(text: str, group: Group, **more: Any) -> Parameter:
    return Parameter(help=text, group=group, **more)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class EndpointOptions:
    """An endpoint, part by part; what is left out stays as it was, or as it usually is."""

    name: Name = None
    description: Description = None
    url: Annotated[str | None, _option("The URL of an HTTP target.", TARGET), Fills("target.url")] = None
    method: Annotated[
        str | None, _option("GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.", TARGET), Fills("target.method")
    ] = None
    header: Annotated[
        tuple[str, ...],
        _option("NAME=VALUE, several times; ${secret:NAME} stands for a secret.", TARGET),
        Fills("target.headers"),
    ] = ()
    body: Annotated[
        str | None,
        _option("JSON or a text; @FILE reads it from a file.", TARGET, allow_leading_hyphen=True),
        Fills("target.body"),
    ] = None
    function: Annotated[
        str | None,
        _option("A function that an embedding program registered.", TARGET),
        Fills("target.function"),
    ] = None
    grace: Annotated[
        str | None,
        _option("Expect heartbeats, with this grace period after the expected time.", TARGET),
        Fills("target.grace_ms"),
    ] = None
    max_run: Annotated[
        str | None,
        _option("The longest time between a start and its end, with --grace.", TARGET),
        Fills("target.max_run_ms"),
    ] = None
    every: Annotated[
        str | None, _option("The interval between runs: 20s, 5m, 1h30m.", WHEN), Fills("baseline.interval_ms")
    ] = None
    cron: Annotated[
        str | None,
        _option("A cron expression of five fields, or @hourly.", WHEN),
        Fills("baseline.expression"),
    ] = None
    timezone: Annotated[
        str | None,
        _option("The time zone of the cron expression: Europe/Berlin.", WHEN),
        Fills("baseline.timezone"),
    ] = None
    at: Annotated[
        str | None, _option("One run, at a time or after a duration.", WHEN), Fills("baseline.at")
    ] = None
    day_part: Annotated[
        tuple[str, ...],
        _option("CALENDAR=5m or CALENDAR='cron LINE in ZONE' while it is open; several times.", WHEN),
        Fills("baseline.parts"),
    ] = ()
    otherwise: Annotated[
        str | None,
        _option("With --day-part: the interval, or 'cron LINE in ZONE', at other times.", WHEN),
        Fills("baseline.otherwise"),
    ] = None
    min: Annotated[
        str | None,
        _option("The minimum interval; none removes it.", WHEN),
        Fills("guard.min_interval_ms"),
    ] = None
    max: Annotated[
        str | None,
        _option("The maximum interval; none removes it.", WHEN),
        Fills("guard.max_interval_ms"),
    ] = None
    hint_mode: Annotated[
        Literal["override", "tighten"] | None,
        _option("Whether interval hints override the baseline or only tighten it.", WHEN),
    ] = None
    enabled: Annotated[
        bool | None, _option("Enabled or disabled.", WHEN, name="--enabled", negative="--disabled")
    ] = None
    limit_key: Annotated[
        str | None, _option("Share the limit of this key; none leaves it.", WHEN), Fills("limit_key")
    ] = None
    priority: Annotated[
        int | None,
        _option("Of endpoints that are due and wait, the higher is first.", WHEN, converter=whole_number),
        Fills("priority"),
    ] = None
    timeout: Annotated[str | None, _option("The timeout of a run.", TROUBLE), Fills("policy.timeout_ms")] = (
        None
    )
    attempts: Annotated[
        int | None,
        _option("How many attempts, retries included.", TROUBLE, converter=whole_number),
        Fills("policy.max_attempts"),
    ] = None
    retry_delay: Annotated[
        str | None, _option("The delay between two attempts.", TROUBLE), Fills("policy.retry_delay_ms")
    ] = None
    misfire: Annotated[
        Literal["run", "skip"] | None,
        _option("Whether a run that is too late runs or is skipped.", TROUBLE),
        Fills("policy.misfire"),
    ] = None
    misfire_grace: Annotated[
        str | None,
        _option("The delay from which a run is too late.", TROUBLE),
        Fills("policy.misfire_grace_ms"),
    ] = None
    backoff: Annotated[
        Literal["none", "exponential"] | None,
        _option("How failures extend the baseline interval.", TROUBLE),
        Fills("policy.backoff"),
    ] = None
    severity: Annotated[
        Literal["info", "warning", "critical"] | None,
        _option("How much an alert about it matters.", TROUBLE),
    ] = None
    parent: Annotated[
        str | None,
        _option("The id of the endpoint that it depends on.", TROUBLE),
        Fills("parent_id"),
    ] = None
    label: Labels = ()


def changes(options: EndpointOptions, before: Mapping[str, Any], now: Callable[[], datetime]) -> Document:
    """The parts that the options change, each laid over what it was."""
    parts = {
        "name": options.name,
        "description": options.description,
        "hint_mode": options.hint_mode,
        "enabled": options.enabled,
        "severity": options.severity,
        "parent_id": options.parent,
        "target": _target(options, before.get("target") or {}),
        "baseline": _baseline(options, before.get("baseline") or {}, now),
        "guard": _laid_over(before.get("guard"), _guard(options)),
        "policy": _laid_over(before.get("policy"), _policy(options)),
        "labels": _laid_over(before.get("labels"), pairs("--label", options.label)),
        "priority": options.priority,
    }
    given: Document = {name: part for name, part in parts.items() if part is not None}
    if options.limit_key is not None:
        given["limit_key"] = None if options.limit_key == "none" else options.limit_key
    return given


def _laid_over(before: Mapping[str, Any] | None, given: Document) -> Document | None:
    return {**(before or {}), **given} if given else None


def _target(options: EndpointOptions, before: Mapping[str, Any]) -> Document | None:
    given: Document = _named(url=options.url, method=options.method and options.method.upper())
    headers = pairs("--header", options.header)
    if options.body is not None:
        given["body"] = body(options.body)
    if options.grace is not None or options.max_run is not None:
        if given or headers or options.function is not None:
            raise InvalidRequest(
                "--grace and --max-run cannot be combined with --url and --function.", "--grace"
            )
        return _heartbeat(options, before)
    if options.function is not None:
        if given or headers:
            raise InvalidRequest(
                "--function cannot be combined with --url, --method, --header and --body.", "--function"
            )
        return {"kind": "callable", "function": options.function}
    base: Mapping[str, Any] = before if before.get("kind") == "http" else {"kind": "http"}
    if headers:
        given["headers"] = {**base.get("headers", {}), **headers}
    return _laid_over(base, given)


def _heartbeat(options: EndpointOptions, before: Mapping[str, Any]) -> Document:
    spans = {"grace_ms": ("--grace", options.grace), "max_run_ms": ("--max-run", options.max_run)}
    given = {name: read_duration_ms(*words) for name, words in spans.items() if words[1] is not None}  # type: ignore[arg-type]
    return {**(before if before.get("kind") == "heartbeat" else {"kind": "heartbeat"}), **given}


def _baseline(
    options: EndpointOptions, before: Mapping[str, Any], now: Callable[[], datetime]
) -> Document | None:
    parts = day_parts(options.day_part, options.otherwise, before)
    chosen = [word for word in (options.every, options.cron, options.at, parts) if word is not None]
    if len(chosen) > 1:
        raise InvalidRequest("Use one of --every, --cron, --at and --day-part.", "baseline")
    if parts is not None:
        return parts
    base = before if before.get("kind") == "cron" else {}
    if options.timezone is not None and options.cron is None and not base:
        raise InvalidRequest("--timezone needs --cron.", "--timezone")
    if options.every is not None:
        return {"kind": "every", "interval_ms": read_duration_ms("--every", options.every)}
    if options.at is not None:
        return {"kind": "once", "at": later("--at", options.at, now)}
    line = _named(expression=options.cron, timezone=options.timezone)
    return {**base, "kind": "cron", **line} if line else None


def _guard(options: EndpointOptions) -> Document:
    given = {"min_interval_ms": ("--min", options.min), "max_interval_ms": ("--max", options.max)}
    return {name: bound(*words) for name, words in given.items() if words[1] is not None}  # type: ignore[arg-type]


def _policy(options: EndpointOptions) -> Document:
    spans = {
        "timeout_ms": ("--timeout", options.timeout),
        "retry_delay_ms": ("--retry-delay", options.retry_delay),
        "misfire_grace_ms": ("--misfire-grace", options.misfire_grace),
    }
    return {
        **{
            name: read_duration_ms(option, word) for name, (option, word) in spans.items() if word is not None
        },
        **_named(max_attempts=options.attempts, misfire=options.misfire, backoff=options.backoff),
    }


def _named(**words: Any) -> Document:
    return {name: word for name, word in words.items() if word is not None}
