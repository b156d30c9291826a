"""Turns of conversations: an agent answers, and everything the turn leaves is committed together."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple, Protocol

from cadenza.domain.access.key import Caller, OnBehalfOf, Scope, Surface
from cadenza.domain.agents.conversation import (
    FROM_USER,
    ConversationKey,
    Message,
    Origin,
    OriginKind,
    Role,
    Turn,
)
from cadenza.domain.agents.delivery import Delivery, SocketMessage, Subtitle
from cadenza.domain.agents.schedule_request import daily_limit_reached
from cadenza.domain.errors import Conflict, LimitReached, Unavailable
from cadenza.domain.json_values import Json
from cadenza.engine.agents.own_schedule_tools import OwnScheduleTools
from cadenza.engine.agents.turn_lock import TurnLock
from cadenza.engine.agents.turn_tools import TurnTools
from cadenza.ports.agents import (
    AgentRuntime,
    Prompt,
    Reply,
    Tools,
)
from cadenza.ports.clock import Clock
from cadenza.ports.ids import Ids
from cadenza.ports.store import Store

CONTEXT_MESSAGES = 40
"""How many messages of a conversation an agent sees."""
SCOPES = frozenset({Scope.WRITE})


class TurnInput(NamedTuple):
    """The message that an agent answers, and the turn it belongs to."""

    turn_id: str
    text: str
    """As it is stored in the conversation."""
    words: str
    """The same without the prefix that marks a scheduled message."""
    origin: Origin = FROM_USER
    may_schedule: bool = True
    own_schedule: OwnScheduleTools | None = None
    """The tools for the schedule that started the turn."""
    quote: str = ""
    """What a probe answered, for this turn alone: it is not stored in the conversation."""


CommitTurn = Callable[[], Awaitable[Sequence[Delivery]]]


class TurnResult(NamedTuple):
    """The agent's reply, and the turn for the caller to commit."""

    reply: Reply
    turn: Turn
    record: Json = None
    """The calls of the turn and the refusals."""


class TurnOnce(Protocol):
    """Lets a turn be run once: for a message with an idempotency key."""

    turn_id: str
    """The same whenever the message is repeated: what its tools have made is not made again."""

    async def check(self) -> None:
        """Raise if the message was answered before; called when no other turn can be running."""
        ...

    async def commit(self, commit: CommitTurn) -> Sequence[Delivery]:
        """Commit the turn together with what `check` looks for."""
        ...


