"""Moves an installation, or one tenant, from one database to another."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cadenza.adapters.access.secret_encryption import SecretBox
from cadenza.adapters.access.secret_keys import KeyFile, KeySource
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.moves.travelling_secrets import TravellingSecrets
from cadenza.domain.access.move import TableSum
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.engine.moves.installation import InstallationMove, Moved
from cadenza.engine.moves.tenant import TenantMove
from cadenza.ports.store import MoveEnd
from cadenza.roots.settings import SQLITE, Settings, read_settings
from cadenza.roots.wiring.secrets import secret_keys
from cadenza.roots.wiring.stores import DATABASE_SETTING, check_url, open_pool
from cadenza.surfaces.cli.launchers import MoveRequest, MoveResult

if TYPE_CHECKING:  # The driver is an extra, which SQLite does not need.
    from cadenza.adapters.stores.moves.tenant_end import TenantEnd

Report = Callable[[str], None]


def move(wish: MoveRequest, report: Report) -> MoveResult:
    """Move, count or cancel, as it is wished."""
    settings = read_settings()
    source = _with_url(settings, check_url(wish.source, "--from"))
    named = settings.database_url if wish.target is None else wish.target
    target = _with_url(settings, check_url(named, DATABASE_SETTING if wish.target is None else "--to"))
    if _place(source) == _place(target):
        raise InvalidRequest("--from and --to name the same database.", "--to")
    return asyncio.run(_move(wish, source, target, report))


async def _move(wish: MoveRequest, source: Settings, target: Settings, report: Report) -> MoveResult:
    if wish.tenant is not None:
        return await _move_tenant(wish, source, target, report)
    async with _end(source, _SourceKeys(source)) as here, _end(target, secret_keys(target)) as there:
        whole = InstallationMove(here, there, ids=TimeOrderedIds(), clock=SystemClock(), report=report)
        return await _carried_out(wish, whole, whole.run, (here.name, there.name))


async def _move_tenant(wish: MoveRequest, source: Settings, target: Settings, report: Report) -> MoveResult:
    assert wish.tenant is not None, "this moves a tenant"
    for name, settings in (("--from", source), ("--to", target)):
        if settings.database_url.startswith(SQLITE):
            raise InvalidRequest(f"A tenant is moved from PostgreSQL to PostgreSQL: {name} is a file.", name)
    here = _tenant_end(source, _SourceKeys(source), wish.tenant)
    there = _tenant_end(target, secret_keys(target), wish.tenant)
    async with AsyncExitStack() as stack:
        for end in (here, there):
            stack.push_async_callback(end.close)
        one = TenantMove(
            here,
            there,
            wish.tenant,
            ids=TimeOrderedIds(),
            clock=SystemClock(),
            report=report,
            drain=timedelta(seconds=wish.drain_seconds),
            address=wish.address,
        )
        return await _carried_out(wish, one, partial(one.run, remove=wish.remove), (here.name, there.name))


async def _carried_out(
    wish: MoveRequest,
    move: InstallationMove | TenantMove,
    run: Callable[[], Awaitable[Moved]],
    names: tuple[str, str],
) -> MoveResult:
    if wish.cancel:
        outcome = "cancelled" if await move.cancel() else "nothing to cancel"
        return MoveResult(*names, outcome, {}, wish.tenant)
    if wish.dry_run:
        counts = {table: {"rows": rows} for table, rows in (await move.count()).items()}
        return MoveResult(*names, "counted", counts, wish.tenant)
    sums = {table: _facts(found) for table, found in (await run()).tables.items()}
    return MoveResult(*names, "moved", sums, wish.tenant)


def _facts(found: TableSum) -> dict[str, int | str]:
    return {"rows": found.rows} | ({"checksum": found.checksum} if found.checksum else {})


def _with_url(settings: Settings, url: str) -> Settings:
    return settings.model_copy(update={"database_url": url})


def _place(settings: Settings) -> str:
    url = settings.database_url
    return str(Path(url.removeprefix(SQLITE)).resolve()) if url.startswith(SQLITE) else url


def _tenant_end(settings: Settings, keys: KeySource, tenant_id: str) -> "TenantEnd":
    pool = open_pool(settings, size=1)
    from cadenza.adapters.stores.moves.tenant_end import TenantEnd

    return TenantEnd(pool, TravellingSecrets(keys), tenant_id)


@asynccontextmanager
async def _end(settings: Settings, keys: KeySource) -> AsyncIterator[MoveEnd]:
    """One end of the move; closed in the end, which frees it for others."""
    secrets = TravellingSecrets(keys)
    if settings.database_url.startswith(SQLITE):
        from cadenza.adapters.stores.moves.sqlite_end import SqliteEnd

        file = SqliteEnd(Path(settings.database_url.removeprefix(SQLITE)), secrets)
        try:
            yield file
        finally:
            await file.close()
        return
    pool = open_pool(settings, size=1)
    from cadenza.adapters.stores.moves.postgres_end import PostgresEnd

    server = PostgresEnd(pool, secrets)
    try:
        yield server
    finally:
        await server.close()


class _SourceKeys:
    """The keys of a source: those of the settings, which are the target's, and a key file beside its file."""

    def __init__(self, settings: Settings) -> None:
        self._set = secret_keys(settings)
        self._keys = [key.get_secret_value() for key in (settings.secret_key, settings.secret_key_old) if key]
        url = settings.database_url
        self._file = Path(f"{url.removeprefix(SQLITE)}.key") if url.startswith(SQLITE) else None

    def opening_box(self) -> SecretBox:
        """A box that opens with any of them."""
        if self._file is None or not self._keys or not self._file.exists():
            return self._set.opening_box()
        KeyFile(self._file).opening_box()  # It says what is wrong with the file.
        return SecretBox.from_setting(",".join([self._file.read_text(), *self._keys]))

    def sealing_box(self, *, first: bool) -> SecretBox:  # noqa: ARG002 - Nothing is sealed at a source.
        raise Unavailable("Nothing is written to the source of a move.")
