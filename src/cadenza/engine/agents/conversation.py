"""Turns of conversations, each answered by an agent and committed as a whole."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple, Protocol

from cadenza.domain.access.key import Caller, OnBehalfOf, Scope
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
from cadenza.domain.agents.schedule_request import spent_today
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Conflict, InvalidRequest, NotAllowed, Unavailable
from cadenza.engine.agents.turn_lock import TurnTaking
from cadenza.engine.agents.turn_tools import Hands
from cadenza.ports.access import TenantStore
from cadenza.ports.agents import (
    AgentRuntime,
    ConversationStore,
    DeliveryStore,
    PeopleStore,
    Prompt,
    Reply,
    Tools,
)
from cadenza.ports.catalog import Page
from cadenza.ports.clock import Clock
from cadenza.ports.ids import Ids

REMEMBERED = 40
"""So many messages of a conversation does an agent see."""
LOOKED_BACK = 200
"""Among so many messages is looked for one that comes again, and for what was owed for it."""
SCOPES = frozenset({Scope.WRITE})


class ConversingStore(ConversationStore, DeliveryStore, PeopleStore, TenantStore, Protocol):
    """Where conversations are kept."""


class Cue(NamedTuple):
    """What an agent is to answer to, and in which turn."""

    turn_id: str
    text: str
    """As it stands in the conversation."""
    words: str
    """Without the mark of a schedule."""
    origin: Origin = FROM_USER
    may_schedule: bool = True
    once: bool = False
    """Its turn has a name of its own, and is not answered again if it was."""


class Answered(NamedTuple):
    """What an agent answered, and the turn that this leaves, to be committed by whoever asked."""

    reply: Reply
    turn: Turn


class _AnsweredBefore(Exception):
    """The same words came before, and were answered."""


class Conversing:
    """Lets agents answer, with the tools that they have for their user."""

    def __init__(
        self,
        *,
        store: ConversingStore,
        runtime: AgentRuntime,
        tools: Tools,
        turns: TurnTaking,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._store = store
        self._runtime = runtime
        self._tools = tools
        self._turns = turns
        self._clock = clock
        self._ids = ids

    async def converse(
        self,
        key: ConversationKey,
        text: str,
        *,
        handed_over: bool = False,
        idempotency_key: str | None = None,
    ) -> Sequence[Delivery]:
        """Answer what a user says; what is owed to them for it, committed.

        With `handed_over` the answer reaches the user with the response to their own
        request. What comes again under an idempotency key is answered once, and what was
        owed for it is told again. Unavailable if the agent could not answer: then nothing
        was said.
        """
        turn_id = self._ids.new() if idempotency_key is None else _turn_id(key, idempotency_key)
        cue = Cue(turn_id, text, text, once=idempotency_key is not None)
        try:
            async with self.answered(key, cue) as (reply, turn):
                owed = await self._store.commit_turn(replace(turn, handed_over=handed_over))
        except _AnsweredBefore:
            return await self._owed_for(key.user, turn_id)
        if reply.error is not None:
            raise Unavailable(f"The agent could not answer: {reply.error}")
        if owed is None:
            raise Conflict("The answer came too late, and another turn has begun: say it again.")
        return owed

    @asynccontextmanager
    async def answered(self, key: ConversationKey, cue: Cue) -> AsyncIterator[Answered]:
        """Take the turn and let the agent answer; whoever asks commits the turn, which ends it.

        If the block fails, the turn is given back.
        """
        fired = cue.origin.kind is not OriginKind.USER
        async with self._turns.turn(key, cue.turn_id if fired else None) as token:
            if cue.once:
                await self._must_be_new(key, cue)
            yield await self._answer(key, cue, token)

    async def _must_be_new(self, key: ConversationKey, cue: Cue) -> None:
        """Look, while nobody else can speak, whether this was said before."""
        for said in await self._store.messages(key, Page(LOOKED_BACK)):
            if said.id == f"{cue.turn_id}.0":
                if said.text != cue.text:
                    message = "This idempotency_key was used for other words; take a new one."
                    raise InvalidRequest(message, "idempotency_key")
                raise _AnsweredBefore

    async def _owed_for(self, user: UserKey, turn_id: str) -> list[Delivery]:
        """What a turn has left, as far as it is among the last that the user was owed."""
        last = (await self._store.last_seqs([user])).get(user, 0)
        after = max(0, last - LOOKED_BACK)
        found = await self._store.deliveries(user, after=after, limit=LOOKED_BACK, now=self._clock.now())
        return [one for one in found if one.id.rpartition(".")[0] == turn_id]

    async def _answer(self, key: ConversationKey, cue: Cue, token: str) -> Answered:
        began = self._clock.now()
        hands = Hands(self._tools, _caller(key, cue))
        prompt = await self._prompt(key, cue, hands=hands, now=began)
        reply = await self._runtime.process_prompt(prompt, hands.call)
        turn = Turn(
            id=cue.turn_id,
            conversation=key,
            began_at=began,
            ended_at=self._clock.now(),
            token=token,
            tokens=reply.tokens.total,
        )
        return Answered(reply, turn if reply.error is not None else _spoken(turn, prompt, hands, reply))

    async def _prompt(self, key: ConversationKey, cue: Cue, *, hands: Hands, now: datetime) -> Prompt:
        return Prompt(
            now=now,
            user=await self._store.user(key.user),
            agent=await self._store.agent(key.agent),
            message=Message(id=f"{cue.turn_id}.0", role=Role.USER, text=cue.text, at=now, origin=cue.origin),
            words=cue.words,
            history=await self._store.context(key, REMEMBERED),
            tools=hands.tools,
            most_tokens=await self._tokens_left(key, now),
        )

    async def _tokens_left(self, key: ConversationKey, now: datetime) -> int | None:
        """What the user's day leaves; NotAllowed if that is nothing."""
        limits = (await self._store.tenant(key.tenant_id)).limits
        spent = await self._store.spent_by_user(key.user, now.astimezone(UTC).date())
        reason = spent_today(0, spent.tokens, limits=limits)
        if reason is not None:
            raise NotAllowed(f"{reason[:1].upper()}{reason[1:]}, and may not spend more: go on tomorrow.")
        most = limits.schedule_tokens_per_day
        return None if most is None else most - spent.tokens


def _turn_id(key: ConversationKey, idempotency_key: str) -> str:
    """The same for the same key in the same conversation, and like no other."""
    return sha256("\n".join((*key, idempotency_key)).encode()).hexdigest()[:32]


def _caller(key: ConversationKey, cue: Cue) -> Caller:
    """The agent in this turn: it speaks for its user, and for nobody else."""
    on_behalf_of = OnBehalfOf(
        user_id=key.user_id,
        agent_id=key.agent_id,
        turn=cue.turn_id,
        fired=cue.origin.kind is not OriginKind.USER,
        may_schedule=cue.may_schedule,
    )
    return Caller(key.tenant_id, SCOPES, f"agent:{key.agent_id}", on_behalf_of)


def _spoken(turn: Turn, prompt: Prompt, hands: Hands, reply: Reply) -> Turn:
    """The turn with what was said in it, and what is owed for it."""
    owed: tuple[SocketMessage, ...] = (*hands.drawn, *reply.messages)
    said = Message(
        id=f"{turn.id}.1",
        role=Role.AGENT,
        text="\n".join(one.text for one in owed if isinstance(one, Subtitle)),
        at=turn.ended_at,
        origin=prompt.message.origin,
        parts=hands.record,
    )
    return replace(turn, messages=(prompt.message, said), owed=owed)
