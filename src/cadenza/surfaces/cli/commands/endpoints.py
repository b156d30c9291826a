"""`cadenza endpoints`: create, list, show, update, delete; the board and the timeline."""

from collections.abc import Mapping
from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import read_duration_ms
from cadenza.surfaces.cli.argument_parsing import document, earlier, whole_number
from cadenza.surfaces.cli.calendar_options import NO_CALENDARS, CalendarOptions, calendar_change
from cadenza.surfaces.cli.commands.endpoint_options import EndpointOptions, changes
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions, OperationClient
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.lookup import ENDPOINT, ask_about, find_id, find_one, job_filter
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.parameters import AnEndpoint, DryRun, File, Id, MostSlots, Reason, present
from cadenza.surfaces.cli.written_words import Fills

NOTHING_GIVEN = EndpointOptions()
InJob = Annotated[
    str | None, Parameter(name="--job", help="The job it belongs to, by id or name."), Fills("job_id")
]
StartNow = Annotated[bool, Parameter(help="Due at once, instead of one interval from now.")]
Since = Annotated[str, Parameter(help="From a moment on, or for the last 1h.")]
Until = Annotated[str | None, Parameter(help="Up to a moment, or to 10m ago.")]
Unlabel = Annotated[
    tuple[str, ...], Parameter(help="The name of a label to take away; several times."), Fills()
]


Url = Annotated[str | None, Parameter(help="The URL of the target."), Fills("target.url")]
Method = Annotated[str | None, Parameter(help="GET, POST and so on."), Fills("target.method")]
Header = Annotated[
    tuple[str, ...],
    Parameter(help="NAME=VALUE, several times; ${secret:NAME} stands for a secret."),
    Fills("target.headers"),
]
Body = Annotated[
    str | None,
    Parameter(help="JSON or a text; @FILE reads it from a file.", allow_leading_hyphen=True),
    Fills("target.body"),
]
Timeout = Annotated[str | None, Parameter(help="The timeout: 30s at most."), Fills("timeout_ms")]
Every = Annotated[str | None, Parameter(help="An interval: 20s, 5m, 1h30m."), Fills("baseline.interval_ms")]
CronLine = Annotated[str | None, Parameter(help="A cron expression."), Fills("baseline.expression")]
Zone = Annotated[
    str | None, Parameter(help="The time zone of the cron expression."), Fills("baseline.timezone")
]
Parts = Annotated[
    tuple[str, ...], Parameter(help="CALENDAR=5m while it is open, several times."), Fills("baseline.parts")
]
Otherwise = Annotated[
    str | None, Parameter(help="With --day-part: the interval otherwise."), Fills("baseline.otherwise")
]
Least = Annotated[str | None, Parameter(help="The minimum interval."), Fills("guard.min_interval_ms")]
Most = Annotated[str | None, Parameter(help="The maximum interval."), Fills("guard.max_interval_ms")]
Runs = Annotated[int, Parameter(help="How many runs.", converter=whole_number)]


