"""Frames: what a client may say, and what it is told. Each is one JSON object as text."""

from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, StringConstraints

from cadenza.domain.agents.delivery import Delivery, write_message
from cadenza.domain.errors import CadenzaError, InvalidRequest
from cadenza.domain.validation import iso
from cadenza.operations.agents.messages import Said
from cadenza.operations.application import spelled
from cadenza.operations.fields import Flag, Id, Whole
from cadenza.surfaces.http.idempotency import SHAPE
from cadenza.surfaces.http.problems import BAD_REQUEST, TOO_LARGE, Refusal, told

LONGEST_TOKEN = 200

IdempotencyKey = Annotated[str, StringConstraints(strict=True, pattern=SHAPE)]
Seq = Annotated[int, Whole(0, 2**63 - 1)]


class Frame(BaseModel):
    """What a client sends; what is not known is refused, so that nothing is misspelt unnoticed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Hello(Frame):
    """The first frame: who comes, and up to where they have everything."""

    type: Literal["hello"]
    token: Annotated[str, StringConstraints(strict=True, min_length=1, max_length=LONGEST_TOKEN)]
    user_id: Id | None = None
    acks: Flag = False
    last_seq: Seq | None = None


class Say(Frame):
    """Words for an agent."""

    type: Literal["message"]
    agent_id: Id
    text: Said
    id: Id | None = None
    """A name that the client gives to it; problems with it carry the name."""
    idempotency_key: IdempotencyKey | None = None
    """Under the same one, the same words are answered once, however often they are sent."""


class Ack(Frame):
    """The client has everything up to a number."""

    type: Literal["ack"]
    seq: Seq


Heard = Hello | Say | Ack
KINDS: dict[str, type[Hello] | type[Say] | type[Ack]] = {"hello": Hello, "message": Say, "ack": Ack}


def read(frame: str | bytes, largest: int) -> Heard:
    """What a frame says; a Refusal or InvalidRequest if it says nothing."""
    if isinstance(frame, bytes):
        raise Refusal(BAD_REQUEST, "A frame must be JSON as text, not bytes.")
    if len(frame) > largest:
        raise Refusal(TOO_LARGE, f"A frame may have {largest} bytes, and has more.")
    raw = frame.encode(errors="replace")
    if len(raw) > largest:
        raise Refusal(TOO_LARGE, f"A frame may have {largest} bytes, and has more.")
    try:
        words = orjson.loads(raw)
    except orjson.JSONDecodeError as problem:
        raise Refusal(BAD_REQUEST, f"The frame is not JSON: {problem}.") from None
    return _understood(words)


def _understood(words: Any) -> Heard:
    kind = words.get("type") if isinstance(words, dict) else None
    model = KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise InvalidRequest(f"type must be one of {', '.join(KINDS)}.", "type")
    return spelled(model, words)


def welcome(user_id: str, last_seq: int) -> str:
    """The answer to a hello."""
    return _text({"type": "welcome", "user_id": user_id, "last_seq": last_seq})


def notification(text: str, count: int) -> str:
    """What ran while the user was away."""
    return _text({"type": "notification", "text": text, "count": count})


def delivered(delivery: Delivery) -> str:
    """A message that is owed."""
    return _text(
        {
            **write_message(delivery.message),
            "id": delivery.id,
            "seq": delivery.seq,
            "agent_id": delivery.agent_id,
            "schedule_id": delivery.schedule_id,
            "at": iso(delivery.owed_at),
        }
    )


def answered(idempotency_key: str, seq: int | None) -> str:
    """A message with a key was answered; its answer ends with this number."""
    return _text({"type": "answered", "idempotency_key": idempotency_key, "seq": seq})


def error(problem: CadenzaError | Refusal, *, request_id: str, about: str | None = None) -> str:
    """What went wrong; and with which of the client's messages, if it has a name."""
    named = {} if about is None else {"message_id": about}
    body = orjson.Fragment(told(problem, request_id).body)
    return _text({"type": "error", **named, "problem": body})


def _text(frame: dict[str, Any]) -> str:
    return orjson.dumps(frame).decode()
