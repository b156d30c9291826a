"""A planner made of plain rules."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cadenza.ports.planning import NOTHING_TO_SAY, Briefing, CallTool, Sitting

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

    @property
    def name(self) -> str:
        """What its sittings are recorded as."""
        return "rules"

    def wants(self, briefing: Briefing) -> bool:
        """Whether a rule matches."""
        return any(rule.when(briefing) for rule in self._rules)

    async def sit(self, briefing: Briefing, call: CallTool) -> Sitting:
        """Act on the first rule that matches, if any."""
        for rule in self._rules:
            if rule.when(briefing):
                await call(briefing.endpoint, rule.tool, rule.arguments)
                return Sitting(f"{rule.tool}, because its rule matches")
        return NOTHING_TO_SAY
