"""The store of turns that wait for an agent's answer, and who is notified of them."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, Protocol

from cadenza.domain.agents.agent_turn import AgentTurn, TurnAnswer
from cadenza.domain.agents.users import Agent, AgentKey
from cadenza.ports.agents import Callback

TurnChange = Callable[[AgentTurn], AgentTurn]
"""Decides what a turn becomes; it may raise, and then nothing is changed."""


class AgentTurnStore(Protocol):
    """Turns by id. Each change is a decision about the turn as it is, and one commit."""

    async def offer_turn(self, turn: AgentTurn) -> AgentTurn:
        """Store a turn, or let the one that is there under its id wait until the new end; the stored one.

        NotFound if there is no such user or agent. Who listens for the agent is notified.
        """
        ...

    async def agent_turn(self, turn_id: str) -> AgentTurn:
        """The turn; NotFound if there is none under this id."""
        ...

    async def amend_turn(self, turn_id: str, change: TurnChange) -> AgentTurn:
        """Change a turn and return it; NotFound if there is none under this id.

        Changes of one turn happen one after the other. Who listens for the turn is notified,
        and who listens for its agent, if the turn can be taken.
        """
        ...

    async def take_turn(self, agent: AgentKey, *, now: datetime, change: TurnChange) -> AgentTurn | None:
        """Change the oldest turn of an agent that can be taken, and return it; None if there is none.

        Of any number of callers, in all processes, one gets each turn.
        """
        ...

    def on_turn_change(self, turn_id: str, callback: Callback) -> Callback:
        """Call back whenever the turn is changed by any process that can notify this one.

        The returned function unsubscribes. A notification may be lost, so callers also poll; where an
        engine passes none on, they may be called in vain.
        """
        ...

    def on_turn_offer(self, agent: AgentKey, callback: Callback) -> Callback:
        """Call back whenever a turn of the agent can be taken; otherwise as `on_turn_change`."""
        ...

    async def forget_turns(self, before: datetime) -> int:
        """Delete turns that nobody has waited for since a moment; returns how many."""
        ...


class SentTurn(NamedTuple):
    """What an HTTP agent said to a turn: its answer, that it answers later (neither), or why it does not."""

    answer: TurnAnswer | None = None
    error: str | None = None


class TurnSender(Protocol):
    """Sends turns to HTTP agents."""

    async def send(self, agent: Agent, turn: AgentTurn, token: str) -> SentTurn:
        """Send a turn once, with the token to answer it by; every failure is an error in words.

        It carries the same message id each time, and takes no longer than the turn waits.
        """
        ...
