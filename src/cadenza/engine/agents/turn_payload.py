"""A turn as an agent outside of Cadenza reads it."""

from collections.abc import Sequence

from cadenza.domain.agents.conversation import Message, Origin
from cadenza.domain.json_values import Json
from cadenza.domain.validation import iso
from cadenza.ports.agents import AgentTool, Prompt

HISTORY_CHARACTERS = 24_000
"""How many characters of earlier messages an agent reads."""


def write_payload(prompt: Prompt) -> dict[str, Json]:
    """Everything that an agent is given to answer one message, as JSON."""
    user, agent = prompt.user, prompt.agent
    return {
        "tenant_id": agent.tenant_id,
        "user": {"id": user.id, "timezone": user.timezone},
        "agent": {"id": agent.id, "name": agent.name, "instructions": agent.instructions},
        "at": iso(prompt.now),
        "text": prompt.message.text,
        "words": prompt.words,
        "origin": _origin(prompt.message.origin),
        "history": _history(prompt.history),
        "tools": [_tool(one) for one in prompt.tools],
        "most_tokens": prompt.most_tokens,
    }


def _origin(origin: Origin) -> dict[str, Json]:
    """What started the turn: no text can forge it."""
    due_at = None if origin.due_at is None else iso(origin.due_at)
    return {
        "kind": origin.kind.value,
        "schedule_id": origin.schedule_id,
        "name": origin.name,
        "due_at": due_at,
    }


def _history(messages: Sequence[Message]) -> list[Json]:
    """The newest earlier messages that fit into the limit, oldest first."""
    kept: list[Json] = []
    room = HISTORY_CHARACTERS
    for message in reversed(messages):
        room -= len(message.text)
        if room < 0:
            break
        origin = message.origin.kind.value
        kept.append(
            {"role": message.role.value, "text": message.text, "at": iso(message.at), "origin": origin}
        )
    return kept[::-1]


def _tool(tool: AgentTool) -> dict[str, Json]:
    return {"name": tool.name, "description": tool.description, "schema": dict(tool.schema)}
