"""`cadenza daily windows`, `history` and `misses`: what the dashboard draws, in words."""

from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.surfaces.cli.connection import HERE, Way
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.paging import FIRST, Paging, gathered

ADay = Annotated[str | None, Parameter(help="YYYY-MM-DD: the UTC date of the cutoffs; today, if left out.")]
Days = Annotated[int, Parameter(help="How many days back, today included.")]


class DailyFigures(Commands):
    """How days go."""

    @example("cadenza daily windows")
    def windows(self, date: ADay = None, /, *, way: Way = HERE) -> int:
        """Tell how a day's windows fill: verdicts by due time, and who still waits."""
        from cadenza.surfaces.cli.output.daily_tables import windows

        return self.answer(way, lambda asker: asker.ask("get_windows", _of(date)), windows)

    @example("cadenza daily history --days 7")
    def history(self, *, days: Days = 30, way: Way = HERE) -> int:
        """Tell how the last days went."""
        from cadenza.surfaces.cli.output.daily_tables import history

        return self.answer(way, lambda asker: asker.ask("get_history", {"days": days}), history)

    @example("cadenza daily misses")
    def misses(self, date: ADay = None, /, *, paging: Paging = FIRST, way: Way = HERE) -> int:
        """List users who were not served on a day, by due time."""
        from cadenza.surfaces.cli.output.daily_tables import VERDICTS
        from cadenza.surfaces.cli.output.formatting import listing

        look = listing(VERDICTS, "Nobody was missed.")
        return self.answer(way, lambda asker: gathered(asker, "list_misses", _of(date), paging=paging), look)


def _of(date: str | None) -> dict[str, Any]:
    return {} if date is None else {"date": date}
