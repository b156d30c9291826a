"""`cadenza move`."""

import sys
from typing import Annotated

from cyclopts import App, Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.launchers import MoveLauncher, MoveRequest, MoveResult
from cadenza.surfaces.cli.output.stdout import write, write_json

Source = Annotated[str, Parameter(name="--from", help="The URL of the database that is moved.")]
Target = Annotated[
    str | None,
    Parameter(name="--to", help="The URL of an empty database; CADENZA_DATABASE_URL if it is not given."),
]
DryRun = Annotated[bool, Parameter(help="Check both databases, and count what would be moved.")]
Cancel = Annotated[bool, Parameter(help="Take back a move that has not ended.")]
Tenant = Annotated[
    str | None,
    Parameter(help="Move one tenant to another installation, while both work; both on PostgreSQL."),
]
Address = Annotated[
    str, Parameter(help="With --tenant: the URL of the other server, told to whoever asks here.")
]
DrainSeconds = Annotated[float, Parameter(help="With --tenant: how long runs in flight may take to end.")]
Remove = Annotated[bool, Parameter(help="With --tenant: delete it here, once it works there.")]
Json = Annotated[bool, Parameter(help="Print one JSON document.")]
LONGEST_DRAIN_S = 3_600


def add_move(app: App, launch: MoveLauncher) -> None:
    """Add the command."""

    @app.command(
        help_epilogue="Example: cadenza move --from sqlite:///old.db --to postgresql://localhost/cadenza"
    )
    def move(
        *,
        source: Source,
        target: Target = None,
        tenant: Tenant = None,
        address: Address = "",
        drain_seconds: DrainSeconds = 30.0,
        remove: Remove = False,
        dry_run: DryRun = False,
        cancel: Cancel = False,
        json: Json = False,
    ) -> int:
        """Move everything to another database. Run it again to continue after an interruption."""
        wish = MoveRequest(source, target, dry_run, cancel, tenant, address, drain_seconds, remove)
        _check(wish)
        return _show(launch(wish, _report), as_json=json)


def _check(wish: MoveRequest) -> None:
    if wish.dry_run and wish.cancel:
        raise InvalidRequest("--dry-run and --cancel cannot be combined.", "--cancel")
    if wish.tenant == "":
        raise InvalidRequest("--tenant needs the id of a tenant.", "--tenant")
    if wish.tenant is None and (wish.address or wish.remove):
        raise InvalidRequest("--address and --remove need --tenant.", "--tenant")
    if wish.remove and (wish.dry_run or wish.cancel):
        raise InvalidRequest("--remove cannot be combined with --dry-run or --cancel.", "--remove")
    if not 0 < wish.drain_seconds <= LONGEST_DRAIN_S:
        message = f"--drain-seconds must be more than 0 and at most {LONGEST_DRAIN_S:,}."
        raise InvalidRequest(message, "--drain-seconds")


def _report(sentence: str) -> None:
    """Progress is for people; programs read standard output."""
    if sys.stderr is not None:
        sys.stderr.write(f"cadenza: {sentence}\n")


def _show(done: MoveResult, *, as_json: bool) -> int:
    if as_json:
        write_json(done._asdict())
        return Exit.DONE
    for table, facts in done.tables.items():
        checksum = f"  {facts['checksum']}" if "checksum" in facts else ""
        write(f"{facts['rows']:>12,}  {table:<22}{checksum}".rstrip() + "\n")
    write(f"{_sentence(done)}\n")
    return Exit.DONE


def _sentence(done: MoveResult) -> str:
    what = done.source if done.tenant is None else f"The tenant {done.tenant}"
    if done.outcome == "moved":
        then = "its processes continue there" if done.tenant else "set CADENZA_DATABASE_URL to that one"
        return f"{what} is moved to {done.target}: {then}."
    if done.outcome == "counted":
        what = done.tenant or done.source
        return f"Dry run, no changes made. This would be moved from {what} to {done.target}."
    if done.outcome == "cancelled":
        return f"The move to {done.target} is cancelled: {done.tenant or done.source} can be used again."
    return f"No move of {done.tenant or done.source} to {done.target} in progress."
