"""What running an endpoint does."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import assert_never

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.http_request import (
    LONGEST_URL,
    MOST_LISTED,
    REFERENCE,
    check_body,
    check_path,
    check_url,
    checked_capture_headers,
    checked_headers,
    checked_method,
    checked_signing,
    checked_statuses,
    checked_success_values,
    status_range,
)
from cadenza.domain.json_values import Json, check_paths, texts
from cadenza.domain.scheduling.baseline import Baseline, DayParts, Once
from cadenza.domain.scheduling.policy import Backoff, Policy
from cadenza.domain.validation import check_count, check_text

MOST_REDIRECTS = 5
MOST_CAPTURED_BYTES = 262_144
LONGEST_GRACE_MS = 31 * 86_400_000
CAPTURED_HEADERS = ("content-type", "retry-after", "cache-control", "etag", "last-modified", "date")
MCP_SESSION = "mcp-session-id"
MCP_ANSWERS = "application/json, text/event-stream"
LONGEST_TOOL = 256
NO_HEADERS: Mapping[str, str] = {}
LARGEST_ANSWER = 16_384
"""Of a probe, in bytes."""
LONGEST_CONDITION = 1_000
MOST_COMPARED = 16


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
        check_url(check_text("url", self.url, longest=LONGEST_URL))
        check_count("capture_bytes", self.capture_bytes, least=0, most=MOST_CAPTURED_BYTES)
        check_count("max_redirects", self.max_redirects, least=0, most=MOST_REDIRECTS)
        check_body(self.body)
        check_path(self.success_path)
        for name, value in (
            ("method", checked_method(self.method)),
            ("headers", checked_headers(self.headers)),
            ("success_statuses", checked_statuses(self.success_statuses)),
            ("success_values", checked_success_values(self.success_values, self.success_path)),
            ("capture_headers", checked_capture_headers(self.capture_headers)),
            ("signing", checked_signing(self.signing)),
        ):
            object.__setattr__(self, name, value)
        if len(self.references()) > MOST_LISTED:
            raise InvalidRequest(f"At most {MOST_LISTED} secrets can be referred to.", "headers")

    def succeeds(self, status: int) -> bool:
        """Is this status one that its owner counts as a success?"""
        return any(status in status_range(statuses) for statuses in self.success_statuses)

    def references(self) -> frozenset[str]:
        """The secrets it refers to: `env:NAME`, `secret:NAME`."""
        sent = (*self.headers.values(), *self.signing, *texts(self.body))
        return frozenset(found for text in sent if "${" in text for found in REFERENCE.findall(text))


@dataclass(frozen=True, slots=True)
class CallableTarget:
    """A Python function, registered under a name."""

    function: str = "noop"


@dataclass(frozen=True, slots=True)
class McpTarget:
    """A tool of an MCP server, called over streamable HTTP; headers and arguments may refer to secrets."""

    url: str
    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_text("tool", self.tool, longest=LONGEST_TOOL)
        self.request(dict(self.arguments))

    def request(
        self, body: Json, headers: Mapping[str, str] = NO_HEADERS, method: str = "POST"
    ) -> HttpTarget:
        """The exchange that sends a message to the server."""
        return HttpTarget(
            self.url,
            method,
            {"Accept": MCP_ANSWERS, **self.headers, **headers},
            body,
            capture_bytes=MOST_CAPTURED_BYTES,
            capture_headers=("content-type", MCP_SESSION),
        )


ProbeTarget = HttpTarget | CallableTarget | McpTarget


@dataclass(frozen=True, slots=True)
class Probe:
    """Something cheap to look at before a model is woken, and when what it answers is new."""

    target: ProbeTarget
    condition: str | None = None
    """An expression that holds when the model is to be woken."""
    changed: tuple[str, ...] = ()
    """JSON paths in the answer: it is new if one of them has changed; without paths and condition, if
    anything has."""

    def __post_init__(self) -> None:
        if self.condition is not None and self.changed:
            raise InvalidRequest("A probe takes either a condition or changed, not both.", "changed")
        if self.condition is not None:
            check_text("condition", self.condition, longest=LONGEST_CONDITION)
        paths = check_paths("changed", self.changed, most=MOST_COMPARED)
        object.__setattr__(self, "changed", paths)
        if isinstance(self.target, HttpTarget) and self.target.capture_bytes > LARGEST_ANSWER:
            raise InvalidRequest(f"A probe captures at most {LARGEST_ANSWER:,} bytes.", "capture_bytes")

    def references(self) -> frozenset[str]:
        """The secrets that it refers to."""
        match self.target:
            case HttpTarget():
                return self.target.references()
            case McpTarget():
                return self.target.request(dict(self.target.arguments)).references()
            case CallableTarget():
                return frozenset()
            case _:
                assert_never(self.target)


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
    probe: Probe | None = None
    """What is looked at first; the agent gets the prompt only if that is new."""
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


def check_fit(target: object, baseline: Baseline, policy: Policy) -> None:
    """InvalidRequest if a target has a baseline or a policy that means nothing for it."""
    if isinstance(target, PromptTarget) and isinstance(baseline, DayParts):
        raise InvalidRequest("A schedule has no day parts: use an interval or a cron line.", "baseline")
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
PROBE_CALLABLE = f"{PROMPT}:{CALLABLE}"
"""The same of a prompt whose probe calls a function: who runs it needs both."""


def requirement(target: Target) -> str:
    """What a worker must have to run a target: its kind, or for a function `callable:` and its name.

    A prompt whose probe calls a function needs `prompt:callable:` and its name.
    """
    match target:
        case HttpTarget():
            return HTTP
        case PromptTarget(probe=Probe(target=CallableTarget(function))):
            return f"{PROBE_CALLABLE}{function}"
        case PromptTarget():
            return PROMPT
        case HeartbeatTarget():
            return HEARTBEAT
        case CallableTarget(function):
            return f"{CALLABLE}{function}"
        case _:
            assert_never(target)
