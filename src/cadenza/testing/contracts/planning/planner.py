"""What a planner promises: it is asked first, and steers through the tools alone."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import Rank
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.planning import Briefing, Planner, PlannerResult

TOOLS = frozenset({"propose_interval", "propose_next_time", "pause_until"})


class PlannedCall(NamedTuple):
    """A call that a planner made."""

    endpoint: Endpoint
    tool: str
    arguments: Mapping[str, Any]


class RecordingTools:
    """Tools that change nothing, and record what was called."""

    def __init__(self) -> None:
        self.calls: list[PlannedCall] = []

    async def __call__(
        self,
        endpoint: Endpoint,
        tool: str,
        arguments: Mapping[str, Any],
        /,
        *,
        rule: str | None = None,
        rank: Rank = Rank.RULE,
    ) -> ChangedEndpoint:
        """Record a call."""
        assert rule is None or isinstance(rule, str)
        assert rank <= Rank.RULE
        self.calls.append(PlannedCall(endpoint, tool, arguments))
        return ChangedEndpoint(endpoint)


class PlannerContract:
    """A subclass gives the fixtures `planner`, and the briefings `interesting` and `boring`.

    The planner wants to analyze the first and not the second. One that only observes the interesting
    briefing sets `acts` to False.
    """

    acts = True

    def test_it_has_one_name(self, planner: Planner) -> None:
        assert planner.name
        assert planner.name == planner.name

    async def test_it_wants_what_is_interesting_and_leaves_the_rest(
        self, planner: Planner, interesting: Briefing, boring: Briefing
    ) -> None:
        asked = [planner.wants(briefing) for briefing in (interesting, boring, interesting, boring)]
        assert asked == [True, False, True, False]

    async def test_it_steers_the_endpoint_and_its_siblings_by_the_tools_alone(
        self, planner: Planner, interesting: Briefing
    ) -> None:
        tools = RecordingTools()
        await planner.sit(interesting, tools)
        known = {interesting.endpoint.key, *(one.key for one in interesting.siblings.values())}
        assert bool(tools.calls) == self.acts
        for call in tools.calls:
            assert call.tool in TOOLS
            assert call.endpoint.key in known
            assert json.loads(json.dumps(dict(call.arguments))) == dict(call.arguments)

    async def test_its_result_says_what_it_thought_and_spent(
        self, planner: Planner, interesting: Briefing
    ) -> None:
        result = await planner.sit(interesting, RecordingTools())
        assert isinstance(result, PlannerResult)
        assert result.error is None
        assert min(result.tokens) >= 0
        assert result.look_again_ms is None or result.look_again_ms > 0

    async def test_it_changes_nothing_where_there_is_nothing_to_do(
        self, planner: Planner, boring: Briefing
    ) -> None:
        tools = RecordingTools()
        if not planner.wants(boring):
            return
        await planner.sit(boring, tools)
        assert tools.calls == []
