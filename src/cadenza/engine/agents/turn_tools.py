"""What an agent can do in a turn: the tools for its user, and the user's canvas."""

from collections.abc import Mapping, Sequence
from typing import Any

from cadenza.domain.access.key import Caller
from cadenza.domain.agents.delivery import CanvasCommand
from cadenza.domain.errors import CadenzaError, InvalidRequest, NotAllowed, NotFound
from cadenza.domain.scheduling.target import Json, json_size
from cadenza.ports.agents import Tool, Tools

MOST_DRAWN = 20
LONGEST_COMMAND = 32_768
MOST_RECORDED = 50
CANVAS = Tool(
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


class Hands:
    """Calls tools in one turn, in the name of its user, and remembers what was done."""

    def __init__(self, tools: Tools, caller: Caller) -> None:
        self._tools = tools
        self._caller = caller
        self._offered = (*tools.offered(caller), CANVAS)
        self._record: list[Json] = []
        self.drawn: list[CanvasCommand] = []

    @property
    def tools(self) -> Sequence[Tool]:
        """What may be called."""
        return self._offered

    @property
    def record(self) -> Json:
        """Which tools were called, and which of the calls were refused."""
        return {"calls": self._record} if self._record else None

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Json:
        """Use a tool that was offered; others are not there, whoever asks for them."""
        try:
            answer = await self._called(name, arguments)
        except CadenzaError as problem:
            self._note({"tool": name[:100], "refused": problem.message})
            raise
        self._note({"tool": name})
        return answer

    async def _called(self, name: str, arguments: Mapping[str, Any]) -> Json:
        if name == CANVAS.name:
            return self._draw(arguments)
        if name not in {tool.name for tool in self._offered}:
            raise NotFound(f"There is no tool {name[:60]!r} in this turn.")
        return await self._tools.call(self._caller, name, arguments)

    def _draw(self, arguments: Mapping[str, Any]) -> Json:
        command = arguments.get("command")
        if not isinstance(command, dict) or arguments.keys() != {"command"}:
            raise InvalidRequest("Give command, an object, and nothing else.", "command")
        if len(self.drawn) >= MOST_DRAWN:
            raise NotAllowed(f"The canvas takes {MOST_DRAWN} commands in a turn.")
        if json_size("command", command) > LONGEST_COMMAND:
            raise InvalidRequest(f"A command may have {LONGEST_COMMAND} bytes.", "command")
        self.drawn.append(CanvasCommand(command))
        return {"sent": True}

    def _note(self, entry: Json) -> None:
        if len(self._record) < MOST_RECORDED:
            self._record.append(entry)
