"""Users at their sockets: authentication, their deliveries, and their messages."""

from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.access.key import Caller
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Unavailable
from cadenza.engine.agents.delivery import MOST_PER_QUERY, DeliveryStreams
from cadenza.engine.agents.delivery_stream import DeliveryStream as DeliveryStream  # noqa: PLC0414 - Whoever serves a socket holds one.
from cadenza.operations.access.caller_cache import caller_of
from cadenza.operations.access.keys import valid_key
from cadenza.operations.agents.messages import send_message
from cadenza.operations.agents.schedules import user_of
from cadenza.operations.application import Application
from cadenza.operations.context import RequestContext

NEEDED_SCOPE = send_message.scope
"""What a key must allow that speaks for a user."""


class SocketUser(NamedTuple):
    """The user of a socket, and the caller whose key opened it."""

    caller: Caller
    user: UserKey
    key_id: str
    expires_at: datetime | None
    """When the key that opened the socket expires."""


class SocketUsers:
    """Authenticates users at sockets, streams their deliveries, and passes on their messages."""

    def __init__(self, application: Application) -> None:
        dependencies = application.dependencies
        self.application = application
        self.streams = DeliveryStreams(
            store=dependencies.store.deliveries, clock=dependencies.clock, log=dependencies.log
        )

    async def authenticate(self, token: str, user_id: str | None) -> SocketUser | None:
        """The user of a token; None if it is not valid. A key of the tenant must name the user."""
        dependencies = self.application.dependencies
        key = await valid_key(dependencies.store.keys, token, dependencies.clock.now())
        if key is None:
            return None
        caller = caller_of(key)
        caller.must(NEEDED_SCOPE)
        return SocketUser(
            caller, user_of(RequestContext(dependencies, caller), user_id), key.id, key.expires_at
        )

    def stream(
        self, socket_user: SocketUser, last_seq: int | None
    ) -> AbstractAsyncContextManager[DeliveryStream]:
        """The stream of a user's deliveries; NotFound if there is no such user."""
        return self.streams.open(socket_user.user, last_seq=last_seq or 0)

    async def say(
        self, socket_user: SocketUser, *, agent_id: str, text: str, idempotency_key: str | None = None
    ) -> int | None:
        """Run a turn, once if there is an idempotency key; the answer goes to all sockets of the user.

        The number of the last message of the answer, if there is any.
        """
        conversations = self.application.dependencies.conversations
        if conversations is None:
            raise Unavailable("There are no agents here.")
        key = ConversationKey(*socket_user.user, agent_id)
        deliveries = await conversations.converse(key, text, idempotency_key=idempotency_key)
        return deliveries[-1].seq if deliveries else None

    async def valid_keys(self, key_ids: Collection[str]) -> set[str]:
        """Those of these keys that are still valid, read in batches."""
        asked, good = list(key_ids), set()
        for start in range(0, len(asked), MOST_PER_QUERY):
            kept = await self.application.dependencies.store.keys.existing_keys(
                asked[start : start + MOST_PER_QUERY]
            )
            now = self.application.dependencies.clock.now()
            good |= {key.id for key in kept if key.valid(now)}
        return good
