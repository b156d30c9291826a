"""`cadenza explain`, `cadenza health`, `cadenza usage` and `cadenza overview`."""

from typing import Annotated

from cyclopts import Parameter

from cadenza.surfaces.cli.argument_parsing import whole_number
from cadenza.surfaces.cli.connection import HERE, Way
from cadenza.surfaces.cli.lookup import on_endpoint
from cadenza.surfaces.cli.operation_command import Commands, example, plan_look
from cadenza.surfaces.cli.options import AnEndpoint

Months = Annotated[int, Parameter(converter=whole_number, help="How many months to look back.")]
Minutes = Annotated[int, Parameter(converter=whole_number, help="How many minutes to look back.")]


class Answers(Commands):
    """Questions of all days."""

    @example("cadenza explain traffic")
    def explain(self, endpoint: AnEndpoint, /, *, way: Way = HERE) -> int:
        """Tell why an endpoint's next run is when it is."""
        return self.answer(way, lambda asker: on_endpoint(asker, "explain_endpoint", endpoint), plan_look())

    @example("cadenza health traffic")
    def health(self, endpoint: AnEndpoint, /, *, way: Way = HERE) -> int:
        """Sum up an endpoint's runs over the last 1, 4 and 24 hours."""
        from cadenza.surfaces.cli.output.reports import health

        return self.answer(way, lambda asker: on_endpoint(asker, "get_health", endpoint), health)

    @example("cadenza usage --months 3")
    def usage(self, *, months: Months = 12, way: Way = HERE) -> int:
        """Tell what was spent this month and before, and what the limits are."""
        from cadenza.surfaces.cli.output.reports import usage

        return self.answer(way, lambda asker: asker.ask("get_usage", {"months": months}), usage)

    @example("cadenza alerts")
    def alerts(self, *, way: Way = HERE) -> int:
        """List the newest alerts."""
        from cadenza.surfaces.cli.output.overview_tables import alerts

        return self.answer(way, lambda asker: asker.ask("list_alerts", {}), alerts)

    @example("cadenza slo")
    def slo(self, *, way: Way = HERE) -> int:
        """Tell where the service levels stand, and since when one is breached."""
        from cadenza.surfaces.cli.output.overview_tables import slo

        return self.answer(way, lambda asker: asker.ask("get_slo", {}), slo)

    @example("cadenza overview --minutes 15")
    def overview(self, *, minutes: Minutes = 60, way: Way = HERE) -> int:
        """Tell at a glance what is due, running and done, and what is left of the quota."""
        from cadenza.surfaces.cli.output.overview_tables import overview

        return self.answer(way, lambda asker: asker.ask("get_overview", {"minutes": minutes}), overview)
