"""The schema brought up to date, and a self-check of everything a worker needs."""

import asyncio
import os
import shutil
import socket
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from cadenza.adapters.access.secret_keys import KeyFile
from cadenza.adapters.access.stored_secrets import SecretCounts
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.postgres.engines.profile import profile_of
from cadenza.adapters.stores.sql.migrate import SQLITE, Migrated, migrate, name_of, version
from cadenza.adapters.stores.sql.migrations import HEAD
from cadenza.adapters.stores.sqlite.database import is_open_to_others
from cadenza.domain.errors import CadenzaError, InvalidRequest, NotFound
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.validation import quoted
from cadenza.roots.settings import Settings, misspelt, read_settings
from cadenza.roots.wiring.extras import check_extras
from cadenza.roots.wiring.http_dispatch import http_settings
from cadenza.roots.wiring.secrets import environment_secrets, open_secrets, secret_keys
from cadenza.roots.wiring.stores import check_url, open_pool, open_store
from cadenza.surfaces.cli.launchers import Finding, Migration

Check = Callable[[Settings], Awaitable[Finding]]
LEAST_FREE = 100 * 1024 * 1024
NO_ENDPOINT = EndpointKey("doctor", "nobody")


def migrate_database() -> Migration:
    """Migrate the database of the settings."""
    settings = read_settings()
    url = check_url(settings.database_url)
    check_extras(settings, models=False)
    before, after, deleted = asyncio.run(_migrate(settings))
    return Migration(name_of(url), before, after, dict(deleted))


async def _migrate(settings: Settings) -> Migrated:
    """The schema, and the seals of secrets whose key is no longer the current one."""
    migrated = await migrate(settings.database_url, profile_of(settings.database_profile))
    async with open_secrets(settings) as secrets:
        await secrets.reseal()
    return migrated


def run_checks() -> list[Finding]:
    """Every check, also when one before it failed."""
    settings = read_settings()
    check_url(settings.database_url)
    return asyncio.run(
        _all((_names, _schema, _profile, _store, _nudges, _secrets, _zones, _disk, _host, _targets), settings)
    )


async def _all(checks: Sequence[Check], settings: Settings) -> list[Finding]:
    return [await check(settings) for check in checks]


async def _names(_: Settings) -> Finding:
    unknown = misspelt(os.environ)
    if not unknown:
        return Finding("settings", passed=True, detail="Every variable CADENZA_… is a setting.")
    name, meant = next(iter(unknown.items()))
    advice = f"Did you mean {meant}?" if meant else "Remove it."
    return Finding("settings", passed=False, detail=f"{name} is no setting.", advice=advice)


async def _schema(settings: Settings) -> Finding:
    try:
        found = await version(settings.database_url)
    except CadenzaError as problem:
        return Finding("schema", passed=False, detail=problem.message, advice="Is the database there?")
    name = name_of(settings.database_url)
    if found == HEAD or (found is None and settings.database_url.startswith(SQLITE)):
        state = f"is at {found}" if found else "has no schema yet"
        return Finding("schema", passed=True, detail=f"{name} {state}.")
    detail = f"{name} is at {found}, not {HEAD}."
    return Finding("schema", passed=False, detail=detail, advice="Run cadenza migrate.")


async def _profile(settings: Settings) -> Finding:
    if settings.database_url.startswith(SQLITE):
        return Finding("profile", passed=True, detail="SQLite needs none.")
    profile = profile_of(settings.database_profile)
    detail = f"{settings.database_profile}: {profile.in_words}."
    return Finding("profile", passed=True, detail=detail)


async def _store(settings: Settings) -> Finding:
    path = settings.database_url.removeprefix(SQLITE)
    if settings.database_url.startswith(SQLITE) and not await asyncio.to_thread(os.path.exists, path):
        return Finding("store", passed=True, detail=f"{path} will be made at the first start.")
    try:
        async with open_store(settings, ids=TimeOrderedIds(), log=NoLog()) as store:
            await store.endpoints.get(NO_ENDPOINT)
    except NotFound:
        return await asyncio.to_thread(_answering_store, settings)
    except CadenzaError as problem:
        return Finding("store", passed=False, detail=problem.message, advice="A worker would not start.")
    return Finding("store", passed=False, detail="It returned an endpoint that does not exist.")


def _answering_store(settings: Settings) -> Finding:
    path = Path(settings.database_url.removeprefix(SQLITE))
    if settings.database_url.startswith(SQLITE) and is_open_to_others(path):
        detail = f"Other users of this machine may read {path}."
        return Finding("store", passed=False, detail=detail, advice=f"Run chmod 600 {path}*.")
    return Finding("store", passed=True, detail="It answers.")


