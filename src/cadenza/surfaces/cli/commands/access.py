"""`cadenza keys`, `cadenza secrets`, `cadenza tenants` and `cadenza audit`."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import read_duration_ms
from cadenza.surfaces.cli.argument_parsing import earlier, file_text, later, whole_number
from cadenza.surfaces.cli.connection import AS_CONFIGURED, ClientOpener, CliOptions, OperationClient
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.output.stdout import write
from cadenza.surfaces.cli.paging import FIRST_PAGE, Paging, fetch_pages
from cadenza.surfaces.cli.parameters import ARecord, ASecret, Name, NewName, OnlyNew, Reason, present
from cadenza.surfaces.cli.written_words import Fills

Scopes = Annotated[
    tuple[str, ...],
    Parameter(name="--scope", help="read, steer, write or admin; each includes those before it."),
    Fills("scopes"),
]
LinkScopes = Annotated[
    tuple[str, ...],
    Parameter(name="--scope", help="What it may do: read, steer, write or admin."),
    Fills("scopes"),
]
Expires = Annotated[
    str | None,
    Parameter(help="When it stops working: a moment, or a span from now."),
    Fills("expires_at"),
]
Format = Annotated[
    Literal["ndjson", "csv"],
    Parameter(name="--format", help="A JSON document for each record, or a table with commas."),
]
EXPORTED_PAGE = 500
LimitKind = Annotated[Literal["host", "job", "key"], Parameter(help="What the limit is about.")]
LimitedName = Annotated[str, Parameter(help="The host without a port, the job's id, or the key.")]
ATenant = Annotated[str, Parameter(help="The tenant's id."), Fills("tenant_id")]
Count = Annotated[int | None, Parameter(converter=whole_number, help="At most; without limit if left out.")]
Shortest = Annotated[
    str | None, Parameter(help="The shortest interval: 20s, 1m; any if left out."), Fills("min_interval_ms")
]
ShortestOfSchedules = Annotated[
    str | None,
    Parameter(help="The shortest interval: 20s, 1m; any if left out."),
    Fills("schedule_min_interval_ms"),
]


class Keys(Commands):
    """API keys."""

    list_ = DerivedCommand("list_keys")

    @example("--name dashboard --scope read --expires 90d")
    def create(
        self,
        *,
        name: NewName,
        scope: Scopes = ("read",),
        expires: Expires = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Make a key. Its secret is shown only now."""
        given: dict[str, Any] = {"name": name, "scopes": list(scope)}
        if expires is not None:
            given["expires_at"] = later("--expires", expires, self.clock(connection))
        return self.ask(connection, "create_key", given)

    delete = DerivedCommand("delete_key", "3fJ8kQ2pXw1Z")


class LoginLinks(Commands):
    """A login to the dashboard."""

    def __init__(
        self,
        open_client: ClientOpener,
        now: Callable[[CliOptions], datetime],
        address: Callable[[CliOptions], str],
    ) -> None:
        super().__init__(open_client, now)
        self._address = address

    @example("--scope read")
    def login(self, *, scope: LinkScopes = ("admin",), connection: CliOptions = AS_CONFIGURED) -> int:
        """Print a one-time link that logs a browser in to the dashboard, valid for an hour."""
        connection = replace(connection, served=True)

        async def request(client: OperationClient) -> Any:
            link = await client.ask("create_login_link", {"scopes": list(scope)})
            return {"url": f"{self._address(connection)}{link['path']}", **link}

        return self.answer(connection, request, lambda link: [link["url"]])


class Secrets(Commands):
    """Secrets for targets: written and named, never shown."""

    list_ = DerivedCommand("list_secrets")

    @example("billing-token")
    def put(
        self, name: ASecret, /, *, only_new: OnlyNew = False, connection: CliOptions = AS_CONFIGURED
    ) -> int:
        """Keep a secret, in place of the one before; it is read from a prompt, or from standard input."""
        given = {"secret_name": name, "value": _value(name), "only_new": only_new}
        return self.ask(connection, "put_secret", given)

    delete = DerivedCommand("delete_secret", "billing-token")


