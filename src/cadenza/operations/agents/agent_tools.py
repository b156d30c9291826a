"""The tools of agents: operations, asked for in the name of their user."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Any

from cadenza.domain.access.key import Caller
from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.domain.field_faults import unknown_field
from cadenza.domain.json_values import Json
from cadenza.operations.agents.schedule_changes import (
    SCHEDULE_CHANGES,
    pause_schedule,
    resume_schedule,
    run_schedule,
    snooze_schedule,
    update_schedule,
)
from cadenza.operations.agents.schedules import create_schedule, delete_schedule, list_schedules
from cadenza.operations.application import Application
from cadenza.operations.fields import MOST_LISTED, Listed
from cadenza.operations.operation import AnyOperation
from cadenza.ports.agents import AgentTool

OFFERED: dict[str, AnyOperation] = {
    one.name: one
    for one in (
        create_schedule,
        list_schedules,
        delete_schedule,
        update_schedule,
        pause_schedule,
        resume_schedule,
        snooze_schedule,
        run_schedule,
    )
}
CHANGES = frozenset({one.name for one in SCHEDULE_CHANGES})
"""What a turn that a schedule started may not do: its own schedule it steers with the tools of the turn."""
HIDDEN_ARGUMENTS = frozenset({"user_id", "limit", "cursor"})
"""Arguments a model may not give: the user is the caller's, and everything fits on one page."""
FIXED_ARGUMENTS: dict[str, dict[str, Any]] = {list_schedules.name: {"limit": MOST_LISTED}}
"""Arguments that are set for the model, by operation."""


class AgentTools:
    """Performs an agent's tool calls with the same handlers that serve its user."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def offered(self, caller: Caller) -> Sequence[AgentTool]:
        """All tools; without those that make, change or delete schedules where that may not be done."""
        return [tool(name) for name in OFFERED if _is_open(name, caller)]

    async def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Json:
        """Have it done, with the arguments that a model may give; a list is answered as an array."""
        if name not in OFFERED:
            raise NotFound(f"Tool {name[:60]!r} not found.")
        for word in HIDDEN_ARGUMENTS & arguments.keys():
            raise InvalidRequest(unknown_field(word, tool(name).schema["properties"]), word)
        given = {**arguments, **FIXED_ARGUMENTS.get(name, {})}
        view = await self._application.perform(OFFERED[name], given, caller)
        answer = view.model_dump(mode="json")
        listed: Json = answer["items"] if isinstance(view, Listed) else answer
        return listed


def _is_open(name: str, caller: Caller) -> bool:
    by = caller.on_behalf_of
    if by is None:
        return True
    closed = {
        create_schedule.name: not by.may_schedule,
        delete_schedule.name: by.reads_from_outside,
        **dict.fromkeys(CHANGES, by.scheduled),
    }
    return not closed.get(name, False)


@cache
def tool(name: str) -> AgentTool:
    """A tool as agents see it: the operation's own schema, without what they may not say."""
    schema = deepcopy(OFFERED[name].schema)
    properties: dict[str, Any] = schema["properties"]
    schema["properties"] = {
        word: _bare(field) for word, field in properties.items() if word not in HIDDEN_ARGUMENTS
    }
    schema.pop("title", None)
    schema.pop("description", None)
    return AgentTool(name, OFFERED[name].description, schema)


def _bare(field: dict[str, Any]) -> dict[str, Any]:
    """A field without its title, which a model reads for nothing."""
    return {word: value for word, value in field.items() if word != "title"}
