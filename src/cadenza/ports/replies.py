"""Answers that are kept, so that a request sent twice is carried out once; and rates, shared by all."""

from datetime import datetime
from typing import NamedTuple, Protocol


class Reply(NamedTuple):
    """The answer to a request that carried an idempotency key; no status while it is being worked on."""

    fingerprint: str
    """What the request asked for: the same key with another request is a mistake."""
    began_at: datetime
    status: int | None = None
    body: bytes = b""


def own_key(user_id: str, key: str) -> str:
    """The key of a request that is about one user: nobody else's is like it, and its reply goes with them."""
    return f"{own_keys(user_id)}{key}"


def own_keys(user_id: str) -> str:
    """What the keys of a user's own begin with; no key that is sent has a space in it."""
    return f"user {user_id} "


class ReplyStore(Protocol):
    """Replies by tenant and idempotency key; those of a user's own are forgotten with the user."""

    async def begin_reply(
        self, tenant_id: str, key: str, reply: Reply, *, stale_before: datetime
    ) -> Reply | None:
        """Take the key for this request: None, or the reply that has it already.

        Of any number of callers one takes it. One that began before `stale_before`
        and has no status was left behind by a crash, and is taken over.
        """
        ...

    async def end_reply(self, tenant_id: str, key: str, reply: Reply) -> None:
        """Keep the answer."""
        ...

    async def drop_reply(self, tenant_id: str, key: str) -> None:
        """Give the key back: nothing was done."""
        ...

    async def forget_replies(self, before: datetime) -> int:
        """Forget the replies that began earlier; how many there were."""
        ...


class RateStore(Protocol):
    """Counters that all processes on one database share."""

    async def draw(self, subject: str, *, window: int, amount: int) -> int:
        """Add to what a subject has drawn in a window; how much that is now. Old windows go."""
        ...
