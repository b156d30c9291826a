"""The operation that sends a user's message to an agent, and returns the answer."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, StringConstraints

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.delivery import CanvasCommand, Delivery
from cadenza.domain.errors import Unavailable
from cadenza.domain.text_patterns import WITHOUT_CONTROL
from cadenza.engine.agents.conversation import CommitTurn
from cadenza.operations.agents.schedules import user_of
from cadenza.operations.agents.users_agents import OneAgent
from cadenza.operations.context import Dependencies, RequestContext
from cadenza.operations.fields import Id
from cadenza.operations.idempotency import Answer, IdempotentRequest, KeptReply
from cadenza.operations.operation import OK, View, operation

LONGEST_MESSAGE = 8_000
MessageText = Annotated[
    str,
    StringConstraints(strict=True, pattern=WITHOUT_CONTROL, min_length=1, max_length=LONGEST_MESSAGE),
]


class SendMessage(OneAgent):
    """A user's message to an agent."""

    text: MessageText
    user_id: Id | None = None
    """The user who sends it; can be left out with a user's token."""


class _Owed(View):
    id: str
    """The same as on the user's sockets."""
    seq: int
    """The number of this message among the user's."""


class SubtitleView(_Owed):
    """Words for the user."""

    type: Literal["subtitle"] = "subtitle"
    text: str


class CanvasView(_Owed):
    """Something for the user's canvas to do."""

    type: Literal["canvas_command"] = "canvas_command"
    command: JsonValue


class AnswerView(View):
    """What the agent answered."""

    messages: list[Annotated[SubtitleView | CanvasView, Field(discriminator="type")]]

    @classmethod
    def of(cls, deliveries: Sequence[Delivery]) -> Self:
        """The view of a turn's deliveries."""
        return cls(messages=[_message_view(one) for one in deliveries])


def _message_view(delivery: Delivery) -> SubtitleView | CanvasView:
    message = delivery.message
    if isinstance(message, CanvasCommand):
        return CanvasView(id=delivery.id, seq=delivery.seq, command=message.command)
    return SubtitleView(id=delivery.id, seq=delivery.seq, text=message.text)


class AnsweredOnce:
    """Lets a message with an idempotency key be answered once: its answer is stored with its turn."""

    def __init__(self, dependencies: Dependencies, request: IdempotentRequest) -> None:
        self._reply = KeptReply(dependencies, request)
        day = dependencies.clock.now().date().isoformat()  # On another day it may be another message.
        self.turn_id = sha256("\n".join((*request.stored_key, day)).encode()).hexdigest()[:32]

    async def check(self) -> None:
        """Raise `Repeated` if the message was answered before."""
        await self._reply.check()

    async def commit(self, commit: CommitTurn) -> Sequence[Delivery]:
        """Commit the turn and its answer."""
        deliveries: list[Delivery] = []

        async def answer() -> Answer:
            deliveries[:] = await commit()
            return Answer(OK, AnswerView.of(deliveries).model_dump_json().encode())

        await self._reply.keep(answer)
        return deliveries


@operation(
    "POST /v1/agents/{agent_id}/messages",
    Scope.WRITE,
    agent=False,
    user=True,
    calls_out=True,
    keeps_reply=True,
    unaudited="the conversation keeps it, and what its agent changes is recorded",
)
async def send_message(context: RequestContext, command: SendMessage) -> AnswerView:
    """Send a message to an agent on behalf of a user, and get its answer."""
    key = ConversationKey(*user_of(context, command.user_id), command.agent_id)
    return AnswerView.of(await answer_message(context, key, command.text, delivered_in_response=True))


async def answer_message(
    context: RequestContext, key: ConversationKey, text: str, *, delivered_in_response: bool
) -> Sequence[Delivery]:
    """Run a turn, once if the request has an idempotency key; `Repeated` if it was run before."""
    conversations, request = context.dependencies.conversations, context.idempotent
    if conversations is None:
        raise Unavailable("No agent answers here.")
    return await conversations.converse(
        key,
        text,
        delivered_in_response=delivered_in_response,
        once=None if request is None else AnsweredOnce(context.dependencies, request),
    )


MESSAGES = (send_message,)
