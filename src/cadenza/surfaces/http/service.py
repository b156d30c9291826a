"""One request to one operation: authentication, rate limit, idempotency, answer."""

from asyncio import Semaphore
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from functools import partial
from math import ceil
from typing import Any

from starlette.types import Receive, Scope, Send

from cadenza.domain.access.key import Caller, Surface
from cadenza.domain.errors import CadenzaError, InvalidRequest
from cadenza.domain.scheduling.hint import Rank, lowered
from cadenza.operations.application import Application, in_turn
from cadenza.operations.idempotency import Answer, IdempotentRequest, Repeated, reply_once
from cadenza.operations.operation import NO_CONTENT, RANK_HEADER, RANKS, USER_AGENT, AnyOperation, Route
from cadenza.surfaces.http import idempotency
from cadenza.surfaces.http.auth import Authenticator
from cadenza.surfaces.http.problems import TOO_MANY, UNEXPECTED, Refusal, describe_problem
from cadenza.surfaces.http.request import (
    MOST_VALUES,
    MOST_VALUES_IN_BULK,
    QueryReader,
    body_of,
    json_arguments,
    merged,
    refuse_body,
    refuse_query,
    single_header,
    unless_disconnected,
)
from cadenza.surfaces.http.response import answer_response, problem_response

Arguments = Mapping[str, Any]
STATED_SURFACES = {f"{USER_AGENT}{one}".encode(): one for one in (Surface.CLI, Surface.MCP)}
STATED_RANK = RANK_HEADER.lower().encode()
MOST_AT_ONCE = 32
"""Requests that are performed at a time. More would only queue at the store, once for each of their
questions, and those with many questions would wait for all the others each time."""
RateLimit = Callable[[Caller], Awaitable[float | None]]
"""Count a request of a caller; None if it is allowed, else after how many seconds to retry."""


async def check_rate(rate_limit: RateLimit, caller: Caller) -> None:
    """Refuse a caller who has used up the rate limit."""
    wait = await rate_limit(caller)
    if wait is not None:
        detail = "There were too many requests with this key, or of its tenant; wait a while."
        raise Refusal(TOO_MANY, detail, {"Retry-After": str(max(1, ceil(wait)))})


class Service:
    """Authenticates callers for the operations of an application, and limits their rate."""

    def __init__(
        self, application: Application, *, authenticator: Authenticator, rate_limit: RateLimit
    ) -> None:
        self.application = application
        self._authenticator = authenticator
        self._rate_limit = rate_limit
        self.turns = Semaphore(MOST_AT_ONCE)

    async def admit(self, scope: Scope) -> tuple[Caller, str]:
        """The caller and their key; refused without a valid key, or above the rate limit."""
        caller, token = await self._authenticator.caller(scope)
        await check_rate(self._rate_limit, caller)
        return with_stated_rank(caller, single_header(scope, STATED_RANK)), token

    async def still_valid(self, scope: Scope) -> bool:
        """Whether the key or session of a request that goes on is still valid; it counts as no request."""
        try:
            await self._authenticator.caller(scope)
        except (CadenzaError, Refusal):
            return False
        return True


def with_stated_rank(caller: Caller, rank: str | None) -> Caller:
    """A caller whose steering counts less, if a lower rank was stated."""
    if rank is None:
        return caller
    try:
        return caller._replace(origin=lowered(caller.origin, Rank[rank.upper()]))
    except KeyError:
        raise InvalidRequest(f"{RANK_HEADER} must be one of {', '.join(RANKS)}.", RANK_HEADER) from None


def with_stated_surface(caller: Caller, scope: Scope) -> Caller:
    """A caller whose changes are recorded as those of the command or MCP program that sent the request."""
    if caller.surface is not Surface.REST:
        return caller
    agents = (STATED_SURFACES.get(value) for name, value in scope["headers"] if name == b"user-agent")
    return caller._replace(surface=next(filter(None, agents), Surface.REST))


