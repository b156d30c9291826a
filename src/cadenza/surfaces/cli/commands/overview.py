"""`cadenza explain`, `health`, `usage`, `slo` and `overview`, `cadenza alerts` and `cadenza alert-routes`."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.surfaces.cli.argument_parsing import later, pairs, whole_number
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions, OperationClient
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.lookup import ENDPOINT, JOB, ask_about, find_id
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.paging import FIRST_PAGE, Paging, fetch_pages
from cadenza.surfaces.cli.parameters import (
    ACondition,
    AnEndpoint,
    ARoute,
    Id,
    Name,
    NewName,
    OfJob,
    Reason,
    present,
)
from cadenza.surfaces.cli.written_words import Fills

Months = Annotated[int, Parameter(converter=whole_number, help="How many months to look back.")]
Minutes = Annotated[int, Parameter(converter=whole_number, help="How many minutes to look back.")]


Note = Annotated[str | None, Parameter(allow_leading_hyphen=True, help="What is to be known about it.")]
SilentUntil = Annotated[str, Parameter(help="A date (UTC), a time, or a duration from now.")]
ChannelKind = Annotated[
    Literal["webhook", "slack", "apprise"],
    Parameter(name="--type", help="How messages are sent."),
    Fills("channel.type"),
]
ChannelUrl = Annotated[
    str,
    Parameter(name="--url", help="The address; ${secret:NAME} stands for a secret."),
    Fills("channel.url"),
]
NewChannelKind = Annotated[
    Literal["webhook", "slack", "apprise"] | None,
    Parameter(name="--type", help="How messages are sent."),
    Fills("channel.type"),
]
NewChannelUrl = Annotated[
    str | None,
    Parameter(name="--url", help="The address; ${secret:NAME} stands for a secret."),
    Fills("channel.url"),
]
RouteEnabled = Annotated[
    bool | None, Parameter(name="--enabled", negative="--disabled", help="Enabled or disabled.")
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class MatchOptions:
    """Which conditions a route is for: what is left out fits every one."""

    label: Annotated[
        tuple[str, ...],
        Parameter(help="NAME=VALUE of the endpoint; several times for several labels."),
        Fills("match.labels"),
    ] = ()
    job: Annotated[
        tuple[str, ...],
        Parameter(help="The id of a job; several times for any of them."),
        Fills("match.job_ids"),
    ] = ()
    kind: Annotated[
        tuple[Literal["endpoint", "heartbeat", "slo", "quota"], ...],
        Parameter(help="A kind of condition; several times for any of them."),
        Fills("match.kinds"),
    ] = ()
    severity: Annotated[
        tuple[Literal["info", "warning", "critical"], ...],
        Parameter(help="A severity; several times for any of them."),
        Fills("match.severities"),
    ] = ()

    def document(self) -> dict[str, Any] | None:
        """The match as the API takes it; None if nothing is given."""
        match = {
            "labels": pairs("--label", self.label),
            "job_ids": list(self.job),
            "kinds": list(self.kind),
            "severities": list(self.severity),
        }
        found = {name: value for name, value in match.items() if value}
        return found or None


EVERYTHING = MatchOptions()


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


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class WantedConditions:
    """Which conditions."""

    state: Annotated[
        Literal["firing", "acknowledged", "silenced", "resolved"] | None,
        Parameter(help="Those in this state."),
    ] = None
    kind: Annotated[
        Literal["endpoint", "heartbeat", "slo", "quota"] | None, Parameter(help="Those of this kind.")
    ] = None
    endpoint: Annotated[
        str | None, Parameter(help="That of this endpoint, by id or name."), Fills("endpoint_id")
    ] = None
    job: OfJob = None

    async def arguments(self, client: OperationClient) -> dict[str, Any]:
        """What the operation takes."""
        return present(
            state=self.state,
            kind=self.kind,
            endpoint_id=None if self.endpoint is None else await find_id(client, ENDPOINT, self.endpoint),
            job_id=None if self.job is None else await find_id(client, JOB, self.job),
        )


ALL_CONDITIONS = WantedConditions()


class Alerts(Commands):
    """What is wrong now, and who has it in hand."""

    @example()
    def list_(self, *, connection: CliOptions = AS_CONFIGURED) -> int:
        """List the newest alerts."""
        return self.ask(connection, "list_alerts")

    @example("--state firing")
    def conditions(
        self,
        *,
        wanted: WantedConditions = ALL_CONDITIONS,
        paging: Paging = FIRST_PAGE,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """List what alerts are about, with its state; what began last comes first."""

        async def request(client: OperationClient) -> Any:
            arguments = await wanted.arguments(client)
            return await fetch_pages(client, "list_conditions", arguments, paging=paging)

        return self.answer(connection, request, "list_conditions")

    counts = DerivedCommand("count_conditions")

    @example("endpoint-3f2a --note 'I look at it'", operation="acknowledge_condition")
    def acknowledge(
        self, condition: ACondition, /, *, note: Note = None, connection: CliOptions = AS_CONFIGURED
    ) -> int:
        """Acknowledge a condition: nothing more is sent until it is over, unless it gets worse."""
        given = {"condition_id": condition, **present(note=note)}
        return self.ask(connection, "acknowledge_condition", given)

    @example("endpoint-3f2a --until 2h --reason deployment", operation="silence_condition")
    def silence(
        self,
        condition: ACondition,
        /,
        *,
        until: SilentUntil,
        reason: Reason = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Silence a condition: until a moment, nothing but its recovery is sent."""
        end = later("--until", until, self.clock(connection))
        given = {"condition_id": condition, "until": end, **present(reason=reason)}
        return self.ask(connection, "silence_condition", given)

    unsilence = DerivedCommand("unsilence_condition", "endpoint-3f2a")


class AlertRoutes(Commands):
    """Which conditions go to which channel."""

    list_ = DerivedCommand("list_alert_routes")

    @example(
        "Team --id team --type slack --url '${secret:SLACK_URL}' --label team=web --severity critical",
        operation="create_alert_route",
    )
    def create(
        self,
        name: NewName,
        /,
        *,
        kind: ChannelKind,
        url: ChannelUrl,
        id_: Id = None,
        match: MatchOptions = EVERYTHING,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Create an alert route: conditions that match all of its options are sent to its channel."""
        given = {"name": name, "channel": {"type": kind, "url": url}, "match": match.document() or {}}
        return self.ask(connection, "create_alert_route", {**given, **present(id=id_)})

    @example("team --disabled", operation="update_alert_route")
    def update(
        self,
        route: ARoute,
        /,
        *,
        name: Name = None,
        kind: NewChannelKind = None,
        url: NewChannelUrl = None,
        enabled: RouteEnabled = None,
        match: MatchOptions = EVERYTHING,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Change an alert route; a new address needs its type, and new options of the match replace all."""
        if (kind is None) is not (url is None):
            raise InvalidRequest("Give --type and --url together.", "--type")
        channel = None if url is None else {"type": kind, "url": url}
        given = present(name=name, channel=channel, enabled=enabled, match=match.document())
        return self.ask(connection, "update_alert_route", {"route_id": route, **given})

    test = DerivedCommand("test_alert_route", "team")
    delete = DerivedCommand("delete_alert_route", "team")
