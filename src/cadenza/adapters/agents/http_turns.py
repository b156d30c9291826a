"""Sends turns to HTTP agents, with the same guarded and signed HTTP client as targets."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cadenza.adapters.telemetry.webhook_channel import without_references
from cadenza.domain.agents.agent_turn import AgentTurn, read_answer
from cadenza.domain.agents.users import Agent
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.validation import iso, milliseconds
from cadenza.ports.clock import Clock
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.own_agents.turns import SentTurn

ACCEPTED = 202


class HttpTurnSender:
    """Posts each turn with a callback; every attempt carries the same `webhook-id`."""

    def __init__(self, dispatcher: Dispatcher, clock: Clock, *, public_url: str) -> None:
        self._dispatcher = dispatcher
        self._clock = clock
        self._public_url = public_url.rstrip("/")

    async def send(self, agent: Agent, turn: AgentTurn, token: str) -> SentTurn:
        """Post it once: 200 is an answer, 202 says that it comes later."""
        try:
            claim = self._claim(agent, turn, token)
        except InvalidRequest as problem:
            return SentTurn(error=f"The turn cannot be sent: {problem.message}")
        return _sent(await self._dispatcher.execute(claim))

    def _claim(self, agent: Agent, turn: AgentTurn, token: str) -> Claim:
        assert agent.target is not None, "an HTTP agent has a target"
        body: dict[str, Json] = {
            "id": turn.id,
            "attempt": turn.attempts,
            "expires_at": iso(turn.expires_at),
            "turn": without_references(turn.payload),
            "callback": {"url": f"{self._public_url}/v1/agent-turns/{turn.id}", "token": token},
        }
        now = self._clock.now()
        left_ms = max(1, (turn.expires_at - now) // milliseconds(1))
        endpoint = Endpoint(
            id=turn.id,
            name=turn.id,
            tenant_id=agent.tenant_id,
            target=replace(agent.target, body=body),
            policy=Policy(timeout_ms=left_ms),
        )
        return Claim(
            turn.id,
            turn.id,
            endpoint,
            turn.created_at,
            now,
            turn.attempts,
            Source.MANUAL,
            now,
            now,
            started_at=now,
        )


def _sent(outcome: Outcome) -> SentTurn:
    response: Mapping[str, Any] = outcome.response if isinstance(outcome.response, dict) else {}
    if outcome.status is not RunStatus.SUCCESS:
        return SentTurn(error=f"The agent did not answer: {outcome.error or outcome.status.value}.")
    if response.get("status") == ACCEPTED:
        return SentTurn()
    try:
        return SentTurn(read_answer(response.get("body")))
    except InvalidRequest as problem:
        return SentTurn(error=f"What the agent answered is no answer: {problem.message}")
