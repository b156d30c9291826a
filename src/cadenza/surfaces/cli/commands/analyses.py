"""`cadenza analyses`: what planners thought about an endpoint, and what it cost."""

from typing import Annotated

from cyclopts import Parameter

from cadenza.surfaces.cli.argument_parsing import whole_number
from cadenza.surfaces.cli.connection import AS_CONFIGURED, Connection
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.lookup import ENDPOINT, ask_about
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.parameters import AnEndpoint

Days = Annotated[int, Parameter(converter=whole_number, help="How many days to look back, today among them.")]


class Analyses(Commands):
    """What planners thought and did, and what it cost."""

    list_ = DerivedCommand(
        "list_analyses", "traffic", about="List planners' analyses of an endpoint, newest first."
    )
    recent = DerivedCommand(
        "list_sittings", "--limit 20", about="List planners' analyses of all endpoints, newest first."
    )
    learned = DerivedCommand(
        "list_learning", about="Tell what the learning planner wins and, in the shadow, would have won."
    )

    @example("traffic --days 7")
    def cost(self, endpoint: AnEndpoint, /, *, days: Days = 7, connection: Connection = AS_CONFIGURED) -> int:
        """Tell how many analyses and tokens planners spent on an endpoint, by day."""
        return self.answer(
            connection,
            lambda client: ask_about(client, ENDPOINT, endpoint, "get_planner_cost", days=days),
            "get_planner_cost",
        )

    @example("--days 7")
    def spending(self, *, days: Days = 7, connection: Connection = AS_CONFIGURED) -> int:
        """Tell how many analyses and tokens planners spent on which endpoints."""
        return self.ask(connection, "get_spending", {"days": days})
