"""Users, agents, messages and what is owed as rows, and back."""

from datetime import UTC, datetime
from typing import Any

import orjson

from cadenza.adapters.stores.sql.rows import Read, Row, document, storable
from cadenza.domain.agents.conversation import Message, Origin, OriginKind, Role, Turn
from cadenza.domain.agents.delivery import Delivery, read_message, write_message
from cadenza.domain.agents.users import Agent, User, UserKey
from cadenza.domain.monitoring.alert import about_endpoint
from cadenza.ports.access import own_keys

USER = ("tenant_id", "id", "timezone", "created_at")
AGENT = ("tenant_id", "id", "name", "instructions", "model", "created_at")
CONVERSATION = ("tenant_id", "user_id", "agent_id")
SAID = ("id", "role", "text", "at", "origin", "parts")
MESSAGE = (*CONVERSATION, "number", "turn_at", *SAID)
DELIVERY = (
    "id",
    "tenant_id",
    "user_id",
    "seq",
    "agent_id",
    "message",
    "created_at",
    "expires_at",
    "schedule_id",
    "firing",
    "delivered",
)
"""In the order of the fields of `Delivery`."""


def write_user(user: User) -> tuple[Any, ...]:
    """The columns `USER`."""
    return (user.tenant_id, user.id, user.timezone, user.created_at)


def read_user(row: Row, read: Read) -> User:
    """The user of a row selected as `USER`."""
    tenant_id, id_, timezone, created_at = row
    return User(tenant_id=tenant_id, id=id_, timezone=timezone, created_at=read(created_at))


def write_agent(agent: Agent) -> tuple[Any, ...]:
    """The columns `AGENT`."""
    return (agent.tenant_id, agent.id, agent.name, agent.instructions, agent.model, agent.created_at)


def read_agent(row: Row, read: Read) -> Agent:
    """The agent of a row selected as `AGENT`."""
    tenant_id, id_, name, instructions, model, created_at = row
    return Agent(
        tenant_id=tenant_id,
        id=id_,
        name=name,
        instructions=instructions,
        model=model,
        created_at=read(created_at),
    )


def write_messages(turn: Turn, last_number: int) -> list[tuple[Any, ...]]:
    """The rows `MESSAGE` of a turn, numbered so that the last has the last number."""
    first = last_number - len(turn.messages) + 1
    return [
        (*turn.conversation, number, turn.began_at, *_said(message))
        for number, message in enumerate(turn.messages, first)
    ]


def read_said(row: Row, read: Read) -> Message:
    """The message of a row selected as `SAID`."""
    id_, role, text, at, origin, parts = row
    return Message(
        id=id_,
        role=Role(role),
        text=text,
        at=read(at),
        origin=_read_origin(orjson.loads(origin)),
        parts=None if parts is None else orjson.loads(parts),
    )


def write_delivery(delivery: Delivery) -> tuple[Any, ...]:
    """The columns `DELIVERY`."""
    return (*delivery[:5], document(write_message(delivery.message)), *delivery[6:])


def read_delivery(row: Row, read: Read) -> Delivery:
    """The delivery of a row selected as `DELIVERY`."""
    one = Delivery(*row)
    return one._replace(
        message=read_message(orjson.loads(row[5])),
        owed_at=read(one.owed_at),
        expires_at=read(one.expires_at),
        delivered=bool(one.delivered),
    )


def day_of(moment: datetime) -> str:
    """The UTC day that a moment is counted on: 2030-01-31."""
    return moment.astimezone(UTC).date().isoformat()


def beginning_with(start: str) -> tuple[str, str]:
    """Between these two, without the second, is all that begins so."""
    return start, start[:-1] + chr(ord(start[-1]) + 1)


def replies_of(user: UserKey) -> tuple[str, str, str]:
    """What `forget_replies_of` takes."""
    return (user.tenant_id, *beginning_with(own_keys(user.id)))


def alerts_of(tenant_id: str, endpoint_id: str) -> tuple[str, str, str]:
    """What `forget_alerts_of` takes."""
    return (*beginning_with(about_endpoint(tenant_id, endpoint_id)), endpoint_id)


def _said(message: Message) -> tuple[Any, ...]:
    parts = None if message.parts is None else document(message.parts)
    origin = document(_write_origin(message.origin))
    return (message.id, message.role.value, storable(message.text), message.at, origin, parts)


def _write_origin(origin: Origin) -> dict[str, Any]:
    return {**origin._asdict(), "kind": origin.kind.value}


def _read_origin(written: dict[str, Any]) -> Origin:
    due_at = written.pop("due_at")
    kind = OriginKind(written.pop("kind"))
    return Origin(kind=kind, due_at=None if due_at is None else datetime.fromisoformat(due_at), **written)
