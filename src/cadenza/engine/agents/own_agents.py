"""Agents outside of Cadenza: their turns are offered, and a process waits for each answer."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial

from cadenza.domain.agents.agent_turn import (
    AgentTurn,
    TurnAnswer,
    TurnCall,
    TurnState,
    give_up,
    lease,
    row_id,
    settle_call,
    take_answer,
    token_digest,
    turn_token,
)
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.delivery import Subtitle
from cadenza.domain.errors import CadenzaError, Conflict, Unavailable
from cadenza.domain.planning.analysis import Tokens
from cadenza.domain.validation import milliseconds
from cadenza.engine.agents.turn_payload import write_payload
from cadenza.engine.async_helpers import first_of
from cadenza.ports.agents import CallTool, Prompt, Reply
from cadenza.ports.clock import Clock
from cadenza.ports.own_agents.turns import AgentTurnStore, TurnSender

POLL_MS = 1_000
WAIT_MS = 85_000
"""A turn may have to wait for another; yet it ends by itself before its run is cut off."""


class PullAgents:
    """Offers turns to the processes that take them, and waits for their answers."""

    def __init__(
        self, *, store: AgentTurnStore, clock: Clock, wait_ms: float = WAIT_MS, poll_ms: float = POLL_MS
    ) -> None:
        self._store = store
        self._clock = clock
        self._wait_ms = wait_ms
        self._poll_ms = poll_ms

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        """The answer of whichever process takes the turn; an error if none answers in time."""
        return await self.wait(await self.offer(prompt), prompt, call)

    async def offer(self, prompt: Prompt) -> AgentTurn:
        """The stored turn: a new one, or that of an earlier attempt, which may be answered."""
        now, key = self._clock.now(), ConversationKey(*prompt.user.key, prompt.agent.id)
        turn = AgentTurn(
            id=row_id(key, prompt.turn_id),
            conversation=key,
            payload=write_payload(prompt),
            created_at=now,
            expires_at=now + milliseconds(self._wait_ms),
        )
        return await self._store.offer_turn(turn)

    async def wait(
        self,
        turn: AgentTurn,
        prompt: Prompt,
        call: CallTool,
        sending: "asyncio.Task[str | None] | None" = None,
    ) -> Reply:
        """Carry out the agent's calls until it has answered, was not reached, or the time is over."""
        changed, calls = asyncio.Event(), CallsOfTurn(self._store, prompt, call)
        stop = self._store.on_turn_change(turn.id, changed.set)
        if sending is not None:
            sending.add_done_callback(lambda _: changed.set())
        try:
            while True:
                changed.clear()
                failed = sending.result() if sending is not None and sending.done() else None
                reply = await self._look(turn, calls, failed)
                if reply is not None:
                    return reply
                await first_of(changed.wait(), self._clock.sleep(self._next_look_ms(turn.expires_at)))
        finally:
            stop()

    async def _look(self, turn: AgentTurn, calls: "CallsOfTurn", failed: str | None) -> Reply | None:
        """The reply, if the turn is over; while the store is unavailable, nothing is known of it."""
        now = self._clock.now()
        try:
            if failed is not None or now >= turn.expires_at:
                end = partial(give_up, now=now, token=None if failed is None else turn.token)
                found = await self._store.amend_turn(turn.id, end)
            else:
                found = await self._store.agent_turn(turn.id)
            await calls.carry_out(found)
        except Unavailable as problem:
            return Reply(error=problem.message) if now >= turn.expires_at else None
        if found.answer is not None:
            return await calls.reply(found.answer)
        if failed is not None:
            return Reply(error=failed)
        late = Reply(error=f"No answer came within {round(self._wait_ms / 1_000)} s.")
        return late if now >= turn.expires_at else None

    def _next_look_ms(self, until: datetime) -> float:
        left_ms = (until - self._clock.now()) / milliseconds(1)
        return max(1.0, min(self._poll_ms, left_ms))


class HttpAgents:
    """Sends turns to services; they answer at once, or later by the token of the turn."""

    def __init__(
        self, *, turns: PullAgents, store: AgentTurnStore, sender: TurnSender, secret: Callable[[], str]
    ) -> None:
        self._turns = turns
        self._store = store
        self._sender = sender
        self._secret = secret

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        """The answer of the agent's service; an error if it is not reached, or does not answer in time."""
        turn = await self._turns.offer(prompt)
        if turn.state is TurnState.ANSWERED:
            return await self._turns.wait(turn, prompt, call)
        token = turn_token(turn.id, self._secret())
        digest = token_digest(token)
        try:
            turn = await self._store.amend_turn(turn.id, partial(lease, token=digest, until=turn.expires_at))
        except Conflict:  # It was answered just now.
            return await self._turns.wait(turn, prompt, call)
        sending = asyncio.create_task(self._send(prompt, turn, token, digest))
        try:
            return await self._turns.wait(turn, prompt, call, sending)
        finally:
            sending.cancel()
            await asyncio.wait([sending])

    async def _send(self, prompt: Prompt, turn: AgentTurn, token: str, digest: str) -> str | None:
        """Send the turn, and store the answer that comes at once; why there is none, if that is sure."""
        sent = await self._sender.send(prompt.agent, turn, token)
        if sent.answer is None:
            return sent.error
        # Whoever waits decides when it is too late.
        answer = partial(take_answer, token=digest, answer=sent.answer, now=prompt.now)
        try:
            await self._store.amend_turn(turn.id, answer)
        except Conflict:
            return None  # It was answered by the token meanwhile.
        except CadenzaError as problem:
            return problem.message
        return None


class CallsOfTurn:
    """The calls of an agent during its turn, carried out by the process that waits for its answer."""

    def __init__(self, store: AgentTurnStore, prompt: Prompt, call: CallTool) -> None:
        self._store = store
        self._prompt = prompt
        self._call = call
        self._attempt: int | None = None
        self._ended: dict[str, TurnCall] = {}

    async def carry_out(self, turn: AgentTurn) -> None:
        """Carry out what was called and is not done.

        What was done while another process waited is called again: it changes nothing, since every
        attempt is the same turn, and this process then knows what goes to the user with the answer.
        """
        if turn.attempts != self._attempt:
            if self._ended:
                self._prompt.start_over()
            self._attempt, self._ended = turn.attempts, {}
        for one in turn.calls:
            if one.id not in self._ended:
                self._ended[one.id] = one if one.refused is not None else await self._carried_out(one)
            if not one.done:
                await self._store.amend_turn(turn.id, partial(settle_call, call=self._ended[one.id]))

    async def reply(self, answer: TurnAnswer) -> Reply:
        """The agent's reply, after the calls that came with its answer; refused ones are recorded."""
        for one in answer.calls:
            with suppress(CadenzaError):
                await self._call(one.tool, one.arguments)
        return Reply(tuple(Subtitle(text) for text in answer.messages if text), Tokens(0, answer.tokens))

    async def _carried_out(self, one: TurnCall) -> TurnCall:
        try:
            return one._replace(done=True, result=await self._call(one.tool, one.arguments))
        except CadenzaError as problem:
            return one._replace(done=True, refused=problem.message)
