"""Answers, as they go out."""

from collections.abc import Mapping
from typing import NamedTuple

from starlette.types import Scope, Send

from cadenza.operations.idempotency import Answer
from cadenza.operations.operation import NO_CONTENT
from cadenza.surfaces.http.headers import Raw
from cadenza.surfaces.http.problems import MEDIA_TYPE, Told

FIRST_PROBLEM = 400
JSON_TYPE = (b"content-type", b"application/json")
PROBLEM_TYPE = (b"content-type", MEDIA_TYPE.encode())
REPLAYED = (b"idempotency-replayed", b"true")


class Outgoing(NamedTuple):
    """Status, headers and body."""

    status: int
    headers: Raw
    body: bytes = b""

    async def leave(self, scope: Scope, send: Send) -> None:
        """Send it; HEAD is told of the body, and does not get it."""
        body = b"" if scope["method"] == "HEAD" else self.body
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": body})


def of_answer(answer: Answer) -> Outgoing:
    """What an operation answered, or had answered before."""
    if answer.status == NO_CONTENT:
        headers: Raw = []
    else:
        headers = [
            PROBLEM_TYPE if answer.status >= FIRST_PROBLEM else JSON_TYPE,
            (b"content-length", b"%d" % len(answer.body)),
        ]
    if answer.replayed:
        headers.append(REPLAYED)
    return Outgoing(answer.status, headers, answer.body)


def of_problem(told: Told) -> Outgoing:
    """What a caller is told of an error."""
    headers = [PROBLEM_TYPE, (b"content-length", b"%d" % len(told.body)), *raw(told.headers)]
    return Outgoing(told.kind.status, headers, told.body)


def raw(headers: Mapping[str, str]) -> Raw:
    """Headers as they stand on the wire."""
    return [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
