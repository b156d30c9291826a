"""What a user and an agent said to each other, and what one turn of it leaves."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from cadenza.domain.agents.delivery import KEPT_FOR, Delivery, SocketMessage
from cadenza.domain.agents.users import AgentKey, UserKey
from cadenza.domain.scheduling.target import Json
from cadenza.domain.validation import convert_to_utc, iso


class OriginKind(StrEnum):
    """Who caused a message."""

    USER = "user"
    SCHEDULE = "schedule"
    DAILY = "daily"
    SYSTEM = "system"


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"


class Origin(NamedTuple):
    """Where a message comes from. This, and never its text, makes a message a scheduled one."""

    kind: OriginKind = OriginKind.USER
    schedule_id: str | None = None
    name: str | None = None
    due_at: datetime | None = None


FROM_USER = Origin()


class ConversationKey(NamedTuple):
    """A user has one conversation with each agent."""

    tenant_id: str
    user_id: str
    agent_id: str

    @property
    def user(self) -> UserKey:
        """Who talks."""
        return UserKey(self.tenant_id, self.user_id)

    @property
    def agent(self) -> AgentKey:
        """Who answers."""
        return AgentKey(self.tenant_id, self.agent_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation."""

    id: str
    role: Role
    text: str
    at: datetime
    origin: Origin = FROM_USER
    parts: Json = None
    """What the agent's runtime needs to remember beside the text, in words of its own."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", Role(self.role))
        convert_to_utc(self, "at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one turn of a conversation leaves: all of it is committed together, or nothing."""

    id: str
    """The same for every attempt at one firing, so that it names what it leaves the same way."""
    conversation: ConversationKey
    began_at: datetime
    ended_at: datetime
    token: str | None = None
    """The right to speak, which ends with the commit; see `ConversationStore.begin_turn`."""
    messages: tuple[Message, ...] = ()
    owed: tuple[SocketMessage, ...] = ()
    expires_at: datetime | None = None
    """When the owed messages are too old to be of use; if not said, after thirty days."""
    schedule_id: str | None = None
    firing: str | None = None
    """What fired, mostly a run; None for an answer to what the user said."""
    tokens: int = 0
    handed_over: bool = False
    """The owed messages reach the user with the answer to their own request: nothing is left to deliver."""

    def __post_init__(self) -> None:
        convert_to_utc(self, "began_at", "ended_at", "expires_at")


def owed_by(turn: Turn, last_seq: int) -> list[Delivery]:
    """What a turn owes its user, numbered on from the last message that was owed to them."""
    key = turn.conversation
    return [
        Delivery(
            id=f"{turn.firing or turn.id}.{place}",
            tenant_id=key.tenant_id,
            user_id=key.user_id,
            seq=last_seq + place,
            agent_id=key.agent_id,
            message=message,
            owed_at=turn.ended_at,
            expires_at=turn.expires_at or turn.ended_at + KEPT_FOR,
            schedule_id=turn.schedule_id,
            firing=turn.firing,
            delivered=turn.handed_over,
        )
        for place, message in enumerate(turn.owed, 1)
    ]


def scheduled_text(name: str, prompt: str, due_at: datetime | None = None) -> str:
    """What an agent is told when a schedule fires; given a moment, also that it is late."""
    late = f" (This was due at {iso(due_at)}.)" if due_at is not None else ""
    return f"[SCHEDULED: {name}] {prompt}{late}"
