"""What running an endpoint does."""

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import Any, assert_never
from urllib.parse import urlsplit

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.json_values import JSON_PATH, Json, json_size, texts
from cadenza.domain.scheduling.baseline import Baseline, Once
from cadenza.domain.scheduling.policy import Backoff, Policy
from cadenza.domain.validation import check_count, check_text

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
LONGEST_URL = 2_048
MOST_HEADERS = 64
LONGEST_HEADER = 8_192
LONGEST_BODY = 262_144
MOST_LISTED = 32
MOST_KEYS = 4
MOST_REDIRECTS = 5
MOST_CAPTURED_BYTES = 262_144
LONGEST_GRACE_MS = 31 * 86_400_000
CAPTURED_HEADERS = ("content-type", "retry-after", "cache-control", "etag", "last-modified", "date")
MANAGED_HEADERS = re.compile(
    r"(?i)host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect"
    r"|idempotency-key|(webhook|cadenza|proxy)-.*"
)
REFERENCE = re.compile(r"\$\{((?:env|secret):[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})\}")
LIKE_A_REFERENCE = re.compile(r"\$\{(?:env|secret):")
TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}")
HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]*")
"""No control character but the tab. It says what is refused: a set of all that is allowed compiles slowly."""
URL_TEXT = re.compile(r"[^\x00-\x20\\\x7f-\xa0\ud800-\udfff]+")
STATUSES = re.compile(r"([1-5])[xX]{2}|([1-5][0-9]{2})(?:-([1-5][0-9]{2}))?")


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """One HTTP exchange, and how to tell whether it went well.

    `${env:NAME}` and `${secret:NAME}` in headers and body stand for secrets, put in when it is sent.
    """

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Json = None
    """None is no body; a text is sent as it is; anything else is sent as JSON."""
    _: KW_ONLY
    success_statuses: tuple[str, ...] = ("2xx",)
    """Statuses that are a success: `204`, `200-204` or `2xx`."""
    success_path: str | None = None
    """A JSON path that must lead somewhere in the response, such as `$.jobs[0].state`."""
    success_values: tuple[Json, ...] = ()
    """What may be found there; if empty, anything."""
    capture_bytes: int = 16_384
    capture_headers: tuple[str, ...] = CAPTURED_HEADERS
    max_redirects: int = 0
    signing: tuple[str, ...] = ()
    """References to signing keys, the current one first; each signs, so that keys can overlap."""

    def __post_init__(self) -> None:
        _check_url(check_text("url", self.url, longest=LONGEST_URL))
        check_count("capture_bytes", self.capture_bytes, least=0, most=MOST_CAPTURED_BYTES)
        check_count("max_redirects", self.max_redirects, least=0, most=MOST_REDIRECTS)
        _check_body(self.body)
        _check_path(self.success_path)
        for name, value in (
            ("method", _method(self.method)),
            ("headers", _headers(self.headers)),
            ("success_statuses", _statuses(self.success_statuses)),
            ("success_values", _success_values(self.success_values, self.success_path)),
            ("capture_headers", _capture_headers(self.capture_headers)),
            ("signing", _signing(self.signing)),
        ):
            object.__setattr__(self, name, value)
        if len(self.references()) > MOST_LISTED:
            raise InvalidRequest(f"At most {MOST_LISTED} secrets can be referred to.", "headers")

    def succeeds(self, status: int) -> bool:
        """Is this status one that its owner counts as a success?"""
        return any(status in _status_range(statuses) for statuses in self.success_statuses)

    def references(self) -> frozenset[str]:
        """The secrets it refers to: `env:NAME`, `secret:NAME`."""
        sent = (*self.headers.values(), *self.signing, *texts(self.body))
        return frozenset(found for text in sent if "${" in text for found in REFERENCE.findall(text))


@dataclass(frozen=True, slots=True)
class CallableTarget:
    """A Python function, registered under a name."""

    function: str = "noop"


@dataclass(frozen=True, slots=True)
class PromptTarget:
    """A message to an agent, in the conversation of a user."""

    agent_id: str
    user_id: str
    prompt: str
    may_schedule: bool = False
    """Whether the turn that it starts may make schedules; those may then make none."""
    request: str | None = None
    """Stands for a turn and what was asked for in it, so that the same thing asked for twice is made once."""
    may_pace: bool = False
    """Whether the turn that it starts may steer this schedule: its next time, interval, pause and end."""


@dataclass(frozen=True, slots=True)
class HeartbeatTarget:
    """Work that somebody else does, and reports by heartbeats."""

    grace_ms: int = 60_000
    """How long after its expected moment a heartbeat is missing."""
    max_run_ms: int | None = None
    """How long after a start its end is missing; None if a start changes nothing."""

    def __post_init__(self) -> None:
        check_count("grace_ms", self.grace_ms, least=1_000, most=LONGEST_GRACE_MS)
        if self.max_run_ms is not None:
            check_count("max_run_ms", self.max_run_ms, least=1_000, most=LONGEST_GRACE_MS)


def check_heartbeat(target: object, baseline: Baseline, policy: Policy) -> None:
    """InvalidRequest if a heartbeat has a baseline or a policy that means nothing for it."""
    if not isinstance(target, HeartbeatTarget):
        return
    if isinstance(baseline, Once):
        raise InvalidRequest("A heartbeat needs an interval or a cron expression.", "baseline")
    if policy.max_attempts > 1 or policy.backoff is not Backoff.NONE:
        raise InvalidRequest("A missed heartbeat cannot be retried.", "policy")


