"""A planner made of plain rules."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cadenza.ports.planner import Briefing, CallTool

Condition = Callable[[Briefing], bool]


class Rule(NamedTuple):
    """When a briefing is so, call a tool."""

    when: Condition
    tool: str
    arguments: Mapping[str, Any]


class RuleBasedPlanner:
    """Goes through its rules in order and acts on the first that matches."""

    def __init__(self, *rules: Rule) -> None:
        self._rules = rules

    async def sit(self, briefing: Briefing, call: CallTool) -> None:
        """Act on the first rule that matches, if any."""
        for rule in self._rules:
            if rule.when(briefing):
                await call(briefing.endpoint, rule.tool, rule.arguments)
                return
