"""`cadenza keys`, `cadenza secrets` and `cadenza tenants`."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from cadenza.domain.durations import span_ms
from cadenza.domain.errors import InvalidRequest
from cadenza.surfaces.cli.argument_parsing import file_text, later, whole_number
from cadenza.surfaces.cli.connection import HERE, Way
from cadenza.surfaces.cli.operation_command import Commands, example, said
from cadenza.surfaces.cli.paging import FIRST, Paging, gathered

if TYPE_CHECKING:  # Rich costs time.
    from rich.console import RenderableType

KeyName = Annotated[str, Parameter(allow_leading_hyphen=True, help="What people call it.")]
Scopes = Annotated[
    tuple[str, ...],
    Parameter(name="--scope", help="read, steer, write or admin; each includes those before it."),
]
Expires = Annotated[str | None, Parameter(help="When it stops working: a moment, or a span from now.")]
AKey = Annotated[str, Parameter(help="The key's id, which is no secret.")]
ASecret = Annotated[str, Parameter(help="The secret's name; ${secret:NAME} refers to it.")]
ATenant = Annotated[str, Parameter(help="The tenant's id.")]
Count = Annotated[int | None, Parameter(converter=whole_number, help="At most; without limit if left out.")]
Shortest = Annotated[str | None, Parameter(help="The shortest interval: 20s, 1m; any if left out.")]


class Keys(Commands):
    """Keys that let callers in."""

    @example("cadenza keys list")
    def list_(self, *, paging: Paging = FIRST, way: Way = HERE) -> int:
        """List keys without their secrets."""
        from cadenza.surfaces.cli.output.columns import KEYS
        from cadenza.surfaces.cli.output.formatting import listing

        look = listing(KEYS, "There are no keys.")
        return self.answer(way, lambda asker: gathered(asker, "list_keys", {}, paging=paging), look)

    @example("cadenza keys create --name dashboard --scope read --expires 90d")
    def create(
        self, *, name: KeyName, scope: Scopes = ("read",), expires: Expires = None, way: Way = HERE
    ) -> int:
        """Make a key. Its secret is shown only now."""
        given: dict[str, Any] = {"name": name, "scopes": list(scope)}
        if expires is not None:
            given["expires_at"] = later("--expires", expires, self._now())
        return self.answer(way, lambda asker: asker.ask("create_key", given), _new_key)

    @example("cadenza keys delete 3fJ8kQ2pXw1Z")
    def delete(self, key_id: AKey, /, *, way: Way = HERE) -> int:
        """Take a key back; from now on it opens nothing."""
        done = said(f"Deleted the key {key_id}.")
        return self.answer(way, lambda asker: asker.ask("delete_key", {"key_id": key_id}), done)


class Secrets(Commands):
    """Secrets for targets: written and named, never shown."""

    @example("cadenza secrets list")
    def list_(self, *, paging: Paging = FIRST, way: Way = HERE) -> int:
        """List the names of secrets."""
        from cadenza.surfaces.cli.output.columns import SECRETS
        from cadenza.surfaces.cli.output.formatting import listing

        look = listing(SECRETS, "There are no secrets.")
        return self.answer(way, lambda asker: gathered(asker, "list_secrets", {}, paging=paging), look)

    @example("cadenza secrets put billing-token")
    def put(self, name: ASecret, /, *, way: Way = HERE) -> int:
        """Keep a secret, in place of the one before; it is read from a prompt, or from standard input."""
        given = {"secret_name": name, "value": _value(name)}
        done = said(f"Keeps the secret {name}; targets refer to it as ${{secret:{name}}}.")
        return self.answer(way, lambda asker: asker.ask("put_secret", given), done)

    @example("cadenza secrets delete billing-token")
    def delete(self, name: ASecret, /, *, way: Way = HERE) -> int:
        """Forget a secret; targets that refer to it fail from then on."""
        done = said(f"Deleted the secret {name}.")
        return self.answer(way, lambda asker: asker.ask("delete_secret", {"secret_name": name}), done)


class Tenants(Commands):
    """Owners, and what they may have and spend: on the database itself."""

    @example("cadenza tenants set-limits acme --endpoints 500 --min-interval 20s --runs-per-month 1000000")
    def set_limits(
        self,
        tenant: ATenant,
        /,
        *,
        name: Annotated[str | None, Parameter(allow_leading_hyphen=True, help="What people call it.")] = None,
        endpoints: Count = None,
        min_interval: Shortest = None,
        runs_per_month: Count = None,
        planner_tokens_per_month: Count = None,
        schedules_per_user: Count = None,
        schedule_fires_per_day: Count = None,
        schedule_tokens_per_day: Count = None,
        way: Way = HERE,
    ) -> int:
        """Set all limits of a tenant; what is left out is without limit, or as by default for schedules."""
        from cadenza.surfaces.cli.output.reports import limits

        given = {
            "tenant_id": tenant,
            "name": name,
            "endpoints": endpoints,
            "min_interval_ms": None if min_interval is None else span_ms("--min-interval", min_interval),
            "runs_per_month": runs_per_month,
            "planner_tokens_per_month": planner_tokens_per_month,
        }
        of_schedules = {
            "schedules_per_user": schedules_per_user,
            "schedule_fires_per_day": schedule_fires_per_day,
            "schedule_tokens_per_day": schedule_tokens_per_day,
        }
        given |= {limit: most for limit, most in of_schedules.items() if most is not None}
        return self.answer(way, lambda asker: asker.ask("set_limits", given), limits)


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


def _new_key(key: Any) -> "Iterable[RenderableType]":
    from rich.text import Text

    from cadenza.surfaces.cli.output.formatting import card, moment, text

    facts = {"key": key["name"], "id": key["id"], "scopes": " ".join(key["scopes"])}
    yield card({**facts, "expires": moment(key["expires_at"]) or "never"})
    yield text("Keep this; it is shown only now:")
    yield Text(key["key"], no_wrap=True, overflow="ignore")
