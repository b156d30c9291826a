"""Users at their sockets: authentication, their deliveries, and their messages."""

from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from cadenza.domain.access.key import Caller, caller_of
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.users import UserKey
from cadenza.engine.agents.delivery import MOST_PER_QUERY, DeliveryStreams
from cadenza.engine.agents.delivery_stream import DeliveryStream as DeliveryStream  # noqa: PLC0414 - Whoever serves a socket holds one.
from cadenza.operations.access.key_tokens import valid_key
from cadenza.operations.agents.messages import AnswerView, answer_message, send_message
from cadenza.operations.agents.schedules import user_of
from cadenza.operations.application import Application
from cadenza.operations.context import RequestContext
from cadenza.operations.idempotency import IdempotentRequest, Repeated, ReplySubject

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
            store=dependencies.store.deliveries,
            clock=dependencies.poll_clock or dependencies.clock,
            log=dependencies.log,
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
        return self.streams.open(socket_user.user, last_seq=last_seq)

    async def say(
        self, socket_user: SocketUser, *, agent_id: str, text: str, idempotency_key: str | None = None
    ) -> int | None:
        """Run a turn, once if there is an idempotency key; the answer goes to all sockets of the user.

        The number of the last message of the answer, if there is any.
        """
        request = None
        if idempotency_key is not None:
            subject = ReplySubject(*socket_user.user)
            words = sha256(text.encode()).hexdigest()
            request = IdempotentRequest(subject, f"{agent_id} {idempotency_key}", words, "idempotency_key")
        context = RequestContext(self.application.dependencies, socket_user.caller, request)
        key = ConversationKey(*socket_user.user, agent_id)
        try:
            answer = AnswerView.of(await answer_message(context, key, text, delivered_in_response=False))
        except Repeated as repeated:
            answer = AnswerView.model_validate_json(repeated.answer.body)
        return answer.messages[-1].seq if answer.messages else None

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
