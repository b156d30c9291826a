"""Operations by which agents outside of Cadenza take, renew, answer and give back turns, and call tools."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.agent_turn import (
    AgentTurn,
    AnswerCall,
    TurnAnswer,
    TurnCall,
    count_refused_answer,
    give_back,
    lease,
    renew,
    request_call,
    take_answer,
    token_digest,
    turn_token,
)
from cadenza.domain.agents.users import AgentKey, Runtime
from cadenza.domain.errors import Conflict, InvalidRequest, NotFound, Unavailable
from cadenza.engine.async_helpers import first_of
from cadenza.operations.agents.turn_schemas import (
    LONGEST_WAIT_S,
    AgentTurnView,
    AnswerTurn,
    CalledToolView,
    CallTurnTool,
    HeldTurn,
    OneTurn,
    RenewTurn,
    TakenTurn,
    TakenTurnView,
    TakeTurn,
)
from cadenza.operations.context import RequestContext
from cadenza.operations.operation import operation
from cadenza.ports.agents import Callback

POLL_S = 1.0
NO_RECORD = "the turn keeps it, and what its tools change is recorded"
Subscribe = Callable[[Callback], Callback]


@operation("POST /v1/agent-turns/take", Scope.STEER, calls_out=True, shown_once=True, unaudited=NO_RECORD)
async def take_agent_turn(context: RequestContext, command: TakeTurn) -> TakenTurnView:
    """Take the next turn of a pull agent, with a lease; wait a while if there is none.

    Renew the lease while you work, then answer the turn or give it back.
    """
    key = AgentKey(context.tenant_id, command.agent_id)
    agent = await context.store.agents.agent(key)
    if agent.runtime is not Runtime.PULL:
        raise Conflict(f"Agent {agent.id} is no pull agent: its turns are not taken.")
    turns, secret = context.store.agent_turns, context.dependencies.token_generator.secret()

    async def take() -> TakenTurn | None:
        now = context.dependencies.clock.now()
        until = now + timedelta(seconds=command.lease_seconds)

        def give(turn: AgentTurn) -> AgentTurn:
            return lease(turn, token=token_digest(turn_token(turn.id, secret)), until=until)

        taken = await turns.take_turn(key, now=now, change=give)
        return None if taken is None else _taken(taken, turn_token(taken.id, secret), until)

    subscribe = partial(turns.on_turn_offer, key)
    return TakenTurnView(taken=await _first(context, take, subscribe, within_s=command.wait_seconds))


@operation("POST /v1/agent-turns/{turn_id}/renew", Scope.STEER, turn=True, unaudited=NO_RECORD)
async def renew_agent_turn(context: RequestContext, command: RenewTurn) -> AgentTurnView:
    """Keep a turn for longer. A conflict says that somebody else has it, or that nobody waits any more."""
    now = context.dependencies.clock.now()
    until = now + timedelta(seconds=command.lease_seconds)
    return AgentTurnView.of(await _amend(context, command, partial(renew, now=now, until=until)))


@operation("POST /v1/agent-turns/{turn_id}/give-back", Scope.STEER, turn=True, unaudited=NO_RECORD)
async def give_back_agent_turn(context: RequestContext, command: HeldTurn) -> AgentTurnView:
    """Give a turn back, so that another process can take it at once."""
    change = partial(give_back, now=context.dependencies.clock.now())
    return AgentTurnView.of(await _amend(context, command, change))


@operation("POST /v1/agent-turns/{turn_id}/answer", Scope.STEER, turn=True, unaudited=NO_RECORD)
async def answer_agent_turn(context: RequestContext, command: AnswerTurn) -> AgentTurnView:
    """Answer a turn, once. An answer that is late or the second one is a conflict, and is counted."""
    answer = TurnAnswer(
        messages=tuple(command.messages),
        calls=tuple(AnswerCall(one.tool, one.arguments) for one in command.calls),
        tokens=command.tokens,
    )
    change = partial(take_answer, answer=answer, now=context.dependencies.clock.now())
    try:
        return AgentTurnView.of(await _amend(context, command, change))
    except Conflict:
        await context.store.agent_turns.amend_turn(command.turn_id, count_refused_answer)
        raise


@operation(
    "POST /v1/agent-turns/{turn_id}/tools/{tool}",
    Scope.STEER,
    calls_out=True,
    turn=True,
    unaudited=NO_RECORD,
)
async def call_agent_turn_tool(context: RequestContext, command: CallTurnTool) -> CalledToolView:
    """Call a tool of a turn on behalf of its user; a refusal is an answer, with the reason."""
    call = TurnCall(command.call_id or context.dependencies.ids.new(), command.tool, command.arguments)
    change = partial(request_call, call=call, now=context.dependencies.clock.now())
    await _amend(context, command, change)
    turns = context.store.agent_turns

    async def done() -> TurnCall | None:
        turn = await turns.agent_turn(command.turn_id)
        found = next((one for one in turn.calls if one.id == call.id), None)
        if found is None:
            raise Conflict("This turn is not yours any more: your lease ran out, or nobody waits for it.")
        return found if found.done else None

    subscribe = partial(turns.on_turn_change, command.turn_id)
    ended = await _first(context, done, subscribe, within_s=LONGEST_WAIT_S)
    if ended is None:
        raise Unavailable(f"The tool was not called yet: send this again, with the call_id {call.id}.")
    return CalledToolView(result=ended.result, refused=ended.refused)


@operation("GET /v1/agent-turns/{turn_id}", Scope.READ, turn=True)
async def get_agent_turn(context: RequestContext, command: OneTurn) -> AgentTurnView:
    """Show where a turn stands."""
    return AgentTurnView.of(await _turn(context, command.turn_id))


async def _amend(context: RequestContext, command: HeldTurn, change: Callable[..., AgentTurn]) -> AgentTurn:
    """Change a turn by the token that the caller shows, in the request or as bearer key."""
    turn = await _turn(context, command.turn_id)
    if command.turn_token is not None:
        token = token_digest(command.turn_token)
    elif context.caller.turn is not None:
        token = context.caller.turn.digest
    else:
        raise InvalidRequest("turn_token must be the token that came with the turn.", "turn_token")
    return await context.store.agent_turns.amend_turn(turn.id, partial(change, token=token))


async def _turn(context: RequestContext, turn_id: str) -> AgentTurn:
    """The turn, if the caller may know of it."""
    turn = await context.store.agent_turns.agent_turn(turn_id)
    access = context.caller.turn
    if turn.conversation.tenant_id != context.tenant_id or (access and access.turn_id != turn.id):
        raise NotFound(f"Turn {turn_id} not found.")
    return turn


def _taken(turn: AgentTurn, token: str, until: datetime) -> TakenTurn:
    payload: Any = turn.payload
    return TakenTurn(
        id=turn.id,
        token=token,
        attempt=turn.attempts,
        lease_until=until,
        expires_at=turn.expires_at,
        turn=payload,
    )


async def _first(context: RequestContext, look: Any, subscribe: Subscribe, *, within_s: float) -> Any:
    """What is found, now or when a notification comes; None if there is nothing within the time."""
    time, changed = asyncio.get_running_loop().time, asyncio.Event()
    end = time() + within_s
    stop = subscribe(changed.set)
    try:
        while True:
            changed.clear()
            found = await look()
            left_s = end - time()
            if found is not None or left_s <= 0:
                return found
            await first_of(changed.wait(), context.dependencies.pause(min(POLL_S, left_s)))
    finally:
        stop()


AGENT_TURNS = (
    take_agent_turn,
    renew_agent_turn,
    give_back_agent_turn,
    call_agent_turn_tool,
    answer_agent_turn,
    get_agent_turn,
)
