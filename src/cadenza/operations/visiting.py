"""Users at their sockets: who comes in, what they are handed, and what they say."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.access import ApiKey, Caller
from cadenza.domain.conversation import ConversationKey
from cadenza.domain.errors import InvalidRequest, NotFound, Unavailable
from cadenza.domain.people import UserKey
from cadenza.engine.postman import Postman
from cadenza.engine.visit import Visit as Visit  # noqa: PLC0414 - Whoever serves a socket holds one.
from cadenza.operations.door import caller_of
from cadenza.operations.keys import opening
from cadenza.operations.messages import send_message
from cadenza.operations.office import Office

SPEAKING = send_message.scope
"""What a key must allow that speaks for a user."""


class Guest(NamedTuple):
    """Somebody at a socket: in whose name they came, and for which user they speak."""

    caller: Caller
    user: UserKey
    key_id: str
    expires_at: datetime | None
    """When the key that let them in runs out."""


class Visiting:
    """Lets users in, hands them what is owed to them, and takes what they say."""

    def __init__(self, office: Office) -> None:
        supplies = office.supplies
        self.office = office
        self.postman = Postman(store=supplies.store, clock=supplies.clock, log=supplies.log)

    async def admit(self, token: str, user_id: str | None) -> Guest | None:
        """Who shows a key; None if it opens nothing. A tenant's own key must say for which user it speaks."""
        supplies = self.office.supplies
        key = await opening(supplies.store, token, supplies.clock.now())
        if key is None:
            return None
        caller = caller_of(key)
        caller.must(SPEAKING)
        return Guest(caller, UserKey(key.tenant_id, _user_of(key, user_id)), key.id, key.expires_at)

    def visit(self, guest: Guest, last_seq: int | None) -> AbstractAsyncContextManager[Visit]:
        """A visit of the guest's user; NotFound if there is no such user."""
        return self.postman.visit(guest.user, last_seq=last_seq or 0)

    async def say(self, guest: Guest, *, agent_id: str, text: str) -> None:
        """Let an agent answer; what it says is owed to the user, at all their sockets."""
        conversing = self.office.supplies.conversing
        if conversing is None:
            raise Unavailable("There are no agents here.")
        await conversing.converse(ConversationKey(*guest.user, agent_id), text)

    async def is_good(self, key_id: str) -> bool:
        """Does a key still open the door?"""
        supplies = self.office.supplies
        kept = await supplies.store.kept_key(key_id)
        return kept is not None and kept.key.valid(supplies.clock.now())


def _user_of(key: ApiKey, user_id: str | None) -> str:
    if key.user_id is None:
        if user_id is None:
            raise InvalidRequest("user_id must say for which user this key speaks.", "user_id")
        return user_id
    if user_id not in (None, key.user_id):
        raise NotFound(f"There is no user {user_id}.")
    return key.user_id
