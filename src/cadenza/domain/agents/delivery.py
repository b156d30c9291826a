"""Deliveries: messages of agents' turns, owed to a user until they are acknowledged or accepted."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, assert_never

from cadenza.domain.agents.users import UserKey
from cadenza.domain.json_values import Json


@dataclass(frozen=True, slots=True)
class Subtitle:
    """Text for the user. Characters that cannot be encoded, which a model may produce, are replaced."""

    text: str

    def __post_init__(self) -> None:
        if not self.text.isascii():
            object.__setattr__(self, "text", self.text.encode(errors="replace").decode())


@dataclass(frozen=True, slots=True)
class CanvasCommand:
    """A command for the user's canvas."""

    command: Json


SocketMessage = Subtitle | CanvasCommand


class Delivery(NamedTuple):
    """A message owed to a user. Numbers grow by one, so that a client notices a lost message."""

    id: str
    tenant_id: str
    user_id: str
    seq: int
    agent_id: str
    message: SocketMessage
    owed_at: datetime
    schedule_id: str | None = None
    firing: str | None = None
    """The firing of a schedule, mostly a run id; None for an answer to a user's message."""
    delivered: bool = False
    channel: str | None = None
    """The id of the user's channel that accepted it; no socket is sent it then."""

    @property
    def user(self) -> UserKey:
        """The recipient."""
        return UserKey(self.tenant_id, self.user_id)


def count_firings(deliveries: Iterable[Delivery]) -> int:
    """How many different firings these deliveries come from."""
    return len({one.firing for one in deliveries if one.firing is not None})


class Missed(NamedTuple):
    """What a user missed since they last had a socket."""

    firings: int = 0
    """Firings whose messages no socket of theirs was sent, and that are undelivered."""
    expired: int = 0
    """Messages that expired undelivered, and of which the user was not told yet."""


def while_away_notice(missed: Missed) -> str | None:
    """The notice for a user who reconnects; None if there is nothing to tell."""
    ran = f"{_counted(missed.firings, 'scheduled task')} ran while you were away"
    expired = f"{_counted(missed.expired, 'message')} expired before you came back"
    told = [text for text, count in ((ran, missed.firings), (expired, missed.expired)) if count]
    return "; ".join(told) or None


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def write_message(message: SocketMessage) -> dict[str, Json]:
    """The JSON form of a message, on the wire and in stores."""
    match message:
        case Subtitle(text):
            return {"type": "subtitle", "text": text}
        case CanvasCommand(command):
            return {"type": "canvas_command", "command": command}
        case _:
            assert_never(message)


def read_message(document: dict[str, Json]) -> SocketMessage:
    """The message of a JSON form."""
    if document["type"] == "subtitle":
        return Subtitle(str(document["text"]))
    return CanvasCommand(document["command"])
