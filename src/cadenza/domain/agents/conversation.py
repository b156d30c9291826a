"""Conversations between users and agents: messages, turns, and the deliveries of a turn."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from cadenza.domain.agents.delivery import Delivery, SocketMessage
from cadenza.domain.agents.users import AgentKey, UserKey
from cadenza.domain.json_values import Json
from cadenza.domain.validation import convert_to_utc, iso

if TYPE_CHECKING:  # It plans endpoints, whose runs carry turns.
    from cadenza.domain.agents.pacing import Pacing


class OriginKind(StrEnum):
    """What caused a message."""

    USER = "user"
    SCHEDULE = "schedule"
    DAILY = "daily"
    SYSTEM = "system"


class Role(StrEnum):
    """The author of a message."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"


class Origin(NamedTuple):
    """What caused a message. This, and never its text, makes it a scheduled message."""

    kind: OriginKind = OriginKind.USER
    schedule_id: str | None = None
    name: str | None = None
    due_at: datetime | None = None


FROM_USER = Origin()


class ConversationKey(NamedTuple):
    """The identity of a conversation: a user has one with each agent."""

    tenant_id: str
    user_id: str
    agent_id: str

    @property
    def user(self) -> UserKey:
        """The user."""
        return UserKey(self.tenant_id, self.user_id)

    @property
    def agent(self) -> AgentKey:
        """The agent."""
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
    """What the agent's runtime stores beside the text, in a format of its own."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", Role(self.role))
        convert_to_utc(self, "at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One exchange of a conversation, with all that it leaves: committed together, or not at all."""

    id: str
    """The same for every attempt at one firing, so that message and delivery ids are the same, too."""
    conversation: ConversationKey
    began_at: datetime
    ended_at: datetime
    token: str | None = None
    """The token of the turn lock, which the commit releases; see `ConversationStore.begin_turn`."""
    messages: tuple[Message, ...] = ()
    to_deliver: tuple[SocketMessage, ...] = ()
    schedule_id: str | None = None
    firing: str | None = None
    """The firing of a schedule, mostly a run id; None for an answer to a user's message."""
    tokens: int = 0
    delivered_in_response: bool = False
    """Whether the response to the user's own request delivers the messages."""
    pacing: "Pacing | None" = None
    """What it asks of the schedule that started it; takes effect with the run's commit."""

    def __post_init__(self) -> None:
        convert_to_utc(self, "began_at", "ended_at")


def deliveries_of(turn: Turn, last_seq: int) -> list[Delivery]:
    """The deliveries of a turn, numbered from the user's last one on."""
    key = turn.conversation
    return [
        Delivery(
            id=f"{turn.firing or turn.id}.{number}",
            tenant_id=key.tenant_id,
            user_id=key.user_id,
            seq=last_seq + number,
            agent_id=key.agent_id,
            message=message,
            owed_at=turn.ended_at,
            schedule_id=turn.schedule_id,
            firing=turn.firing,
            delivered=turn.delivered_in_response,
        )
        for number, message in enumerate(turn.to_deliver, 1)
    ]


def scheduled_text(name: str, prompt: str, due_at: datetime | None = None) -> str:
    """The message that an agent gets when a schedule fires; `due_at` is given if it is late."""
    late = f" (This was due at {iso(due_at)}.)" if due_at is not None else ""
    return f"[SCHEDULED: {name}] {prompt}{late}"
