"""Performs a request once for each idempotency key, and repeats its reply."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple

from cadenza.domain.errors import Conflict, InvalidRequest, Unavailable
from cadenza.operations.context import Dependencies
from cadenza.ports.access import IdempotentReply, user_reply_key

STALE_AFTER = timedelta(minutes=2)
"""A request without a reply for so long was interrupted by a crash."""
FIRST_FAILURE = 500


class ReplySubject(NamedTuple):
    """The tenant of a request, and the user it is about, if any."""

    tenant_id: str
    user_id: str | None = None


class IdempotentRequest(NamedTuple):
    """A request: its subject, its idempotency key, and a digest of its content."""

    subject: ReplySubject
    key: str
    fingerprint: str

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


async def reply_once(
    dependencies: Dependencies,
    request: IdempotentRequest,
    answer: Callable[[], Awaitable[Answer]],
    *,
    to_store: Callable[[Answer], Answer] = lambda reply: reply,
) -> Answer:
    """Perform a request, or repeat its reply.

    1. Of any number of requests with one key, the first is performed.
    2. A different request with the same key is refused.
    3. The same request gets the reply of the first, or a conflict while that is in progress.
    4. A server error is not stored: the request may be sent again.
    """
    began_at = dependencies.clock.now()
    begun = IdempotentReply(request.fingerprint, began_at)
    stored = await dependencies.store.idempotency.begin_reply(
        *request.stored_key, begun, stale_before=began_at - STALE_AFTER
    )
    if stored is not None:
        return _repeated(stored, request)
    try:
        given = await answer()
    except Exception:
        await _release(dependencies, request)
        raise
    if given.status >= FIRST_FAILURE:
        await _release(dependencies, request)
    else:
        await _store(dependencies, request, begun, to_store(given))
    return given


def _repeated(stored: IdempotentReply, request: IdempotentRequest) -> Answer:
    if stored.fingerprint != request.fingerprint:
        message = "This Idempotency-Key was used for another request; take a new one."
        raise InvalidRequest(message, "Idempotency-Key")
    if stored.status is None:
        raise StillRunning("The same request is still being carried out; ask again in a moment.")
    return Answer(stored.status, stored.body, replayed=True)


async def _store(
    dependencies: Dependencies, request: IdempotentRequest, begun: IdempotentReply, given: Answer
) -> None:
    """Store the reply; if the store is unavailable, the caller gets it all the same."""
    reply = begun._replace(status=given.status, body=given.body)
    with suppress(Unavailable):
        await dependencies.store.idempotency.end_reply(*request.stored_key, reply)


async def _release(dependencies: Dependencies, request: IdempotentRequest) -> None:
    with suppress(Unavailable):
        await dependencies.store.idempotency.drop_reply(*request.stored_key)