class ServedOperation:
    """One operation, served under its route."""

    def __init__(self, operation: AnyOperation, route: Route, service: Service) -> None:
        self.operation = operation
        self._status = route.status
        self._has_body = route.has_body
        self._most_values = MOST_VALUES_IN_BULK if operation.bulk else MOST_VALUES
        self._once = operation.writes
        self._interruptible = operation.calls_out and not operation.keeps_reply
        self._query = QueryReader(operation)
        self._service = service
        self._turn = nullcontext() if operation.calls_out else service.turns

    async def serve(self, scope: Scope, receive: Receive, send: Send, *, values: Mapping[str, str]) -> None:
        """Answer one request; the values are those in its path."""
        scope["cadenza.operation"] = self.operation.name
        try:
            response = answer_response(await self._answer(scope, receive, values))
        except (CadenzaError, Refusal) as problem:
            response = problem_response(describe_problem(problem, scope["cadenza.request_id"]))
        await response.send(scope, send)

    async def _answer(self, scope: Scope, receive: Receive, values: Mapping[str, str]) -> Answer:
        """Authenticate and authorize, then parse, then carry out.

        The application checks the scope, too; but an answer that is replayed does not reach it.
        """
        caller, token = await self._service.admit(scope)
        if self._once:
            self.operation.must_be_open_to(caller)
            caller = with_stated_surface(caller, scope)
        if self._has_body:
            refuse_query(scope)
            body = await body_of(scope, receive)
            words = json_arguments(scope, body, most=self._most_values)
        else:
            refuse_body(scope)
            body, words = b"", self._query.read(scope["query_string"])
        arguments = merged(values, words) if words else values
        key = idempotency.key_of(scope) if self._once else None
        request: IdempotentRequest | None = None
        if key is not None:
            subject = idempotency.reply_subject(caller, arguments)
            request = idempotency.idempotent_request(subject, key, token=token, scope=scope, body=body)
        answering = self._answer_in_turn(request, arguments, caller, request_id=scope["cadenza.request_id"])
        return await (unless_disconnected(answering, receive) if self._interruptible else answering)

    async def _answer_in_turn(
        self, request: IdempotentRequest | None, arguments: Arguments, caller: Caller, *, request_id: str
    ) -> Answer:
        async with self._turn:
            if request is None:
                return await self._perform(arguments, caller)
            return await self._answer_once(request, arguments, caller, request_id=request_id)

    async def _answer_once(
        self, request: IdempotentRequest, arguments: Arguments, caller: Caller, *, request_id: str
    ) -> Answer:
        if self.operation.keeps_reply:
            try:
                return await self._perform(arguments, caller, request)
            except Repeated as repeated:
                return repeated.answer
        return await reply_once(
            self._service.application.dependencies,
            request,
            partial(self._carry_out, arguments, caller, request_id=request_id),
            to_store=partial(self._kept, request_id),
            calls_out=self.operation.calls_out,
        )

    async def _carry_out(self, arguments: Arguments, caller: Caller, *, request_id: str) -> Answer:
        """The answer, also of a refusal: a repeated request gets the same one. Not of a failure of ours."""
        try:
            return await self._perform(arguments, caller)
        except CadenzaError as problem:
            kind, body, _ = describe_problem(problem, request_id)
            if kind.status >= UNEXPECTED.status:
                raise
            return Answer(kind.status, body)

    def _kept(self, request_id: str, answer: Answer) -> Answer:
        holds_secret = self.operation.shown_once and answer.status == self._status
        return idempotency.unrepeatable(request_id) if holds_secret else answer

    async def _perform(
        self, arguments: Arguments, caller: Caller, request: IdempotentRequest | None = None
    ) -> Answer:
        view = await self._service.application.perform(self.operation, arguments, caller, idempotent=request)
        if self._status == NO_CONTENT:
            return Answer(self._status, b"")
        body = await in_turn(self.operation, view.to_json) if self.operation.bulk else view.to_json()
        return Answer(self._status, body)
