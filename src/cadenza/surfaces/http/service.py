"""One request to one operation, from the key that it shows to the answer that it gets."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from math import ceil
from typing import Any

from starlette.types import Receive, Scope, Send

from cadenza.domain.access.key import Caller
from cadenza.domain.errors import CadenzaError
from cadenza.operations.application import Application
from cadenza.operations.idempotency import Answer, once
from cadenza.operations.operation import NO_CONTENT, AnyOperation, Route
from cadenza.surfaces.http import idempotency
from cadenza.surfaces.http import request as reading
from cadenza.surfaces.http.auth import Gate
from cadenza.surfaces.http.problems import TOO_MANY, Refusal, told
from cadenza.surfaces.http.response import of_answer, of_problem

Arguments = Mapping[str, Any]
Take = Callable[[str], Awaitable[float | None]]
"""Let a caller in, or tell in how many seconds to come back."""


async def in_time(take: Take, caller: Caller) -> None:
    """Let a caller in, or refuse one who asks too often."""
    wait = await take(caller.origin)
    if wait is not None:
        detail = "There were too many requests with this key; wait a while."
        raise Refusal(TOO_MANY, detail, {"Retry-After": str(max(1, ceil(wait)))})


class Service:
    """Serves the operations of an application to callers with keys, at a bearable rate."""

    def __init__(self, application: Application, *, gate: Gate, take: Take) -> None:
        self.application = application
        self._gate = gate
        self._take = take

    async def admit(self, scope: Scope) -> tuple[Caller, str]:
        """Who asks, and their key; refused if they ask too often."""
        caller, token = await self._gate.caller(scope)
        await in_time(self._take, caller)
        return caller, token


class Served:
    """An operation that is found under a route."""

    def __init__(self, operation: AnyOperation, route: Route, service: Service) -> None:
        self.operation = operation
        self._status = route.status
        self._has_body = route.has_body
        self._once = operation.writes
        self._query = reading.QueryReader(operation)
        self._service = service
        self._to_json = operation.view.__pydantic_serializer__.to_json

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            outgoing = of_answer(await self._answer(scope, receive))
        except (CadenzaError, Refusal) as problem:
            outgoing = of_problem(told(problem, scope["cadenza.request_id"]))
        await outgoing.leave(scope, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        """First who asks and whether they may, then what they ask for, then the answer.

        The application asks whether they may, too; but what was answered before passes it by.
        """
        caller, token = await self._service.admit(scope)
        if self._once:
            caller.must(self.operation.scope)
        body, words = await self._words(scope, receive)
        arguments = reading.merged(scope["path_params"], words)
        key = idempotency.key_of(scope) if self._once else None
        if key is None:
            return await self._perform(arguments, caller)
        about = idempotency.about(caller, arguments)
        request_id: str = scope["cadenza.request_id"]
        return await once(
            self._service.application.dependencies,
            idempotency.asked(about, key, token=token, scope=scope, body=body),
            partial(self._carry_out, arguments, caller, request_id=request_id),
            kept=partial(self._kept, request_id),
        )

    async def _words(self, scope: Scope, receive: Receive) -> tuple[bytes, dict[str, Any]]:
        """The body, and the arguments beside the path: from the body, or from the query."""
        if not self._has_body:
            reading.refuse_body(scope)
            return b"", self._query.read(scope["query_string"])
        reading.refuse_query(scope)
        body = await reading.body_of(scope, receive)
        return body, reading.spoken(scope, body)

    async def _carry_out(self, arguments: Arguments, caller: Caller, *, request_id: str) -> Answer:
        """The answer, also if it is a refusal: sent twice, it is refused in the same words."""
        try:
            return await self._perform(arguments, caller)
        except CadenzaError as problem:
            kind, body, _ = told(problem, request_id)
            return Answer(kind.status, body)

    def _kept(self, request_id: str, answer: Answer) -> Answer:
        holds_secret = self.operation.shown_once and answer.status == self._status
        return idempotency.unrepeatable(request_id) if holds_secret else answer

    async def _perform(self, arguments: Arguments, caller: Caller) -> Answer:
        view = await self._service.application.perform(self.operation, arguments, caller)
        return Answer(self._status, b"" if self._status == NO_CONTENT else self._to_json(view))