class Conversations:
    """Runs turns: builds the prompt, lets the agent answer with its tools, and commits."""

    def __init__(
        self,
        *,
        store: Store,
        runtime: AgentRuntime,
        tools: Tools,
        turn_lock: TurnLock,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._tools = tools
        self._turn_lock = turn_lock
        self._clock = clock
        self._ids = ids

    async def converse(
        self,
        key: ConversationKey,
        text: str,
        *,
        delivered_in_response: bool = False,
        once: TurnOnce | None = None,
    ) -> Sequence[Delivery]:
        """Answer a user's message, commit the turn, and return its deliveries.

        With `delivered_in_response` the deliveries reach the user in the response to this request.
        Unavailable if the agent could not answer: then no message is stored.
        """
        turn_id = self._ids.new() if once is None else once.turn_id
        check = None if once is None else once.check
        async with self.run_turn(key, TurnInput(turn_id, text, text), check) as (reply, turn, _):
            commit = partial(self._commit, replace(turn, delivered_in_response=delivered_in_response))
            if reply.error is not None:
                await self._store.conversations.commit_turn(turn)
                raise Unavailable(f"The agent could not answer: {reply.error}")
            return await (commit() if once is None else once.commit(commit))

    async def _commit(self, turn: Turn) -> Sequence[Delivery]:
        deliveries = await self._store.conversations.commit_turn(turn)
        if deliveries is None:
            raise Conflict("The answer came too late: another turn has started; send the message again.")
        return deliveries

    @asynccontextmanager
    async def run_turn(
        self, key: ConversationKey, turn_input: TurnInput, check: Callable[[], Awaitable[None]] | None = None
    ) -> AsyncIterator[TurnResult]:
        """Lock the conversation and let the agent answer; the caller commits the turn in its block.

        The commit releases the lock, and so does a block or a check that fails.
        """
        scheduled = turn_input.origin.kind is not OriginKind.USER
        async with self._turn_lock.hold(key, turn_input.turn_id if scheduled else None) as token:
            if check is not None:
                await check()
            yield await self._answer(key, turn_input, token)

    async def _answer(self, key: ConversationKey, turn_input: TurnInput, token: str) -> TurnResult:
        began = self._clock.now()
        turn_tools = TurnTools(self._tools, _caller(key, turn_input), turn_input.own_schedule)
        prompt = await self._prompt(key, turn_input, turn_tools=turn_tools, now=began)
        reply = await self._runtime.process_prompt(prompt, turn_tools.call)
        said = replace(prompt.message, text=turn_input.text)
        turn = Turn(
            id=turn_input.turn_id,
            conversation=key,
            began_at=began,
            ended_at=self._clock.now(),
            token=token,
            tokens=reply.tokens.total,
        )
        if reply.error is None:
            turn = _with_reply(turn, said, turn_tools, reply)
        return TurnResult(reply, turn, turn_tools.record)

    async def _prompt(
        self, key: ConversationKey, turn_input: TurnInput, *, turn_tools: TurnTools, now: datetime
    ) -> Prompt:
        return Prompt(
            now=now,
            user=await self._store.users.user(key.user),
            agent=await self._store.agents.agent(key.agent),
            message=Message(
                id=f"{turn_input.turn_id}.0",
                role=Role.USER,
                text=f"{turn_input.text}{turn_input.quote}",
                at=now,
                origin=turn_input.origin,
            ),
            words=turn_input.words,
            history=await self._store.conversations.context(key, CONTEXT_MESSAGES),
            tools=turn_tools.tools,
            most_tokens=await self._tokens_left(key, now),
            turn_id=turn_input.turn_id,
            start_over=turn_tools.start_over,
        )

    async def _tokens_left(self, key: ConversationKey, now: datetime) -> int | None:
        """How many tokens the user may spend today; NotAllowed if none are left."""
        limits = (await self._store.tenants.tenant(key.tenant_id)).limits
        spent = await self._store.users.usage_of_user(key.user, now.astimezone(UTC).date())
        reason = daily_limit_reached(0, spent.tokens, limits=limits)
        if reason is not None:
            raise LimitReached(f"{reason[:1].upper()}{reason[1:]}, and may not spend more: go on tomorrow.")
        most = limits.schedule_tokens_per_day
        return None if most is None else most - spent.tokens


def _caller(key: ConversationKey, turn_input: TurnInput) -> Caller:
    """The agent as caller of its tools: it acts on behalf of its user alone."""
    on_behalf_of = OnBehalfOf(
        user_id=key.user_id,
        agent_id=key.agent_id,
        turn=turn_input.turn_id,
        scheduled=turn_input.origin.kind is not OriginKind.USER,
        may_schedule=turn_input.may_schedule,
        schedule_id=turn_input.origin.schedule_id,
        reads_from_outside=bool(turn_input.quote),
    )
    return Caller(key.tenant_id, SCOPES, f"agent:{key.agent_id}", on_behalf_of, surface=Surface.AGENT)


def _with_reply(turn: Turn, said: Message, turn_tools: TurnTools, reply: Reply) -> Turn:
    """The turn with both messages of the exchange and the messages to deliver."""
    to_deliver: tuple[SocketMessage, ...] = (*turn_tools.canvas_commands, *reply.messages)
    answer = Message(
        id=f"{turn.id}.1",
        role=Role.AGENT,
        text="\n".join(one.text for one in to_deliver if isinstance(one, Subtitle)),
        at=turn.ended_at,
        origin=said.origin,
        parts=turn_tools.record,
    )
    return replace(turn, messages=(said, answer), to_deliver=to_deliver)
