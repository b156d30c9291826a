"""Performs a request once for each idempotency key, and repeats its reply."""

from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from math import ceil
from typing import NamedTuple

from cadenza.domain.errors import Conflict, InvalidRequest, Unavailable
from cadenza.operations.context import Dependencies
from cadenza.ports.access import IdempotentReply, user_reply_key

STALE_AFTER = timedelta(minutes=2)
"""A request that calls out, and has no reply for so long, was interrupted by a crash."""


class ReplySubject(NamedTuple):
    """The tenant of a request, and the user it is about, if any."""

    tenant_id: str
    user_id: str | None = None


class IdempotentRequest(NamedTuple):
    """A request: its subject, its idempotency key, and a digest of its content."""

    subject: ReplySubject
    key: str
    fingerprint: str
    field: str = "Idempotency-Key"
    """Where the client gave the key."""

    @property
    def stored_key(self) -> tuple[str, str]:
        """The tenant and key of its stored reply; a request about a user has a key of that user's own."""
        tenant_id, user_id = self.subject
        return tenant_id, self.key if user_id is None else user_reply_key(user_id, self.key)


class Answer(NamedTuple):
    """The reply to a request."""

    status: int
    body: bytes
    replayed: bool = False


class StillRunning(Conflict):
    """The same request is still in progress."""

    retry_after_s = 1


class Repeated(Exception):
    """A request was carried out before, and this was its answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.answer = answer


async def reply_once(
    dependencies: Dependencies,
    request: IdempotentRequest,
    answer: Callable[[], Awaitable[Answer]],
    *,
    to_store: Callable[[Answer], Answer] = lambda reply: reply,
    calls_out: bool = False,
) -> Answer:
    """Perform a request, or repeat its reply.

    1. Of any number of requests with one key, one is performed, and the same ones get its reply.
    2. A different request with the same key is refused.
    3. The reply is stored in the commit of what was done. What raises is not stored, and does nothing:
       the request may be sent again.
    4. A request that calls out cannot be one commit: it reserves its key first, and while it is in
       progress, or after a crash for two minutes, the same one is a conflict.
    """
    kept = KeptReply(dependencies, request, to_store)
    try:
        return await (kept.reserve(answer) if calls_out else kept.keep(answer))
    except Repeated as repeated:
        return repeated.answer


class KeptReply:
    """The stored reply to one request."""

    def __init__(
        self,
        dependencies: Dependencies,
        request: IdempotentRequest,
        to_store: Callable[[Answer], Answer] = lambda reply: reply,
    ) -> None:
        self._store = dependencies.store.idempotency
        self._request = request
        self._to_store = to_store
        self._begun = IdempotentReply(request.fingerprint, dependencies.clock.now())

    async def check(self) -> None:
        """Raise `Repeated` if the request was carried out before."""
        self._must_be_new(await self._store.find_reply(*self._request.stored_key))

    async def keep(self, answer: Callable[[], Awaitable[Answer]]) -> Answer:
        """Carry out a request and store its reply, in one commit."""
        given: list[Answer] = []

        async def reply() -> IdempotentReply:
            given.append(await answer())
            return self._reply(given[-1])

        self._must_be_new(
            await self._store.keep_reply(
                *self._request.stored_key, self._begun, answer=reply, stale_before=self._stale_before
            )
        )
        return given[-1]

    async def reserve(self, answer: Callable[[], Awaitable[Answer]]) -> Answer:
        """Reserve the key, carry out a request, and then store its reply."""
        place = self._request.stored_key
        self._must_be_new(await self._store.begin_reply(*place, self._begun, stale_before=self._stale_before))
        try:
            given = await answer()
        except (Exception, CancelledError):
            with suppress(Unavailable):
                await self._store.drop_reply(*place, self._begun)
            raise

        async def reply() -> IdempotentReply:
            return self._reply(given)

        with suppress(Unavailable):  # It was done, and the caller is told.
            await self._store.keep_reply(*place, self._begun, answer=reply, stale_before=self._stale_before)
        return given

    @property
    def _stale_before(self) -> datetime:
        return self._begun.began_at - STALE_AFTER

    def _reply(self, given: Answer) -> IdempotentReply:
        stored = self._to_store(given)
        return self._begun._replace(status=stored.status, body=stored.body)

    def _must_be_new(self, stored: IdempotentReply | None) -> None:
        if stored is None:
            return
        field = self._request.field
        if stored.fingerprint != self._request.fingerprint:
            raise InvalidRequest(f"This {field} was used for another request; use a new one.", field)
        if stored.status is None:
            left = (stored.began_at - self._stale_before).total_seconds()
            raise StillRunning(
                "The same request is still being carried out; ask again in a moment."
                f" If its server was stopped meanwhile, it is carried out anew in {ceil(left)} s."
            )
        raise Repeated(Answer(stored.status, stored.body, replayed=True))