async def _nudges(settings: Settings) -> Finding:
    """A lost call is no failure: workers look now and then."""
    if settings.database_url.startswith(SQLITE):
        return Finding("nudges", passed=True, detail="They wake the worker of this process at once.")
    if not profile_of(settings.database_profile).notifications:
        detail = "The profile has no notifications: those of this process wake its worker at once."
        return Finding("nudges", passed=True, detail=detail)
    try:
        heard = await _notifications_arrive(settings)
    except CadenzaError as problem:
        return Finding("nudges", passed=False, detail=problem.message, advice="Is the database there?")
    looking = f"Notifications do not arrive: workers poll every {settings.poll_ms} ms."
    return Finding("nudges", passed=True, detail="Notifications arrive." if heard else looking)


async def _notifications_arrive(settings: Settings) -> bool:
    pool = open_pool(settings, size=1)
    from cadenza.adapters.stores.postgres.listen_notify import notifications_arrive

    try:
        return await notifications_arrive(pool, f"check {TimeOrderedIds().new()}")
    finally:
        await pool.close()


async def _secrets(settings: Settings) -> Finding:
    try:
        environment_secrets(settings)
        keys = secret_keys(settings)
        found = SecretCounts() if await _is_new(settings) else await _count_secrets(settings)
    except CadenzaError as problem:
        return Finding("secrets", passed=False, detail=problem.message, advice="Fix that first.")
    if found.closed:
        detail = f"{found.closed} of {sum(found)} secrets cannot be decrypted with any configured key."
        advice = "Set CADENZA_SECRET_KEY_OLD to the key that encrypted them, or restore the key file."
        return Finding("secrets", passed=False, detail=detail, advice=advice)
    if isinstance(keys, KeyFile) and await asyncio.to_thread(lambda: keys.is_open_to_others):
        detail = f"Other users of this machine can read {keys.path}."
        return Finding("secrets", passed=False, detail=detail, advice=f"Run chmod 600 {keys.path}.")
    older = f", {found.stale} with an older key; cadenza migrate encrypts them again" if found.stale else ""
    return Finding("secrets", passed=True, detail=f"{sum(found)} are stored encrypted{older}.")


async def _is_new(settings: Settings) -> bool:
    """Does the database not have the current schema?"""
    return await version(settings.database_url) != HEAD


async def _count_secrets(settings: Settings) -> SecretCounts:
    async with open_secrets(settings) as secrets:
        return await secrets.count_by_key()


async def _zones(_: Settings) -> Finding:
    noon = CronsimCron().next("0 12 * * *", datetime(2026, 7, 1, tzinfo=UTC), "Europe/Berlin")
    right = noon == datetime(2026, 7, 1, 10, tzinfo=UTC)
    detail = f"Noon in Berlin in July is {noon:%H:%M} UTC."
    return Finding("zones", passed=right, detail=detail, advice="Reinstall tzdata.")


async def _disk(settings: Settings) -> Finding:
    if not settings.database_url.startswith(SQLITE):
        return Finding("disk", passed=True, detail="The database is not a local file.")
    try:
        free = await asyncio.to_thread(_free_beside, settings.database_url.removeprefix(SQLITE))
    except OSError as problem:
        return Finding("disk", passed=False, detail=f"{problem.strerror}.", advice="Is the folder there?")
    detail = f"{free // 1024**2:,} MiB are free beside the file."
    return Finding("disk", passed=free > LEAST_FREE, detail=detail, advice="Make room before it is full.")


def _free_beside(path: str) -> int:
    return shutil.disk_usage(Path(path).absolute().parent).free


async def _host(settings: Settings) -> Finding:
    try:
        await asyncio.to_thread(_listen_on, settings.host)
    except (OSError, UnicodeError) as problem:
        detail = f"CADENZA_HOST is {quoted(settings.host)}, where nothing can listen: {problem}."
        advice = "Take an address of this machine, 127.0.0.1 or 0.0.0.0."
        return Finding("host", passed=False, detail=detail, advice=advice)
    return Finding("host", passed=True, detail=f"{settings.host} can be listened on.")


def _listen_on(host: str) -> None:
    """On any port, and only for a moment."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.bind(address)


async def _targets(settings: Settings) -> Finding:
    try:
        http_settings(settings)
    except InvalidRequest as problem:
        return Finding(
            "targets", passed=False, detail=problem.message, advice="Write 10.0.0.0/8, host or host:port."
        )
    open_to = "any address" if settings.allow_private_targets else "public addresses"
    allowed = f" and {', '.join(settings.allow_targets)}" if settings.allow_targets else ""
    return Finding("targets", passed=True, detail=f"HTTP targets may reach {open_to}{allowed}.")