Target = HttpTarget | CallableTarget | PromptTarget | HeartbeatTarget
HTTP, PROMPT, HEARTBEAT = "http", "prompt", "heartbeat"
CALLABLE = "callable:"
"""What the requirement of a function begins with; its name follows."""


def requirement(target: Target) -> str:
    """What a worker must have to run a target: its kind, or for a function `callable:` and its name."""
    match target:
        case HttpTarget():
            return HTTP
        case PromptTarget():
            return PROMPT
        case HeartbeatTarget():
            return HEARTBEAT
        case CallableTarget(function):
            return f"{CALLABLE}{function}"
        case _:
            assert_never(target)


@lru_cache(maxsize=1024)
def _check_url(url: str) -> None:
    if not URL_TEXT.fullmatch(url):
        raise InvalidRequest("url must have no spaces, backslashes or control characters.", "url")
    if LIKE_A_REFERENCE.search(url):
        raise InvalidRequest("url cannot hold a secret: addresses are shown. Put it in a header.", "url")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InvalidRequest("url is not a valid URL.", "url") from None
    if parts.scheme not in {"http", "https"} or not host or port == 0:
        raise InvalidRequest("url must be http:// or https:// with a host, and no port 0.", "url")
    if "@" in parts.netloc:
        raise InvalidRequest("url must hold no password; use an Authorization header.", "url")


def _method(method: Any) -> str:
    upper = check_text("method", method, longest=16).upper()
    if upper not in METHODS:
        raise InvalidRequest(f"method must be one of {', '.join(METHODS)}.", "method")
    return upper


def _headers(headers: Any) -> dict[str, str]:
    if not isinstance(headers, Mapping) or len(headers) > MOST_HEADERS:
        raise InvalidRequest(f"headers must be at most {MOST_HEADERS} names with their values.", "headers")
    for name, value in headers.items():
        _check_header(check_text("headers", name), check_text("headers", value, longest=LONGEST_HEADER))
    if len({name.lower() for name in headers}) < len(headers):
        raise InvalidRequest("headers must name each header once.", "headers")
    return dict(headers)


def _check_header(name: str, value: str) -> None:
    if not TOKEN.fullmatch(name):
        raise InvalidRequest(f"{name!r} is not the name of a header.", "headers")
    if MANAGED_HEADERS.fullmatch(name):
        raise InvalidRequest(f"The header {name} is set by Cadenza itself.", "headers")
    if not HEADER_VALUE.fullmatch(value):
        raise InvalidRequest(f"The header {name} must be one line without control characters.", "headers")
    _check_references("headers", value)


def _check_references(field: str, text: str) -> None:
    if len(LIKE_A_REFERENCE.findall(text)) != len(REFERENCE.findall(text)):
        raise InvalidRequest(f"{field} has a reference that is not ${{env:NAME}} or ${{secret:NAME}}.", field)


def _check_body(body: Any) -> None:
    if (size := json_size("body", body)) > LONGEST_BODY:
        raise InvalidRequest(f"body has {size:,} bytes; the maximum is {LONGEST_BODY:,}.", "body")
    for text in texts(body):
        _check_references("body", text)


def _listed(field: str, values: Any, *, most: int) -> tuple[Any, ...]:
    if not isinstance(values, list | tuple) or len(values) > most:
        raise InvalidRequest(f"{field} must be a list of at most {most}.", field)
    return tuple(values)


@lru_cache(maxsize=1024)
def _status_range(statuses: str) -> range:
    found = STATUSES.fullmatch(statuses)
    if found is None:
        raise InvalidRequest(f"{statuses!r} is not a status: 204, 200-204 and 2xx are.", "success_statuses")
    hundred, first, last = found.groups()
    if hundred:
        return range(int(hundred) * 100, int(hundred) * 100 + 100)
    return range(int(first), int(last or first) + 1)


def _statuses(values: Any) -> tuple[str, ...]:
    listed = tuple(map(str, _listed("success_statuses", values, most=MOST_LISTED)))
    if not listed or not all(map(_status_range, listed)):
        raise InvalidRequest("success_statuses must name at least one status.", "success_statuses")
    return listed


def _check_path(path: Any) -> None:
    if path is not None and not JSON_PATH.fullmatch(check_text("success_path", path)):
        raise InvalidRequest("success_path must be $, followed by .name, ['name'] or [0].", "success_path")


def _success_values(values: Any, path: str | None) -> tuple[Json, ...]:
    listed = _listed("success_values", values, most=MOST_LISTED)
    if listed and path is None:
        raise InvalidRequest("success_values need a success_path that leads to them.", "success_values")
    if json_size("success_values", list(listed)) > LONGEST_HEADER:
        raise InvalidRequest(f"success_values may have {LONGEST_HEADER:,} bytes.", "success_values")
    return listed


def _capture_headers(values: Any) -> tuple[str, ...]:
    listed = tuple(str(name).lower() for name in _listed("capture_headers", values, most=MOST_LISTED))
    if not all(map(TOKEN.fullmatch, listed)) or "set-cookie" in listed:
        raise InvalidRequest("capture_headers must name headers, never set-cookie.", "capture_headers")
    return listed


def _signing(values: Any) -> tuple[str, ...]:
    listed = _listed("signing", values, most=MOST_KEYS)
    if not all(isinstance(reference, str) and REFERENCE.fullmatch(reference) for reference in listed):
        raise InvalidRequest("signing must list references such as ${secret:NAME}.", "signing")
    return listed
