"""`cadenza keys`, `cadenza secrets` and `cadenza tenants`."""

import sys
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import parse_duration_ms
from cadenza.surfaces.cli.argument_parsing import file_text, later, whole_number
from cadenza.surfaces.cli.connection import AS_CONFIGURED, ClientOpener, CliOptions, OperationClient
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.parameters import ASecret, Name, NewName, present

Scopes = Annotated[
    tuple[str, ...],
    Parameter(name="--scope", help="read, steer, write or admin; each includes those before it."),
]
LinkScopes = Annotated[
    tuple[str, ...], Parameter(name="--scope", help="What it may do: read, steer, write or admin.")
]
Expires = Annotated[str | None, Parameter(help="When it stops working: a moment, or a span from now.")]
ATenant = Annotated[str, Parameter(help="The tenant's id.")]
Count = Annotated[int | None, Parameter(converter=whole_number, help="At most; without limit if left out.")]
Shortest = Annotated[str | None, Parameter(help="The shortest interval: 20s, 1m; any if left out.")]


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
        """Print a link that logs a browser in to the dashboard, once, within an hour."""

        async def request(client: OperationClient) -> Any:
            link = await client.ask("create_login_link", {"scopes": list(scope)})
            return {"url": f"{self._address(connection)}{link['path']}", **link}

        return self.answer(connection, request, lambda link: [link["url"]])


class Secrets(Commands):
    """Secrets for targets: written and named, never shown."""

    list_ = DerivedCommand("list_secrets")

    @example("billing-token")
    def put(self, name: ASecret, /, *, connection: CliOptions = AS_CONFIGURED) -> int:
        """Keep a secret, in place of the one before; it is read from a prompt, or from standard input."""
        return self.ask(connection, "put_secret", {"secret_name": name, "value": _value(name)})

    delete = DerivedCommand("delete_secret", "billing-token")


class Tenants(Commands):
    """Owners, and what they may have and spend: on the database itself."""

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
        schedule_min_interval: Shortest = None,
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
            else parse_duration_ms("--min-interval", min_interval),
            "runs_per_month": runs_per_month,
            "planner_tokens_per_month": planner_tokens_per_month,
        }
        given |= present(
            schedules_per_user=schedules_per_user,
            schedule_min_interval_ms=None
            if schedule_min_interval is None
            else parse_duration_ms("--schedule-min-interval", schedule_min_interval),
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
