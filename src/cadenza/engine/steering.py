"""The three steering tools; each call is one atomic change of an endpoint."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, NamedTuple, overload

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.validation import quoted
from cadenza.engine.steering_commands import (
    PauseUntil,
    PauseUntilArguments,
    ProposeInterval,
    ProposeIntervalArguments,
    ProposeNextTime,
    ProposeNextTimeArguments,
    SteeringAction,
    SteeringCommand,
    SteeringContext,
)
from cadenza.ports.clock import Clock, CronCalculator
from cadenza.ports.scheduling import EndpointStore

COMMANDS: Mapping[str, type[SteeringCommand]] = {
    "propose_interval": ProposeInterval,
    "propose_next_time": ProposeNextTime,
    "pause_until": PauseUntil,
}


class SteeringTool(NamedTuple):
    """A tool of one endpoint, as a planner sees it."""

    description: str
    execute: Callable[[Mapping[str, Any]], Awaitable[ChangedEndpoint]]


Tools = Mapping[str, SteeringTool]


class Steering:
    """Makes the steering tools of endpoints, and applies their commands."""

    def __init__(
        self, *, store: EndpointStore, clock: Clock, cron: CronCalculator, jitter_ms: int = 0
    ) -> None:
        self._store = store
        self._clock = clock
        self._cron = cron
        self._jitter_ms = jitter_ms

    def tools(self, key: EndpointKey, *, origin: str) -> Tools:
        """The tools of one endpoint, used in the name of `origin`."""

        def tool(command: type[SteeringCommand]) -> SteeringTool:
            async def execute(arguments: Mapping[str, Any]) -> ChangedEndpoint:
                return await self.steer(key, command.parse(arguments), origin=origin)

            return SteeringTool(command.__doc__ or "", execute)

        return {name: tool(command) for name, command in COMMANDS.items()}

    async def steer(self, key: EndpointKey, command: SteeringAction, *, origin: str) -> ChangedEndpoint:
        """Apply one command as one commit: hint and nudge together, or nothing."""
        by = self.context(origin)
        return await self._store.amend(key, lambda endpoint: command.apply(endpoint, by))

    def context(self, origin: str) -> SteeringContext:
        """The context of a command that is given now."""
        return SteeringContext(
            now=self._clock.now(), cron=self._cron, origin=origin, jitter_ms=self._jitter_ms
        )


@overload
async def call_tool(
    tools: Tools, name: Literal["propose_interval"], arguments: ProposeIntervalArguments
) -> ChangedEndpoint: ...
@overload
async def call_tool(
    tools: Tools, name: Literal["propose_next_time"], arguments: ProposeNextTimeArguments
) -> ChangedEndpoint: ...
@overload
async def call_tool(
    tools: Tools, name: Literal["pause_until"], arguments: PauseUntilArguments
) -> ChangedEndpoint: ...
@overload
async def call_tool(tools: Tools, name: str, arguments: Mapping[str, Any]) -> ChangedEndpoint: ...
async def call_tool(tools: Tools, name: object, arguments: Mapping[str, Any]) -> ChangedEndpoint:
    """Call a tool by its name; InvalidRequest if there is no such tool."""
    tool = tools.get(name) if isinstance(name, str) else None
    if tool is None:
        raise InvalidRequest(f"Tool {quoted(name)} not found; available are {', '.join(tools)}.", "tool")
    return await tool.execute(arguments)
