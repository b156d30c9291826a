"""The tools of an agent's turn: for its user's schedules, the user's canvas, and its own schedule."""

from collections.abc import Mapping, Sequence
from typing import Any

from cadenza.domain.access.key import Caller
from cadenza.domain.agents.delivery import CanvasCommand
from cadenza.domain.errors import CadenzaError, InvalidRequest, NotAllowed, NotFound
from cadenza.domain.json_values import Json, json_size
from cadenza.engine.agents.own_schedule_tools import OwnScheduleTools
from cadenza.ports.agents import AgentTool, Tools

MOST_CANVAS_COMMANDS = 20
LONGEST_CANVAS_COMMAND = 32_768
MOST_RECORDED = 50
CANVAS = AgentTool(
    "send_canvas_command",
    "Send a command to the user's canvas. It reaches them with your answer, and before it.",
    {
        "type": "object",
        "properties": {
            "command": {
                "type": "object",
                "description": "What the canvas shall do, in the words that it understands.",
            }
        },
        "required": ["command"],
        "additionalProperties": False,
    },
)


class TurnTools:
    """Calls tools in one turn on behalf of its user, and records the calls."""

    def __init__(self, tools: Tools, caller: Caller, own_schedule: OwnScheduleTools | None = None) -> None:
        self._tools = tools
        self._caller = caller
        self._own_schedule = own_schedule
        own = () if own_schedule is None else own_schedule.offered
        self._offered = (*tools.offered(caller), CANVAS, *own)
        self._record: list[Json] = []
        self.canvas_commands: list[CanvasCommand] = []

    @property
    def tools(self) -> Sequence[AgentTool]:
        """The tools that may be called."""
        return self._offered

    @property
    def record(self) -> Json:
        """The calls of the turn and the refusals, as stored with the agent's message."""
        return {"calls": self._record} if self._record else None

    def start_over(self) -> None:
        """Take back what takes effect with the answer; the record stays."""
        self.canvas_commands.clear()
        if self._own_schedule is not None:
            self._own_schedule.start_over()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Json:
        """Call a tool that was offered; NotFound for any other."""
        try:
            answer = await self._call(name, arguments)
        except CadenzaError as problem:
            self._add_to_record({"tool": name[:100], "refused": problem.message})
            raise
        self._add_to_record({"tool": name})
        return answer

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> Json:
        if name == CANVAS.name:
            return self._send_to_canvas(arguments)
        if self._own_schedule is not None and self._own_schedule.has(name):
            return await self._own_schedule.call(name, arguments)
        if name not in {tool.name for tool in self._offered}:
            raise NotFound(f"Tool {name[:60]!r} not found in this turn.")
        return await self._tools.call(self._caller, name, arguments)

    def _send_to_canvas(self, arguments: Mapping[str, Any]) -> Json:
        command = arguments.get("command")
        if not isinstance(command, dict) or arguments.keys() != {"command"}:
            raise InvalidRequest("Give command, an object, and nothing else.", "command")
        if len(self.canvas_commands) >= MOST_CANVAS_COMMANDS:
            raise NotAllowed(f"The canvas takes {MOST_CANVAS_COMMANDS} commands in a turn.")
        if json_size("command", command) > LONGEST_CANVAS_COMMAND:
            raise InvalidRequest(f"A command may have {LONGEST_CANVAS_COMMAND:,} bytes.", "command")
        self.canvas_commands.append(CanvasCommand(command))
        return {"sent": True}

    def _add_to_record(self, entry: Json) -> None:
        if len(self._record) < MOST_RECORDED:
            self._record.append(entry)
