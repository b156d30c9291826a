"""`cadenza turns`: what an agent of your own does with its turns."""

from typing import Annotated

from cyclopts import Parameter

from cadenza.surfaces.cli.argument_parsing import json_text, seconds
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.parameters import AnAgent, ATurn, present
from cadenza.surfaces.cli.written_words import Fills

Wait = Annotated[
    str, Parameter(help="How long to wait for a turn, if there is none now: 20s."), Fills("wait_seconds")
]
Lease = Annotated[str, Parameter(help="For how long nobody else gets the turn: 60s."), Fills("lease_seconds")]
Token = Annotated[
    str, Parameter(name="--token", help="The token that came with the turn."), Fills("turn_token")
]
Messages = Annotated[
    tuple[str, ...],
    Parameter(
        name="--message", allow_leading_hyphen=True, help="What the user reads; several times for several."
    ),
    Fills("messages"),
]
Cost = Annotated[int, Parameter(help="How many tokens of a model the answer cost.")]
Tool = Annotated[str, Parameter(help="The name of the tool.")]
Arguments = Annotated[str, Parameter(help="Its arguments, a JSON object."), Fills("arguments")]
CallId = Annotated[str | None, Parameter(help="The same for a call that is sent again.")]
EXAMPLE_TURN = "0f3a9c7be2d14586a1b2c3d4e5f60718 --token turn_0f3a9c7be2d14586a1b2c3d4e5f60718_x"


class Turns(Commands):
    """Turns of agents that are services or processes of their own."""

    @example("helper --wait 0s")
    def take(
        self,
        agent: AnAgent,
        /,
        *,
        wait: Wait = "20s",
        lease: Lease = "60s",
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Take the next turn of a pull agent, with its token, which is shown only once."""
        spans = {"wait_seconds": seconds("--wait", wait), "lease_seconds": seconds("--lease", lease)}
        return self.ask(connection, "take_agent_turn", {"agent_id": agent, **spans})

    show = DerivedCommand("get_agent_turn", "0f3a9c7be2d14586a1b2c3d4e5f60718")

    @example(EXAMPLE_TURN)
    def renew(
        self, turn: ATurn, /, *, token: Token, lease: Lease = "60s", connection: CliOptions = AS_CONFIGURED
    ) -> int:
        """Keep a turn for longer."""
        given = {"turn_id": turn, "turn_token": token, "lease_seconds": seconds("--lease", lease)}
        return self.ask(connection, "renew_agent_turn", given)

    @example(EXAMPLE_TURN)
    def give_back(self, turn: ATurn, /, *, token: Token, connection: CliOptions = AS_CONFIGURED) -> int:
        """Give a turn back, so that another process can take it at once."""
        return self.ask(connection, "give_back_agent_turn", {"turn_id": turn, "turn_token": token})

    @example(f'{EXAMPLE_TURN} --message "Take it out!"')
    def answer_(
        self,
        turn: ATurn,
        /,
        *,
        token: Token,
        message: Messages = (),
        tokens: Cost = 0,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Answer a turn. The first answer counts."""
        given = {"turn_id": turn, "turn_token": token, "messages": list(message), "tokens": tokens}
        return self.ask(connection, "answer_agent_turn", given)

    @example(
        "0f3a9c7be2d14586a1b2c3d4e5f60718 list_schedules --token turn_0f3a9c7be2d14586a1b2c3d4e5f60718_x"
    )
    def call(
        self,
        turn: ATurn,
        tool: Tool,
        /,
        *,
        token: Token,
        arguments: Arguments = "{}",
        call_id: CallId = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Call a tool of a turn on behalf of its user."""
        given = {"turn_id": turn, "tool": tool, "turn_token": token}
        words = present(arguments=json_text("--arguments", arguments), call_id=call_id)
        return self.ask(connection, "call_agent_turn_tool", given | words)
