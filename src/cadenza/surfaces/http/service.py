"""One request to one operation: authentication, rate limit, idempotency, answer."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from math import ceil
from typing import Any

from starlette.types import Receive, Scope, Send

from cadenza.domain.access.key import Caller
from cadenza.domain.errors import CadenzaError, InvalidRequest
from cadenza.domain.scheduling.hint import Rank, lowered
from cadenza.operations.application import Application
from cadenza.operations.idempotency import Answer, reply_once
from cadenza.operations.operation import NO_CONTENT, AnyOperation, Route
from cadenza.surfaces.http import idempotency
from cadenza.surfaces.http.auth import Authenticator
from cadenza.surfaces.http.problems import TOO_MANY, Refusal, describe_problem
from cadenza.surfaces.http.request import (
    QueryReader,
    body_of,
    json_arguments,
    merged,
    refuse_body,
    refuse_query,
    single_header,
)
from cadenza.surfaces.http.response import answer_response, problem_response

Arguments = Mapping[str, Any]
RANK_HEADER = "Cadenza-Rank"
RANKS = [rank.name.lower() for rank in reversed(Rank)]
RateLimit = Callable[[str], Awaitable[float | None]]
"""Count a request; None if it is allowed, else after how many seconds to retry."""


async def check_rate(rate_limit: RateLimit, caller: Caller) -> None:
    """Refuse a caller who has used up the rate limit."""
    wait = await rate_limit(caller.origin)
    if wait is not None:
        detail = "There were too many requests with this key; wait a while."
        raise Refusal(TOO_MANY, detail, {"Retry-After": str(max(1, ceil(wait)))})


class Service:
    """Authenticates callers for the operations of an application, and limits their rate."""

    def __init__(
        self, application: Application, *, authenticator: Authenticator, rate_limit: RateLimit
    ) -> None:
        self.application = application
        self._authenticator = authenticator
        self._rate_limit = rate_limit

    async def admit(self, scope: Scope) -> tuple[Caller, str]:
        """The caller and their key; refused without a valid key, or above the rate limit."""
        caller, token = await self._authenticator.caller(scope)
        await check_rate(self._rate_limit, caller)
        return with_stated_rank(caller, single_header(scope, RANK_HEADER.lower().encode())), token


def with_stated_rank(caller: Caller, rank: str | None) -> Caller:
    """A caller whose steering counts less, if a lower rank was stated."""
    if rank is None:
        return caller
    try:
        return caller._replace(origin=lowered(caller.origin, Rank[rank.upper()]))
    except KeyError:
        raise InvalidRequest(f"{RANK_HEADER} must be one of {', '.join(RANKS)}.", RANK_HEADER) from None


class ServedOperation:
    """One operation, served under its route."""

    def __init__(self, operation: AnyOperation, route: Route, service: Service) -> None:
        self.operation = operation
        self._status = route.status
        self._has_body = route.has_body
        self._once = operation.writes
        self._query = QueryReader(operation)
        self._service = service
        self._to_json = operation.view.__pydantic_serializer__.to_json

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            response = answer_response(await self._answer(scope, receive))
        except (CadenzaError, Refusal) as problem:
            response = problem_response(describe_problem(problem, scope["cadenza.request_id"]))
        await response.send(scope, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        """Authenticate and authorize, then parse, then carry out.

        The application checks the scope, too; but an answer that is replayed does not reach it.
        """
        caller, token = await self._service.admit(scope)
        if self._once:
            caller.must(self.operation.scope)
        body, words = await self._arguments(scope, receive)
        arguments = merged(scope["path_params"], words)
        key = idempotency.key_of(scope) if self._once else None
        if key is None:
            return await self._perform(arguments, caller)
        subject = idempotency.reply_subject(caller, arguments)
        request_id: str = scope["cadenza.request_id"]
        return await reply_once(
            self._service.application.dependencies,
            idempotency.idempotent_request(subject, key, token=token, scope=scope, body=body),
            partial(self._carry_out, arguments, caller, request_id=request_id),
            to_store=partial(self._kept, request_id),
        )

    async def _arguments(self, scope: Scope, receive: Receive) -> tuple[bytes, dict[str, Any]]:
        """The raw body, and the arguments from the body or the query."""
        if not self._has_body:
            refuse_body(scope)
            return b"", self._query.read(scope["query_string"])
        refuse_query(scope)
        body = await body_of(scope, receive)
        return body, json_arguments(scope, body)

    async def _carry_out(self, arguments: Arguments, caller: Caller, *, request_id: str) -> Answer:
        """The answer, also of a refusal: a repeated request gets the same one."""
        try:
            return await self._perform(arguments, caller)
        except CadenzaError as problem:
            kind, body, _ = describe_problem(problem, request_id)
            return Answer(kind.status, body)

    def _kept(self, request_id: str, answer: Answer) -> Answer:
        holds_secret = self.operation.shown_once and answer.status == self._status
        return idempotency.unrepeatable(request_id) if holds_secret else answer

    async def _perform(self, arguments: Arguments, caller: Caller) -> Answer:
        view = await self._service.application.perform(self.operation, arguments, caller)
        return Answer(self._status, b"" if self._status == NO_CONTENT else self._to_json(view))
