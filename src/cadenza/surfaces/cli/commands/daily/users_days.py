"""`cadenza daily …`: daily users, and their days."""

from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions, OperationClient
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.paging import FIRST_PAGE, Paging, fetch_pages
from cadenza.surfaces.cli.parameters import AUser, InProgramme, OnlyNew, present
from cadenza.surfaces.cli.written_words import Fills

Due = Annotated[
    str, Parameter(help="HH:MM in the time zone; the job is tried in the window before."), Fills("due_time")
]
DueZone = Annotated[
    str | None,
    Parameter(name="--timezone", help="An IANA time zone, such as Europe/Berlin; or UTC."),
]
ADate = Annotated[str, Parameter(help="YYYY-MM-DD: the date of the cutoffs, each in the zone of its user.")]
ImportFile = Annotated[
    str,
    Parameter(
        allow_leading_hyphen=True,
        help="A CSV file with user_id,due_time[,timezone], or JSON lines; - is standard input.",
    ),
]


class Daily(Commands):
    """Daily users."""

    users = DerivedCommand("list_daily_users", options=("programme",))
    list_ = DerivedCommand(
        "list_daily_users", options=("programme",), about="List daily users, as `cadenza daily users` does."
    )

    @example("ada --due 07:30 --timezone Europe/Berlin")
    def put(
        self,
        user: AUser,
        /,
        *,
        due: Due,
        timezone: DueZone = None,
        programme: InProgramme = None,
        only_new: OnlyNew = False,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Add a daily user, or change the due time."""
        given = {"user_id": user, "due_time": due, "only_new": only_new}
        given |= present(timezone=timezone, programme=programme)
        return self.ask(connection, "put_daily_user", given)

    @example("ada")
    def show(
        self,
        user: AUser,
        /,
        *,
        programme: InProgramme = None,
        paging: Paging = FIRST_PAGE,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Show a daily user and past results."""
        given = present(user_id=user, programme=programme)

        async def request(client: OperationClient) -> dict[str, Any]:
            found = await client.ask("get_daily_user", given)
            return {"user": found, "days": await _days_of(client, given, paging)}

        return self.answer(connection, request, "get_daily_user")

    @example("2030-01-31")
    def days(
        self,
        date: ADate,
        /,
        *,
        programme: InProgramme = None,
        paging: Paging = FIRST_PAGE,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Show the results of a date: counts and users."""
        given = present(date=date, programme=programme)

        async def request(client: OperationClient) -> dict[str, Any]:
            first = await client.ask("get_day", {**given, "limit": 1})
            page = await fetch_pages(client, "get_day", given, paging=paging)
            return {"date": date, "counts": first["counts"], **page}

        return self.answer(connection, request, "get_day")

    @example("users.csv")
    def import_(
        self,
        file: ImportFile,
        /,
        *,
        programme: InProgramme = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Add the daily users of a file. If one line is invalid, nothing is imported."""
        from cadenza.surfaces.cli.commands.daily.file_import import import_users, open_lines

        with open_lines(file) as lines:
            return self.answer(
                connection, lambda client: import_users(client, lines, programme), "put_daily_users"
            )

    delete = DerivedCommand(
        "delete_daily_user", "ada", options=("with_days", "programme"), about="Remove a daily user."
    )


async def _days_of(client: OperationClient, user: dict[str, Any], paging: Paging) -> dict[str, Any]:
    first = await client.ask("list_user_days", {**user, "limit": 1})
    page = await fetch_pages(client, "list_user_days", user, paging=paging)
    return {**page, "gaps": first["gaps"]}


ADay = Annotated[
    str | None, Parameter(help="YYYY-MM-DD: the date of the cutoffs; if left out, today in UTC.")
]
Days = Annotated[int, Parameter(help="How many days back, today included.")]


class DailyReports(Commands):
    """How days go."""

    @example()
    def windows(
        self,
        date: ADay = None,
        /,
        *,
        programme: InProgramme = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Show the windows of a date: results by due time, and pending users."""
        return self.ask(connection, "get_windows", present(date=date, programme=programme))

    @example("--days 7")
    def history(
        self,
        *,
        days: Days = 30,
        programme: InProgramme = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Show the results of the last days."""
        return self.ask(connection, "get_history", present(days=days, programme=programme))

    @example()
    def misses(
        self,
        date: ADay = None,
        /,
        *,
        programme: InProgramme = None,
        paging: Paging = FIRST_PAGE,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """List users who were missed on a date, by due time."""
        given = present(date=date, programme=programme)
        return self.answer(
            connection,
            lambda client: fetch_pages(client, "list_misses", given, paging=paging),
            "list_misses",
        )
