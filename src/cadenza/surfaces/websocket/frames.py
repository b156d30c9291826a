"""The frames that clients send and receive; each is one JSON object as text."""

from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, StringConstraints

from cadenza.domain.agents.delivery import Delivery, Missed, write_message
from cadenza.domain.errors import CadenzaError, InvalidRequest
from cadenza.domain.json_values import unreadable_json
from cadenza.domain.text_patterns import AN_IDEMPOTENCY_KEY
from cadenza.domain.validation import iso
from cadenza.operations.agents.messages import MessageText
from cadenza.operations.arguments import validated
from cadenza.operations.fields import Flag, Id, Whole
from cadenza.surfaces.http.problems import BAD_REQUEST, TOO_LARGE, Refusal, describe_problem

LONGEST_TOKEN = 200

IdempotencyKey = Annotated[str, StringConstraints(strict=True, pattern=AN_IDEMPOTENCY_KEY)]
Seq = Annotated[int, Whole(0, 2**63 - 1)]


class Frame(BaseModel):
    """A frame from a client; unknown fields are refused, so that no typo goes unnoticed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class HelloFrame(Frame):
    """The first frame: the token, and the last delivery that the client has."""

    type: Literal["hello"]
    token: Annotated[str, StringConstraints(strict=True, min_length=1, max_length=LONGEST_TOKEN)]
    user_id: Id | None = None
    acks: Flag = False
    last_seq: Seq | None = None


class MessageFrame(Frame):
    """A message to an agent."""

    type: Literal["message"]
    agent_id: Id
    text: MessageText
    id: Id | None = None
    """The client's own id of the message; errors about it carry the id."""
    idempotency_key: IdempotencyKey | None = None
    """A message that is sent again with the same key is answered once."""


class AckFrame(Frame):
    """The client has received all deliveries up to this number."""

    type: Literal["ack"]
    seq: Seq


ClientFrame = HelloFrame | MessageFrame | AckFrame
KINDS: dict[str, type[HelloFrame] | type[MessageFrame] | type[AckFrame]] = {
    "hello": HelloFrame,
    "message": MessageFrame,
    "ack": AckFrame,
}


def read(frame: str | bytes, largest: int) -> ClientFrame:
    """Parse a frame; Refusal or InvalidRequest if it is not valid."""
    if isinstance(frame, bytes):
        raise Refusal(BAD_REQUEST, "A frame must be JSON as text, not bytes.")
    if len(frame) > largest:
        raise Refusal(TOO_LARGE, f"A frame may have {largest:,} bytes, and has more.")
    raw = frame.encode(errors="replace")
    if len(raw) > largest:
        raise Refusal(TOO_LARGE, f"A frame may have {largest:,} bytes, and has more.")
    try:
        words = orjson.loads(raw)
    except orjson.JSONDecodeError as problem:
        raise Refusal(BAD_REQUEST, f"The frame cannot be read: {unreadable_json(problem)}.") from None
    return _parse(words)


def _parse(words: Any) -> ClientFrame:
    kind = words.get("type") if isinstance(words, dict) else None
    model = KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise InvalidRequest(f"type must be one of {', '.join(KINDS)}.", "type")
    return validated(model, words)


def welcome(user_id: str, last_seq: int) -> str:
    """The answer to a hello."""
    return _text({"type": "welcome", "user_id": user_id, "last_seq": last_seq})


def notification(text: str, missed: Missed) -> str:
    """How many schedules ran while the user was away, and how many messages expired, if any did."""
    expired = {"expired": missed.expired} if missed.expired else {}
    return _text({"type": "notification", "text": text, "count": missed.firings, **expired})


def delivered(delivery: Delivery) -> str:
    """A delivery."""
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
    """A message with an idempotency key was answered; `seq` is its last delivery."""
    return _text({"type": "answered", "idempotency_key": idempotency_key, "seq": seq})


def error(problem: CadenzaError | Refusal, *, request_id: str, about: str | None = None) -> str:
    """A problem, and the id of the client's message that it is about, if there is one."""
    named = {} if about is None else {"message_id": about}
    body = orjson.Fragment(describe_problem(problem, request_id).body)
    return _text({"type": "error", **named, "problem": body})


def _text(frame: dict[str, Any]) -> str:
    return orjson.dumps(frame).decode()
