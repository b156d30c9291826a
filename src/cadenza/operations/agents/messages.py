"""The operation that sends a user's message to an agent, and returns the answer."""

from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, StringConstraints

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.delivery import CanvasCommand, Delivery
from cadenza.domain.errors import Unavailable
from cadenza.domain.text_patterns import WITHOUT_CONTROL
from cadenza.operations.agents.schedules import user_of
from cadenza.operations.agents.users_agents import OneAgent
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Id
from cadenza.operations.operation import View, operation

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
    def of(cls, deliveries: list[Delivery]) -> Self:
        """The view of a turn's deliveries."""
        return cls(messages=[_message_view(one) for one in deliveries])


def _message_view(delivery: Delivery) -> SubtitleView | CanvasView:
    message = delivery.message
    if isinstance(message, CanvasCommand):
        return CanvasView(id=delivery.id, seq=delivery.seq, command=message.command)
    return SubtitleView(id=delivery.id, seq=delivery.seq, text=message.text)


@operation("POST /v1/agents/{agent_id}/messages", Scope.WRITE, agent=False, user=True)
async def send_message(context: RequestContext, command: SendMessage) -> AnswerView:
    """Send a message to an agent on behalf of a user, and get its answer."""
    conversations = context.dependencies.conversations
    if conversations is None:
        raise Unavailable("No agent answers here.")
    key = ConversationKey(*user_of(context, command.user_id), command.agent_id)
    return AnswerView.of(list(await conversations.converse(key, command.text, delivered_in_response=True)))


MESSAGES = (send_message,)
