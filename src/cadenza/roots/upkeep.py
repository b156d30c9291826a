"""The schema brought up to date, and a self-check of everything a worker needs."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.quiet import NoLog
from cadenza.adapters.sql.migrate import SQLITE, migrate, name_of, version
from cadenza.adapters.sql.migrations import HEAD
from cadenza.domain.endpoint import EndpointKey
from cadenza.domain.errors import CadenzaError, NotFound
from cadenza.roots.settings import Settings, misspelt, read_settings
from cadenza.roots.stores import check_url, open_store
from cadenza.surfaces.cli.launchers import Finding, Migration

Check = Callable[[Settings], Awaitable[Finding]]
LEAST_FREE = 100 * 1024 * 1024
NOBODY = EndpointKey("doctor", "nobody")


def bring_up_to_date() -> Migration:
    """Migrate the database of the settings."""
    url = check_url(read_settings().database_url)
    before, after = asyncio.run(migrate(url))
    return Migration(name_of(url), before, after)


def examine() -> list[Finding]:
    """Every check, also when one before it failed."""
    settings = read_settings()
    check_url(settings.database_url)
    return asyncio.run(_all((_names, _schema, _store, _zones, _disk, _targets), settings))


async def _all(checks: Sequence[Check], settings: Settings) -> list[Finding]:
    return [await check(settings) for check in checks]


async def _names(_: Settings) -> Finding:
    strangers = misspelt(os.environ)
    if not strangers:
        return Finding("settings", passed=True, detail="Every variable CADENZA_… is a setting.")
    name, meant = next(iter(strangers.items()))
    advice = f"Did you mean {meant}?" if meant else "Remove it."
    return Finding("settings", passed=False, detail=f"{name} is no setting.", advice=advice)


async def _schema(settings: Settings) -> Finding:
    try:
        found = await version(settings.database_url)
    except CadenzaError as problem:
        return Finding("schema", passed=False, detail=problem.message, advice="Is the database there?")
    name = name_of(settings.database_url)
    if found == HEAD or (found is None and settings.database_url.startswith(SQLITE)):
        return Finding("schema", passed=True, detail=f"{name} is at {found or 'its beginning'}.")
    detail = f"{name} is at {found}, not {HEAD}."
    return Finding("schema", passed=False, detail=detail, advice="Run cadenza migrate.")


async def _store(settings: Settings) -> Finding:
    path = settings.database_url.removeprefix(SQLITE)
    if settings.database_url.startswith(SQLITE) and not await asyncio.to_thread(os.path.exists, path):
        return Finding("store", passed=True, detail=f"{path} will be made at the first start.")
    try:
        async with open_store(settings, ids=TimeOrderedIds(), log=NoLog()) as store:
            await store.get(NOBODY)
    except NotFound:
        return Finding("store", passed=True, detail="It answers.")
    except CadenzaError as problem:
        return Finding("store", passed=False, detail=problem.message, advice="A worker would not start.")
    return Finding("store", passed=False, detail="It knows an endpoint that nobody made.")


async def _zones(_: Settings) -> Finding:
    noon = CronsimCron().next("0 12 * * *", datetime(2026, 7, 1, tzinfo=UTC), "Europe/Berlin")
    right = noon == datetime(2026, 7, 1, 10, tzinfo=UTC)
    detail = f"Noon in Berlin in July is {noon:%H:%M} UTC."
    return Finding("zones", passed=right, detail=detail, advice="Install tzdata anew.")


async def _disk(settings: Settings) -> Finding:
    if not settings.database_url.startswith(SQLITE):
        return Finding("disk", passed=True, detail="The database is elsewhere.")
    try:
        free = await asyncio.to_thread(_free_beside, settings.database_url.removeprefix(SQLITE))
    except OSError as problem:
        return Finding("disk", passed=False, detail=f"{problem.strerror}.", advice="Is the folder there?")
    detail = f"{free // 1024**2:,} MiB are free beside the file."
    return Finding("disk", passed=free > LEAST_FREE, detail=detail, advice="Make room before it is full.")


def _free_beside(path: str) -> int:
    return shutil.disk_usage(Path(path).absolute().parent).free


async def _targets(settings: Settings) -> Finding:
    open_to = "any address" if settings.allow_private_targets else "public addresses"
    allowed = f" and {', '.join(settings.allow_targets)}" if settings.allow_targets else ""
    return Finding("targets", passed=True, detail=f"HTTP targets may reach {open_to}{allowed}.")
