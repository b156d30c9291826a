"""`cadenza explain`, `health`, `usage`, `alerts`, `slo` and `overview`."""

from typing import Annotated

from cyclopts import Parameter

from cadenza.surfaces.cli.argument_parsing import whole_number
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions
from cadenza.surfaces.cli.lookup import ENDPOINT, ask_about
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.parameters import AnEndpoint

Months = Annotated[int, Parameter(converter=whole_number, help="How many months to look back.")]
Minutes = Annotated[int, Parameter(converter=whole_number, help="How many minutes to look back.")]


class Overview(Commands):
    """How endpoints and the whole service fare."""

    @example("traffic")
    def explain(self, endpoint: AnEndpoint, /, *, connection: CliOptions = AS_CONFIGURED) -> int:
        """Explain the time of an endpoint's next run."""
        return self.answer(
            connection,
            lambda client: ask_about(client, ENDPOINT, endpoint, "explain_endpoint"),
            "explain_endpoint",
        )

    @example("traffic")
    def health(self, endpoint: AnEndpoint, /, *, connection: CliOptions = AS_CONFIGURED) -> int:
        """Summarize the runs of an endpoint over the last 1, 4 and 24 hours."""
        return self._about(connection, "get_health", endpoint)

    @example("--months 3")
    def usage(self, *, months: Months = 12, connection: CliOptions = AS_CONFIGURED) -> int:
        """Show the usage of this month and of earlier months, and the limits."""
        return self.ask(connection, "get_usage", {"months": months})

    @example()
    def alerts(self, *, connection: CliOptions = AS_CONFIGURED) -> int:
        """List the newest alerts."""
        return self.ask(connection, "list_alerts")

    @example()
    def slo(self, *, connection: CliOptions = AS_CONFIGURED) -> int:
        """Show the status of the SLOs, and since when one is breached."""
        return self.ask(connection, "get_slo")

    @example("--minutes 15")
    def overview(self, *, minutes: Minutes = 60, connection: CliOptions = AS_CONFIGURED) -> int:
        """Show upcoming, running and completed runs, and the quota."""
        return self.ask(connection, "get_overview", {"minutes": minutes})

    def _about(self, connection: CliOptions, operation: str, endpoint: str) -> int:
        return self.answer(
            connection, lambda client: ask_about(client, ENDPOINT, endpoint, operation), operation
        )
