"""Errors as RFC 9457 problems: one table from exception to status, type and title."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import orjson

from cadenza.domain.errors import (
    CadenzaError,
    Conflict,
    Fault,
    InvalidRequest,
    LimitReached,
    NotAllowed,
    NotFound,
    TooOften,
    Unavailable,
)
from cadenza.domain.wording import name_operations
from cadenza.operations.table import BY_NAME

MEDIA_TYPE = "application/problem+json"
TYPES = "/problems/"


class Kind(NamedTuple):
    """A problem type: its status, name and title."""

    status: int
    name: str
    title: str

    @property
    def type(self) -> str:
        """The `type` of the problem, which programs compare."""
        return f"{TYPES}{self.name}"


BAD_REQUEST = Kind(400, "bad-request", "Invalid request")
UNAUTHORIZED = Kind(401, "unauthorized", "A valid API key is required")
NOT_ALLOWED = Kind(403, "not-allowed", "Not allowed")
LIMIT_REACHED = Kind(403, "limit-reached", "A limit is reached")
NOT_FOUND = Kind(404, "not-found", "Not found")
WRONG_METHOD = Kind(405, "method-not-allowed", "Method not allowed")
CONFLICT = Kind(409, "conflict", "Conflict with the current state")
TOO_LARGE = Kind(413, "too-large", "The body is too large")
WRONG_MEDIA_TYPE = Kind(415, "unsupported-media-type", "Unsupported media type")
INVALID_REQUEST = Kind(422, "invalid-request", "Invalid fields in the request")
TOO_MANY = Kind(429, "too-many-requests", "Too many requests")
UNEXPECTED = Kind(500, "unexpected", "Internal error")
UNAVAILABLE = Kind(503, "unavailable", "A dependency is unavailable")

KINDS = (
    BAD_REQUEST,
    UNAUTHORIZED,
    NOT_ALLOWED,
    LIMIT_REACHED,
    NOT_FOUND,
    WRONG_METHOD,
    CONFLICT,
    TOO_LARGE,
    WRONG_MEDIA_TYPE,
    INVALID_REQUEST,
    TOO_MANY,
    UNEXPECTED,
    UNAVAILABLE,
)
ERRORS: dict[type[CadenzaError], Kind] = {
    InvalidRequest: INVALID_REQUEST,
    NotFound: NOT_FOUND,
    Conflict: CONFLICT,
    NotAllowed: NOT_ALLOWED,
    LimitReached: LIMIT_REACHED,
    Unavailable: UNAVAILABLE,
    TooOften: TOO_MANY,
}


class Refusal(Exception):
    """A request that is refused before it reaches an operation."""

    def __init__(self, kind: Kind, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.headers = headers or {}


class ProblemDetails(NamedTuple):
    """A problem ready to be sent: kind, body and headers."""

    kind: Kind
    body: bytes
    headers: Mapping[str, str]


def describe_problem(problem: CadenzaError | Refusal, request_id: str) -> ProblemDetails:
    """The problem of an error."""
    if isinstance(problem, Refusal):
        return ProblemDetails(
            problem.kind, problem_json(problem.kind, problem.detail, request_id), problem.headers
        )
    kind = next((ERRORS[base] for base in type(problem).__mro__ if base in ERRORS), UNEXPECTED)
    faults = problem.faults if isinstance(problem, InvalidRequest) else ()
    wait = getattr(problem, "retry_after_s", None)
    headers = {} if wait is None else {"Retry-After": str(wait)}
    return ProblemDetails(kind, problem_json(kind, problem.message, request_id, faults), headers)


def unexpected(request_id: str) -> ProblemDetails:
    """The problem of an unexpected error; it tells nothing but the request id."""
    detail = "Internal error. Send the operator the request id."
    return ProblemDetails(UNEXPECTED, problem_json(UNEXPECTED, detail, request_id), {})


def problem_json(kind: Kind, detail: str, request_id: str, faults: Sequence[Fault] = ()) -> bytes:
    """A problem as JSON, in which operations are named by their routes."""
    return orjson.dumps(
        {
            "type": kind.type,
            "title": kind.title,
            "status": kind.status,
            "detail": name_operations(detail, _route_of),
            "errors": [
                {"field": fault.field, "message": name_operations(fault.message, _route_of)}
                for fault in faults
            ],
            "request_id": request_id,
        }
    )


def _route_of(operation: str) -> str | None:
    found = BY_NAME.get(operation)
    return None if found is None or found.route is None else str(found.route)
