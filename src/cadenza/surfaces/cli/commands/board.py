"""`cadenza endpoints board` and `cadenza endpoints timeline`: what the dashboard draws, in words."""

from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.surfaces.cli.argument_parsing import earlier
from cadenza.surfaces.cli.connection import HERE, Asker, Way
from cadenza.surfaces.cli.lookup import endpoint_id, job_id
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.options import AnEndpoint, Labels, OfJob
from cadenza.surfaces.cli.paging import FIRST, Paging, gathered

Since = Annotated[str, Parameter(help="From a moment on, or for the last 1h.")]
Until = Annotated[str | None, Parameter(help="Up to a moment, or to 10m ago.")]


class Figures(Commands):
    """How endpoints fare."""

    @example("cadenza endpoints board --label team=web")
    def board(self, *, job: OfJob = None, label: Labels = (), paging: Paging = FIRST, way: Way = HERE) -> int:
        """List endpoints with how often they run now, why, and how they fared last."""
        from cadenza.surfaces.cli.output.formatting import listing
        from cadenza.surfaces.cli.output.overview_tables import BOARD

        async def errand(asker: Asker) -> Any:
            given = {} if job is None else {"job_id": await job_id(asker, job)}
            return await gathered(asker, "list_rows", {**given, "label": list(label)}, paging=paging)

        return self.answer(way, errand, listing(BOARD, "There are no endpoints."))

    @example("cadenza endpoints timeline traffic --since 2h")
    def timeline(
        self, endpoint: AnEndpoint, /, *, since: Since = "1h", until: Until = None, way: Way = HERE
    ) -> int:
        """Show an endpoint's runs in a span of time, and what steered it meanwhile."""
        from cadenza.surfaces.cli.output.overview_tables import timeline

        async def errand(asker: Asker) -> Any:
            now = self._now()
            given = {
                "endpoint_id": await endpoint_id(asker, endpoint),
                "since": earlier("--since", since, now),
            }
            if until is not None:
                given["until"] = earlier("--until", until, now)
            return await asker.ask("get_timeline", given)

        return self.answer(way, errand, timeline)
