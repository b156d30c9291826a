"""Secrets from settings: those of the environment, and those encrypted in the database."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from cadenza.adapters.access.secret_keys import ConfiguredKeys, KeyFile, KeySource, NoKeys
from cadenza.adapters.access.secrets import EnvironmentSecrets, SecretsByKind
from cadenza.adapters.access.stored_secrets import StoredSecrets
from cadenza.adapters.stores.sql.access.secrets import SqlSealed
from cadenza.adapters.stores.sql.store import SqlStore
from cadenza.domain.errors import InvalidRequest
from cadenza.ports.store import Store
from cadenza.roots.settings import SQLITE, Settings
from cadenza.roots.wiring.stores import open_file, open_pool

CONNECTIONS = 2


@asynccontextmanager
async def open_secrets(settings: Settings, store: Store | None = None) -> AsyncIterator[StoredSecrets]:
    """The secrets in the database of a store, so that one commit can hold what both write.

    Without one, it is the database of the settings, which is opened with the first use.
    """
    async with AsyncExitStack() as stack:
        if isinstance(store, SqlStore):
            yield secrets_in(settings, store)
            return
        if settings.database_url.startswith(SQLITE):
            from cadenza.adapters.stores.sqlite.dialect import SqliteDatabase

            file = open_file(settings)
            stack.push_async_callback(file.close)
            sealed = SqlSealed(SqliteDatabase(file))
        else:
            pool = open_pool(settings, size=CONNECTIONS)
            stack.push_async_callback(pool.close)
            sealed = SqlSealed(pool)
        yield StoredSecrets(sealed, secret_keys(settings))


def secrets_in(settings: Settings, store: SqlStore) -> StoredSecrets:
    """The secrets in the database of a store."""
    return StoredSecrets(SqlSealed(store.database), secret_keys(settings))


def target_secrets(settings: Settings, stored: StoredSecrets) -> SecretsByKind:
    """The secrets that targets may refer to: `env:NAME` and `secret:NAME`."""
    return SecretsByKind(env=environment_secrets(settings), secret=stored)


def environment_secrets(settings: Settings) -> EnvironmentSecrets:
    """The environment variables that targets may use."""
    try:
        return EnvironmentSecrets(allowed=settings.secret_env)
    except InvalidRequest as problem:
        raise InvalidRequest(f"CADENZA_SECRET_ENV is invalid: {problem.message}", "secret_env") from None


def secret_keys(settings: Settings) -> KeySource:
    """The encryption keys of the settings; without any, a key file beside the SQLite file."""
    current, older = settings.secret_key, settings.secret_key_old
    if current is not None and current.get_secret_value().strip():
        try:
            return ConfiguredKeys(current.get_secret_value(), older.get_secret_value() if older else "")
        except InvalidRequest as problem:
            message = f"CADENZA_SECRET_KEY or CADENZA_SECRET_KEY_OLD is invalid: {problem.message}"
            raise InvalidRequest(message, "secret_key") from None
    if older is not None and older.get_secret_value().strip():
        raise InvalidRequest("CADENZA_SECRET_KEY_OLD needs CADENZA_SECRET_KEY beside it.", "secret_key_old")
    if settings.database_url.startswith(SQLITE):
        return KeyFile(Path(f"{settings.database_url.removeprefix(SQLITE)}.key"))
    return NoKeys()
