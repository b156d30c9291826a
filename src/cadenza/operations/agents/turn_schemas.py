"""What the operations on turns of own agents take and answer."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, JsonValue, StringConstraints

from cadenza.domain.agents.agent_turn import (
    LONGEST_MESSAGE,
    MOST_CALLS,
    MOST_MESSAGES,
    MOST_TOKENS,
    AgentTurn,
    TurnState,
)
from cadenza.domain.text_patterns import WITHOUT_CONTROL
from cadenza.operations.agents.users_agents import OneAgent
from cadenza.operations.fields import Id, Name, Whole
from cadenza.operations.operation import Command, View

LONGEST_WAIT_S = 30
LONGEST_LEASE_S = 600
LeaseSeconds = Annotated[int, Whole(5, LONGEST_LEASE_S)]
MessageToUser = Annotated[
    str, StringConstraints(strict=True, pattern=WITHOUT_CONTROL, max_length=LONGEST_MESSAGE)
]


class TakeTurn(OneAgent):
    """Of which agent, and how long to wait for a turn."""

    wait_seconds: Annotated[int, Whole(0, LONGEST_WAIT_S)] = 20
    """How long to wait, if there is no turn now."""
    lease_seconds: LeaseSeconds = 60
    """For how long no other process gets the turn, unless it is renewed."""


class OneTurn(Command):
    """The turn that is meant."""

    turn_id: Id


class HeldTurn(OneTurn):
    """A turn that the caller has."""

    turn_token: Name | None = None
    """The token that came with the turn. It can be left out by who sends it as bearer key."""


class RenewTurn(HeldTurn):
    """For how long."""

    lease_seconds: LeaseSeconds = 60
    """From now on."""


class CallOfTool(Command):
    """A call of a tool."""

    tool: Name
    arguments: dict[str, JsonValue] = {}


class AnswerTurn(HeldTurn):
    """The answer: it counts once."""

    messages: Annotated[list[MessageToUser], Field(max_length=MOST_MESSAGES)] = []
    """What the user reads, in this order."""
    calls: Annotated[list[CallOfTool], Field(max_length=MOST_CALLS)] = []
    """Tools that are called before the messages are delivered."""
    tokens: Annotated[int, Whole(0, MOST_TOKENS)] = 0
    """What the answer cost; it counts against the user's budget."""


class CallTurnTool(HeldTurn):
    """A call of a tool, on behalf of the turn's user."""

    tool: Name
    arguments: dict[str, JsonValue] = {}
    call_id: Id | None = None
    """The same for a call that is sent again: it is carried out once."""


class TakenTurn(View):
    """A turn that the caller has now."""

    id: str
    token: str
    """Answers, renews and gives back the turn, and calls its tools."""
    attempt: int
    """How often it was given to an agent."""
    lease_until: datetime
    """Another process gets the turn after this, unless the lease is renewed."""
    expires_at: datetime
    """Nobody waits for the answer after this."""
    turn: JsonValue
    """The message, its origin, the user, earlier messages, and the tools."""


class TakenTurnView(View):
    """A turn, if there is one."""

    taken: TakenTurn | None


class AgentTurnView(View):
    """Where a turn stands; what was said in it is in the conversation."""

    id: str
    user_id: str
    agent_id: str
    state: TurnState
    attempts: int
    """How often it was given to an agent."""
    created_at: datetime
    expires_at: datetime
    lease_until: datetime | None
    refused_answers: int
    """How many answers came too late, or were not the first."""

    @classmethod
    def of(cls, turn: AgentTurn) -> Self:
        """The view of a turn."""
        return cls(
            id=turn.id,
            user_id=turn.conversation.user_id,
            agent_id=turn.conversation.agent_id,
            state=turn.state,
            attempts=turn.attempts,
            created_at=turn.created_at,
            expires_at=turn.expires_at,
            lease_until=turn.lease_until,
            refused_answers=turn.refused_answers,
        )


class CalledToolView(View):
    """What the tool answered, or why it refused."""

    result: JsonValue
    refused: str | None
