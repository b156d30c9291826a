"""`cadenza analyses`: what planners thought about an endpoint, and what it cost."""

from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.surfaces.cli.argument_parsing import whole_number
from cadenza.surfaces.cli.connection import HERE, Asker, Way
from cadenza.surfaces.cli.lookup import endpoint_id
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.options import AnEndpoint
from cadenza.surfaces.cli.paging import FIRST, Paging, gathered

Days = Annotated[int, Parameter(converter=whole_number, help="How many days to look back, today among them.")]


class Analyses(Commands):
    """What planners thought and did, and what it cost."""

    @example("cadenza analyses list traffic")
    def list_(self, endpoint: AnEndpoint, /, *, paging: Paging = FIRST, way: Way = HERE) -> int:
        """List planners' sittings about an endpoint, newest first."""
        from cadenza.surfaces.cli.output.columns import ANALYSES
        from cadenza.surfaces.cli.output.formatting import listing

        async def errand(asker: Asker) -> Any:
            given = {"endpoint_id": await endpoint_id(asker, endpoint)}
            return await gathered(asker, "list_analyses", given, paging=paging)

        return self.answer(way, errand, listing(ANALYSES, "No planner has said anything yet."))

    @example("cadenza analyses cost traffic --days 7")
    def cost(self, endpoint: AnEndpoint, /, *, days: Days = 7, way: Way = HERE) -> int:
        """Tell how many sittings and tokens planners spent on an endpoint, by day."""
        from cadenza.surfaces.cli.output.columns import COSTS
        from cadenza.surfaces.cli.output.formatting import listing

        async def errand(asker: Asker) -> Any:
            given = {"endpoint_id": await endpoint_id(asker, endpoint), "days": days}
            return await asker.ask("get_planner_cost", given)

        shown = listing(COSTS, "No planner has spent anything.")
        return self.answer(way, errand, lambda found: shown({"items": found["days"], "next_cursor": None}))

    @example("cadenza analyses recent --limit 20")
    def recent(self, *, paging: Paging = FIRST, way: Way = HERE) -> int:
        """List planners' sittings about all endpoints, newest first."""
        from cadenza.surfaces.cli.output.columns import SITTINGS
        from cadenza.surfaces.cli.output.formatting import listing

        async def errand(asker: Asker) -> Any:
            return await gathered(asker, "list_sittings", {}, paging=paging)

        return self.answer(way, errand, listing(SITTINGS, "No planner has said anything yet."))

    @example("cadenza analyses spending --days 7")
    def spending(self, *, days: Days = 7, way: Way = HERE) -> int:
        """Tell how many sittings and tokens planners spent on which endpoints."""
        from cadenza.surfaces.cli.output.columns import SPENDING
        from cadenza.surfaces.cli.output.formatting import listing

        shown = listing(SPENDING, "No planner has spent anything.")
        return self.answer(
            way,
            lambda asker: asker.ask("get_spending", {"days": days}),
            lambda found: shown({"items": found["endpoints"], "next_cursor": None}),
        )

    @example("cadenza analyses learned")
    def learned(self, *, paging: Paging = FIRST, way: Way = HERE) -> int:
        """Tell what the learning planner wins and, in the shadow, would have won."""
        from cadenza.surfaces.cli.output.columns import LEARNED
        from cadenza.surfaces.cli.output.formatting import listing

        async def errand(asker: Asker) -> Any:
            return await gathered(asker, "list_learning", {}, paging=paging)

        return self.answer(way, errand, listing(LEARNED, "Nothing was learned yet."))