class Endpoints(Commands):
    """Schedulable things: what to do, and when."""

    list_ = DerivedCommand("list_endpoints", "--label team=web --json", options=("job_id", "label"))
    show = DerivedCommand("get_endpoint", "traffic")
    run_now = DerivedCommand("run_now", "traffic")
    heartbeat_token = DerivedCommand("create_heartbeat_token", "backup")
    reset_failures = DerivedCommand(
        "reset_failures", "traffic", about="Reset the count of consecutive failures."
    )

    @example(
        "--job checkout --name traffic --url https://example.com/traffic"
        " --every 1m --min 20s --max 5m --label team=web"
    )
    def create(
        self,
        *,
        job: InJob = None,
        id: Id = None,
        options: EndpointOptions = NOTHING_GIVEN,
        calendars: CalendarOptions = NO_CALENDARS,
        start_now: StartNow = False,
        file: File = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Create an endpoint in a job; its first run is one interval away, or at once with --start-now."""
        base = {} if file is None else document("--file", file)
        given = {**base, **changes(options, base, self.clock(connection))}
        given |= calendar_change(calendars, self.clock(connection))
        if start_now:
            given["start_now"] = True
        if id is not None:
            given["id"] = id
        _check_complete(given, job)

        async def request(client: OperationClient) -> Any:
            return await client.ask("create_endpoint", {**given, **await job_filter(client, job)})

        return self.answer(connection, request, "create_endpoint")

    @example("traffic --every 2m --label tier=gold")
    def update(
        self,
        endpoint: AnEndpoint,
        /,
        *,
        job: InJob = None,
        options: EndpointOptions = NOTHING_GIVEN,
        calendars: CalendarOptions = NO_CALENDARS,
        unlabel: Unlabel = (),
        file: File = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Change an endpoint. Options that are not given keep their value."""
        base = {} if file is None else document("--file", file)

        async def request(client: OperationClient) -> Any:
            before = await find_one(client, ENDPOINT, endpoint)
            given = {**base, **changes(options, {**before, **base}, self.clock(connection))}
            if unlabel:
                given["labels"] = _without({**before, **given}["labels"], unlabel)
            given |= calendar_change(calendars, self.clock(connection)) | await job_filter(client, job)
            return await client.ask("update_endpoint", {**given, "endpoint_id": before["id"]})

        return self.answer(connection, request, "update_endpoint")

    delete = DerivedCommand(
        "delete_endpoint",
        "traffic",
        about="Delete an endpoint. Its run history is kept until its retention ends.",
    )

    @example("traffic --since 24h --until 2h --dry-run")
    def backfill(
        self,
        endpoint: AnEndpoint,
        /,
        *,
        since: Since,
        until: Until = None,
        limit: MostSlots = 100,
        dry_run: DryRun = False,
        reason: Reason = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Run the slots of its schedule in a past range of time that no run was for."""
        given = present(
            since=earlier("--since", since, self.clock(connection)),
            until=None if until is None else earlier("--until", until, self.clock(connection)),
            limit=limit,
            dry_run=dry_run,
            reason=reason,
        )
        return self.answer(
            connection, lambda client: ask_about(client, ENDPOINT, endpoint, "backfill", **given), "backfill"
        )


class EndpointReports(Commands):
    """How endpoints fare."""

    board = DerivedCommand(
        "list_rows",
        "--label team=web",
        options=("job_id", "label", "failing"),
        about="List endpoints with current interval, source of the next run and last results.",
    )
    counts = DerivedCommand("count_rows", about="Count failing endpoints.")
    statistics = DerivedCommand(
        "get_endpoint_statistics",
        "traffic --hours 168",
        options=("hours",),
        about="Show uptime and latency (p50, p95) of an endpoint, up to 30 days back.",
    )

    @example("traffic --since 2h")
    def timeline(
        self,
        endpoint: AnEndpoint,
        /,
        *,
        since: Since = "1h",
        until: Until = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Show the runs of an endpoint in a time range, with the hints and pauses of that range."""

        async def request(client: OperationClient) -> Any:
            now = self.clock(connection)
            given = {
                "endpoint_id": await find_id(client, ENDPOINT, endpoint),
                "since": earlier("--since", since, now),
            }
            if until is not None:
                given["until"] = earlier("--until", until, now)
            return await client.ask("get_timeline", given)

        return self.answer(connection, request, "get_timeline")


class UnsavedEndpoints(Commands):
    """What endpoints would do, before they are created."""

    @example("--url https://example.com/traffic --header accept=application/json")
    def test_target(
        self,
        *,
        url: Url = None,
        method: Method = None,
        header: Header = (),
        body: Body = None,
        timeout: Timeout = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Call a target once that no endpoint has yet, without recording a run. Exits with 1 if it fails."""
        if url is None:
            raise InvalidRequest("A target needs --url.", "target.url")
        options = EndpointOptions(url=url, method=method, header=header, body=body)
        given = {"target": changes(options, {}, self.clock(connection))["target"]}
        if timeout is not None:
            given["timeout_ms"] = read_duration_ms("--timeout", timeout)
        return self.answer_trial(connection, lambda client: client.ask("test_target", given))

    @example("--cron '0 9 * * 1-5' --timezone Europe/Berlin --runs 3")
    def next_runs(
        self,
        *,
        every: Every = None,
        cron: CronLine = None,
        timezone: Zone = None,
        day_part: Parts = (),
        otherwise: Otherwise = None,
        min: Least = None,
        max: Most = None,
        calendars: CalendarOptions = NO_CALENDARS,
        start_now: StartNow = False,
        runs: Runs = 12,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Preview when a new endpoint would run (dry run, no changes made)."""
        options = EndpointOptions(
            every=every,
            cron=cron,
            timezone=timezone,
            day_part=day_part,
            otherwise=otherwise,
            min=min,
            max=max,
        )
        given = changes(options, {}, self.clock(connection)) | {"start_now": start_now, "runs": runs}
        given |= calendar_change(calendars, self.clock(connection))
        if "baseline" not in given:
            raise InvalidRequest("A schedule needs --every, --cron or --day-part.", "baseline")
        return self.ask(connection, "preview_baseline", given)


def _check_complete(given: Mapping[str, Any], job: str | None) -> None:
    """Refuse an endpoint that lacks something, and name the options for it."""
    missing = {
        "job_id": "--job",
        "name": "--name",
        "target": "--url, --function or --grace",
        "baseline": "--every, --cron, --at or --day-part",
    }
    for field, options in missing.items():
        if field not in given and not (field == "job_id" and job is not None):
            raise InvalidRequest(f"An endpoint needs {options}, or a --file with it.", field)


def _without(labels: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, value in labels.items() if name not in names}
