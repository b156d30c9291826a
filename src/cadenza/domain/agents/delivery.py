"""What is owed to a user: messages that an agent's turn left, until the user has them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, assert_never

from cadenza.domain.agents.users import UserKey
from cadenza.domain.scheduling.target import Json

KEPT_FOR = timedelta(days=30)
"""So long a message waits for its user."""


@dataclass(frozen=True, slots=True)
class Subtitle:
    """Words for the user. Half a character, which a model may end with, could never be sent."""

    text: str

    def __post_init__(self) -> None:
        if not self.text.isascii():
            object.__setattr__(self, "text", self.text.encode(errors="replace").decode())


@dataclass(frozen=True, slots=True)
class CanvasCommand:
    """Something for the user's canvas to do."""

    command: Json


SocketMessage = Subtitle | CanvasCommand


class Delivery(NamedTuple):
    """A message owed to a user. Its number grows by one with each, so a gap would be a lost message."""

    id: str
    tenant_id: str
    user_id: str
    seq: int
    agent_id: str
    message: SocketMessage
    owed_at: datetime
    expires_at: datetime
    schedule_id: str | None = None
    firing: str | None = None
    """What fired, mostly a run; None for an answer to what the user said."""
    delivered: bool = False

    @property
    def user(self) -> UserKey:
        """To whom."""
        return UserKey(self.tenant_id, self.user_id)


def is_owed(delivery: Delivery, now: datetime) -> bool:
    """Is it still to be handed over? What expired is not: it is too old to be of use."""
    return not delivery.delivered and delivery.expires_at > now


def firings(deliveries: Iterable[Delivery]) -> int:
    """How many things fired, however many messages each of them left."""
    return len({one.firing for one in deliveries if one.firing is not None})


def while_away(count: int) -> str | None:
    """What a user who comes back is told; None if nothing fired."""
    if count == 0:
        return None
    return f"{count} scheduled {'task' if count == 1 else 'tasks'} ran while you were away"


def write_message(message: SocketMessage) -> dict[str, Json]:
    """A message as it stands on the wire and in a store."""
    match message:
        case Subtitle(text):
            return {"type": "subtitle", "text": text}
        case CanvasCommand(command):
            return {"type": "canvas_command", "command": command}
        case _:
            assert_never(message)


def read_message(document: dict[str, Json]) -> SocketMessage:
    """A message as it was written."""
    if document["type"] == "subtitle":
        return Subtitle(str(document["text"]))
    return CanvasCommand(document["command"])
