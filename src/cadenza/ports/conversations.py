"""Conversations, as a store keeps them: what was said, and who may speak."""

from datetime import datetime
from typing import Protocol

from cadenza.domain.agents.conversation import ConversationKey, Message, Turn
from cadenza.domain.agents.delivery import Delivery
from cadenza.domain.agents.users import UserKey
from cadenza.ports.catalog import FIRST_PAGE, Page


class ConversationStore(Protocol):
    """What was said, in the order in which it was committed; and the turn: one at a time has it."""

    async def begin_turn(self, key: ConversationKey, *, token: str, now: datetime, until: datetime) -> bool:
        """Take the turn, until a moment; False while somebody else has it.

        Of any number of callers, in all processes, one has it. A turn that ran out is
        taken over. NotFound if there is no such user or agent.
        """
        ...

    async def renew_turn(self, key: ConversationKey, *, token: str, until: datetime) -> bool:
        """Have the turn for longer; False if it is somebody else's by now."""
        ...

    async def end_turn(self, key: ConversationKey, *, token: str) -> None:
        """Give the turn back with nothing said; nothing happens if it is somebody else's."""
        ...

    async def commit_turn(self, turn: Turn) -> list[Delivery] | None:
        """Keep what was said, owe what is owed, count what it cost and end the turn, in one commit.

        None, and then nothing is kept, if the turn is somebody else's by now or its
        user is gone. A turn without a token asks for no right to speak. What is owed
        rings the user's bell. A turn that carries a firing is committed once.
        """
        ...

    async def context(self, key: ConversationKey, limit: int) -> list[Message]:
        """So many of the newest messages, oldest first; turns that began before a reset are left out."""
        ...

    async def messages(self, key: ConversationKey, page: Page = FIRST_PAGE) -> list[Message]:
        """All that was said, newest first; a page goes on after the id of a message."""
        ...

    async def reset_context(self, user: UserKey, now: datetime) -> None:
        """Let the user's conversations start afresh: turns that began before are no context any more."""
        ...

    async def forget_messages(self, before: datetime) -> int:
        """Forget what was said earlier, and what it cost; how many messages it was."""
        ...