class RunLimits(Commands):
    """Limits of runs for a host, a job or a key that endpoints name."""

    list_ = DerivedCommand("list_limits")

    @example("host api.example.com --in-flight 5 --per-minute 100", operation="set_limit")
    def set(
        self,
        kind: LimitKind,
        name: LimitedName,
        /,
        *,
        in_flight: Annotated[
            int | None,
            Parameter(converter=whole_number, help="How many runs may be in flight."),
            Fills("max_in_flight"),
        ] = None,
        per_minute: Annotated[
            int | None,
            Parameter(converter=whole_number, help="How many runs may begin in any minute."),
            Fills("max_per_minute"),
        ] = None,
        only_new: OnlyNew = False,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Set a limit, in place of the one before; what is left out is not limited."""
        given: dict[str, Any] = {"kind": kind, "name": name, "only_new": only_new}
        given |= present(max_in_flight=in_flight, max_per_minute=per_minute)
        return self.ask(connection, "set_limit", given)

    @example("host api.example.com", operation="delete_limit")
    def delete(self, kind: LimitKind, name: LimitedName, /, *, connection: CliOptions = AS_CONFIGURED) -> int:
        """Delete a limit; what waited for it goes on."""
        return self.ask(connection, "delete_limit", {"kind": kind, "name": name})


class Tenants(Commands):
    """Tenants and their limits, which the operator sets."""

    @example("acme --endpoints 500 --min-interval 20s --runs-per-month 1000000")
    def set_limits(
        self,
        tenant: ATenant,
        /,
        *,
        name: Name = None,
        endpoints: Count = None,
        min_interval: Shortest = None,
        runs_per_month: Count = None,
        planner_tokens_per_month: Count = None,
        schedules_per_user: Count = None,
        schedule_min_interval: ShortestOfSchedules = None,
        schedule_fires_per_day: Count = None,
        schedule_tokens_per_day: Count = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Set all limits of a tenant; what is left out is without limit, or as by default for schedules."""
        given = {
            "tenant_id": tenant,
            "name": name,
            "endpoints": endpoints,
            "min_interval_ms": None
            if min_interval is None
            else read_duration_ms("--min-interval", min_interval),
            "runs_per_month": runs_per_month,
            "planner_tokens_per_month": planner_tokens_per_month,
        }
        given |= present(
            schedules_per_user=schedules_per_user,
            schedule_min_interval_ms=None
            if schedule_min_interval is None
            else read_duration_ms("--schedule-min-interval", schedule_min_interval),
            schedule_fires_per_day=schedule_fires_per_day,
            schedule_tokens_per_day=schedule_tokens_per_day,
        )
        return self.ask(connection, "set_limits", given)


def _value(name: str) -> str:
    """A secret as it was typed or piped in: never from the command line, which others can see."""
    if sys.stdin is not None and sys.stdin.isatty():
        from getpass import getpass

        value = getpass(f"Value of {name}: ")
    else:
        value = file_text("The value", "-").removesuffix("\n").removesuffix("\r")
    if not value:
        raise InvalidRequest("The value is empty; pipe it in, or type it at the prompt.", "value")
    return value


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class WantedRecords:
    """Which records."""

    who: Annotated[str | None, Parameter(help="By this origin, or the name of a key.")] = None
    surface: Annotated[str | None, Parameter(help="From rest, cli, mcp, dashboard, agent or program.")] = None
    operation: Annotated[str | None, Parameter(help="Such as update_endpoint or log_in.")] = None
    kind: Annotated[
        str | None, Parameter(help="About an endpoint, a job, a rule, …"), Fills("subject_kind")
    ] = None
    subject: Annotated[str | None, Parameter(help="About the thing with this id."), Fills("subject_id")] = (
        None
    )
    since: Annotated[str | None, Parameter(help="Since a moment, or within the last 24h.")] = None
    until: Annotated[str | None, Parameter(help="Before a moment, or more than 2h ago.")] = None

    def arguments(self, now: Callable[[], datetime]) -> dict[str, Any]:
        """What the operation takes."""
        return present(
            who=self.who,
            surface=self.surface,
            operation=self.operation,
            subject_kind=self.kind,
            subject_id=self.subject,
            since=None if self.since is None else earlier("--since", self.since, now),
            until=None if self.until is None else earlier("--until", self.until, now),
        )


EVERY_RECORD = WantedRecords()


class Audit(Commands):
    """Who changed, steered or logged in, and what differed."""

    @example("--kind endpoint --subject traffic --since 24h", operation="list_audit")
    def list_(
        self,
        *,
        wanted: WantedRecords = EVERY_RECORD,
        paging: Paging = FIRST_PAGE,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """List audit records, newest first."""

        async def request(client: OperationClient) -> Any:
            given = wanted.arguments(self.clock(connection))
            return await fetch_pages(client, "list_audit", given, paging=paging)

        return self.answer(connection, request, "list_audit")

    show = DerivedCommand("get_audit_record", "0191a7c2f4b100003c9d7e5a1b2f4c6d")

    @example("0191a7c2f4b100003c9d7e5a1b2f4c6d", operation="restore_definition")
    def restore(
        self, record: ARecord, /, *, reason: Reason = None, connection: CliOptions = AS_CONFIGURED
    ) -> int:
        """Put an endpoint, a job or a rule back as it was before a change."""
        given = {"record_id": record, **present(reason=reason)}
        return self.ask(connection, "restore_definition", given)

    @example("--format csv --since 30d")
    def export(
        self,
        *,
        wanted: WantedRecords = EVERY_RECORD,
        format_: Format = "ndjson",
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Write all audit records to standard output, newest first, page by page."""
        from cadenza.surfaces.cli.output.audit_lines import FIELDS, csv_line, joined, json_line

        line = csv_line if format_ == "csv" else json_line

        async def request(client: OperationClient) -> None:
            given = wanted.arguments(self.clock(connection))
            if format_ == "csv" and not write(joined(FIELDS)):
                return
            while True:
                page = await client.ask("list_audit", {**given, "limit": EXPORTED_PAGE})
                if not write("".join(map(line, page["items"]))) or page["next_cursor"] is None:
                    return
                given["cursor"] = page["next_cursor"]

        self.fetch(connection, request)
        return Exit.DONE
