"""A request that is sent twice under one idempotency key is carried out once."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple

from cadenza.domain.errors import Conflict, InvalidRequest, Unavailable
from cadenza.operations.context import Dependencies
from cadenza.ports.access import IdempotentReply, user_reply_key

LEFT_BEHIND = timedelta(minutes=2)
"""A request that has had no answer for so long was left behind by a crash."""
FIRST_FAILURE = 500


class About(NamedTuple):
    """Whose request it is, and which user it is about, if it is about one."""

    tenant_id: str
    user_id: str | None = None


class Asked(NamedTuple):
    """Whose request it is, the key that they gave it, and what it asks for."""

    about: About
    key: str
    fingerprint: str

    @property
    def place(self) -> tuple[str, str]:
        """Where its reply is kept: if it is about a user, under a key that no other user can take."""
        tenant_id, user_id = self.about
        return tenant_id, self.key if user_id is None else user_reply_key(user_id, self.key)


class Answer(NamedTuple):
    """What a request was answered with."""

    status: int
    body: bytes
    replayed: bool = False


class StillRunning(Conflict):
    """The same request is being carried out at this moment."""

    retry_after_s = 1


async def once(
    dependencies: Dependencies,
    asked: Asked,
    answer: Callable[[], Awaitable[Answer]],
    *,
    kept: Callable[[Answer], Answer] = lambda given: given,
) -> Answer:
    """Answer a request, or repeat the answer that it had.

    1. Of any number of requests under one key, the first is carried out.
    2. Another request under the same key is refused.
    3. The same request is answered as the first was, or asked to wait for it.
    4. A failure of ours is not kept: the request may be sent again.
    """
    began = dependencies.clock.now()
    begun = IdempotentReply(asked.fingerprint, began)
    there = await dependencies.store.idempotency.begin_reply(
        *asked.place, begun, stale_before=began - LEFT_BEHIND
    )
    if there is not None:
        return _repeated(there, asked)
    try:
        given = await answer()
    except Exception:
        await _drop(dependencies, asked)
        raise
    if given.status >= FIRST_FAILURE:
        await _drop(dependencies, asked)
    else:
        await _keep(dependencies, asked, begun, kept(given))
    return given


def _repeated(there: IdempotentReply, asked: Asked) -> Answer:
    if there.fingerprint != asked.fingerprint:
        message = "This Idempotency-Key was used for another request; take a new one."
        raise InvalidRequest(message, "Idempotency-Key")
    if there.status is None:
        raise StillRunning("The same request is still being carried out; ask again in a moment.")
    return Answer(there.status, there.body, replayed=True)


async def _keep(dependencies: Dependencies, asked: Asked, begun: IdempotentReply, given: Answer) -> None:
    """What was done is done, also if the store cannot note it: the caller hears of it all the same."""
    reply = begun._replace(status=given.status, body=given.body)
    with suppress(Unavailable):
        await dependencies.store.idempotency.end_reply(*asked.place, reply)


async def _drop(dependencies: Dependencies, asked: Asked) -> None:
    with suppress(Unavailable):
        await dependencies.store.idempotency.drop_reply(*asked.place)
