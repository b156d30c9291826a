"""`cadenza daily …`: users with a daily job, and their days."""

from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.surfaces.cli.connection import HERE, Asker, Way
from cadenza.surfaces.cli.operation_command import Commands, example, said
from cadenza.surfaces.cli.paging import FIRST, Paging, gathered

AUser = Annotated[str, Parameter(help="The user's id.")]
Due = Annotated[str, Parameter(help="HH:MM in UTC; the job is tried from an hour before.")]
ADate = Annotated[str, Parameter(help="YYYY-MM-DD: the UTC date of the cutoffs.")]
WithDays = Annotated[bool, Parameter(help="Forget the verdicts of past days, too.")]
ImportFile = Annotated[
    str,
    Parameter(
        allow_leading_hyphen=True,
        help="A CSV file with user_id,due_time, or JSON lines; - is standard input.",
    ),
]


class Daily(Commands):
    """Users with a daily job."""

    @example("cadenza daily users")
    def users(self, *, paging: Paging = FIRST, way: Way = HERE) -> int:
        """List users with a daily job, in the order of their ids."""
        return self.list_(paging=paging, way=way)

    @example("cadenza daily list")
    def list_(self, *, paging: Paging = FIRST, way: Way = HERE) -> int:
        """List users with a daily job, as `cadenza daily users` does."""
        from cadenza.surfaces.cli.output.daily_tables import USERS
        from cadenza.surfaces.cli.output.formatting import listing

        look = listing(USERS, "There are no daily users; cadenza daily put makes one.")
        return self.answer(way, lambda asker: gathered(asker, "list_daily_users", {}, paging=paging), look)

    @example("cadenza daily put ada --due 07:30")
    def put(self, user: AUser, /, *, due: Due, way: Way = HERE) -> int:
        """Serve a user daily, or at another time."""
        from cadenza.surfaces.cli.output.daily_tables import user as look

        given = {"user_id": user, "due_time": due}
        return self.answer(way, lambda asker: asker.ask("put_daily_user", given), look)

    @example("cadenza daily show ada")
    def show(self, user: AUser, /, *, paging: Paging = FIRST, way: Way = HERE) -> int:
        """Show a user with a daily job, and what became of past days."""
        from cadenza.surfaces.cli.output.daily_tables import user_with_days

        async def errand(asker: Asker) -> dict[str, Any]:
            found = await asker.ask("get_daily_user", {"user_id": user})
            return {"user": found, "days": await _days_of(asker, user, paging)}

        return self.answer(way, errand, user_with_days)

    @example("cadenza daily days 2030-01-31")
    def days(self, date: ADate, /, *, paging: Paging = FIRST, way: Way = HERE) -> int:
        """Tell what became of a day: how many verdicts are which, and whose."""
        from cadenza.surfaces.cli.output.daily_tables import day

        async def errand(asker: Asker) -> dict[str, Any]:
            first = await asker.ask("get_day", {"date": date, "limit": 1})
            page = await gathered(asker, "get_day", {"date": date}, paging=paging)
            return {"date": date, "counts": first["counts"], **page}

        return self.answer(way, errand, day)

    @example("cadenza daily import users.csv")
    def import_(self, file: ImportFile, /, *, way: Way = HERE) -> int:
        """Serve all users of a file daily; if a line is wrong, nothing of the file is taken."""
        from cadenza.surfaces.cli.commands.daily_import import imported, opened

        with opened(file) as lines:
            return self.answer(way, lambda asker: imported(asker, lines), _imported)

    @example("cadenza daily delete ada")
    def delete(self, user: AUser, /, *, with_days: WithDays = False, way: Way = HERE) -> int:
        """Serve a user daily no more."""
        given = {"user_id": user, "with_days": with_days}
        done = said(f"The user {user} is served daily no more.")
        return self.answer(way, lambda asker: asker.ask("delete_daily_user", given), done)


async def _days_of(asker: Asker, user: str, paging: Paging) -> dict[str, Any]:
    first = await asker.ask("list_user_days", {"user_id": user, "limit": 1})
    page = await gathered(asker, "list_user_days", {"user_id": user}, paging=paging)
    return {**page, "gaps": first["gaps"]}


def _imported(done: Any) -> Any:
    from cadenza.surfaces.cli.output.formatting import many, text

    yield text(f"{many(done['lines'], 'line')} taken: these users are served daily.")


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
