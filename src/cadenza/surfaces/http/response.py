"""Responses as they are sent, and the security headers of every response."""

from collections.abc import Mapping
from typing import NamedTuple

from starlette.types import Scope, Send

from cadenza.operations.idempotency import Answer
from cadenza.operations.operation import NO_CONTENT
from cadenza.surfaces.http.problems import MEDIA_TYPE, ProblemDetails

RawHeaders = list[tuple[bytes, bytes]]
NOTHING_ELSE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""What no page of ours does."""
FOR_DATA = f"default-src 'none'; {NOTHING_ELSE}"
FOR_PAGES = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    f"connect-src 'self'; {NOTHING_ELSE}"
)
ALWAYS: RawHeaders = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]
DATA: RawHeaders = [
    *ALWAYS,
    (b"content-security-policy", FOR_DATA.encode()),
    (b"cache-control", b"no-store"),
]
PAGES: RawHeaders = [*ALWAYS, (b"content-security-policy", FOR_PAGES.encode())]
FIRST_PROBLEM = 400
JSON_TYPE = (b"content-type", b"application/json")
PROBLEM_TYPE = (b"content-type", MEDIA_TYPE.encode())
REPLAYED = (b"idempotency-replayed", b"true")


class RawResponse(NamedTuple):
    """Status, headers and body."""

    status: int
    headers: RawHeaders
    body: bytes = b""

    async def send(self, scope: Scope, send: Send) -> None:
        """Send it; HEAD gets the headers without the body."""
        body = b"" if scope["method"] == "HEAD" else self.body
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": body})


def answer_response(answer: Answer) -> RawResponse:
    """The response of an operation's answer, new or replayed."""
    if answer.status == NO_CONTENT:
        headers: RawHeaders = []
    else:
        headers = [
            PROBLEM_TYPE if answer.status >= FIRST_PROBLEM else JSON_TYPE,
            (b"content-length", b"%d" % len(answer.body)),
        ]
    if answer.replayed:
        headers.append(REPLAYED)
    return RawResponse(answer.status, headers, answer.body)


def problem_response(problem: ProblemDetails) -> RawResponse:
    """The response of a problem."""
    headers = [
        PROBLEM_TYPE,
        (b"content-length", b"%d" % len(problem.body)),
        *raw_headers(problem.headers),
    ]
    return RawResponse(problem.kind.status, headers, problem.body)


def raw_headers(headers: Mapping[str, str]) -> RawHeaders:
    """Headers as ASGI takes them."""
    return [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]


def protection(path: str) -> RawHeaders:
    """The security headers of a path: stricter for data than for pages."""
    return DATA if path.startswith(("/v1", "/mcp")) else PAGES
