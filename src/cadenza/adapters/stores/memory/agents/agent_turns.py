"""Turns that wait for the answers of agents."""

from datetime import datetime

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.adapters.stores.wakeup import agent_topic
from cadenza.domain.agents.agent_turn import AgentTurn, TurnState, offer
from cadenza.domain.agents.users import AgentKey
from cadenza.ports.agents import Callback
from cadenza.ports.own_agents.turns import TurnChange


class MemoryAgentTurns:
    """Turns by id."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def offer_turn(self, turn: AgentTurn) -> AgentTurn:
        key = turn.conversation
        with self._lock:
            if key.user not in self._tables.users:
                raise not_found("user", key.user.id)
            if key.agent not in self._tables.agents:
                raise not_found("agent", key.agent.id)
            return self._put(offer(turn, self._tables.agent_turns.get(turn.id)))

    async def agent_turn(self, turn_id: str) -> AgentTurn:
        with self._lock:
            return self._turn(turn_id)

    async def amend_turn(self, turn_id: str, change: TurnChange) -> AgentTurn:
        with self._lock:
            return self._put(change(self._turn(turn_id)))

    async def take_turn(self, agent: AgentKey, *, now: datetime, change: TurnChange) -> AgentTurn | None:
        with self._lock:
            found = [
                turn
                for turn in self._tables.agent_turns.values()
                if turn.conversation.agent == agent and turn.takeable(now)
            ]
            if not found:
                return None
            return self._put(change(min(found, key=lambda turn: (turn.created_at, turn.id))))

    def on_turn_change(self, turn_id: str, callback: Callback) -> Callback:
        return self._tables.turn_wakeups.listen(turn_id, callback)

    def on_turn_offer(self, agent: AgentKey, callback: Callback) -> Callback:
        return self._tables.turn_wakeups.listen(agent_topic(agent), callback)

    async def forget_turns(self, before: datetime) -> int:
        with self._lock:
            turns = self._tables.agent_turns
            old = [turn.id for turn in turns.values() if turn.expires_at < before]
            for turn_id in old:
                del turns[turn_id]
            return len(old)

    def _turn(self, turn_id: str) -> AgentTurn:
        try:
            return self._tables.agent_turns[turn_id]
        except KeyError:
            raise not_found("turn", turn_id) from None

    def _put(self, turn: AgentTurn) -> AgentTurn:
        self._tables.agent_turns[turn.id] = turn
        topics = [turn.id]
        if turn.state is TurnState.OFFERED:
            topics.append(agent_topic(turn.conversation.agent))
        self._tables.turn_wakeups.notify(topics)
        return turn
