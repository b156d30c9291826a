"""Errors of PostgreSQL and its driver, in words an operator can act on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg

from cadenza.domain.errors import InvalidRequest, Unavailable

SCHEMES = ("postgresql", "postgres")


class DatabaseAddress(NamedTuple):
    """A server and a database on it, for messages; without the password."""

    host: str
    database: str

    def __str__(self) -> str:
        return f"PostgreSQL at {self.host}"


def address_of(url: str) -> DatabaseAddress:
    """The address in a URL; Unavailable if it is no PostgreSQL URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Unavailable("The database URL cannot be read: check its host and port.") from None
    if parts.scheme not in SCHEMES:
        raise Unavailable("The database URL does not begin with postgresql://.")
    asked = parse_qs(parts.query)
    host = parts.hostname or asked.get("host", ["localhost"])[0]
    database = unquote(parts.path.lstrip("/")) or asked.get("dbname", ["postgres"])[0]
    return DatabaseAddress(f"{host}:{port}" if port else host, database)


RETRYABLE = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
MESSAGES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (RETRYABLE, "{where} is too busy with conflicting changes."),
    (asyncpg.InvalidAuthorizationSpecificationError, "{where} refuses this user name or password."),
    (asyncpg.InvalidCatalogNameError, "There is no database {database} in {where}."),
    (asyncpg.TooManyConnectionsError, "{where} has no connection left to give."),
    (asyncpg.CannotConnectNowError, "{where} is starting up or shutting down."),
    (asyncpg.AdminShutdownError, "{where} is shutting down."),
    (asyncpg.CrashShutdownError, "{where} has crashed and is starting again."),
    (asyncpg.DiskFullError, "The disk of {where} is full."),
    (asyncpg.ReadOnlySQLTransactionError, "{where} takes no changes: it is a standby, or set to read only."),
    (asyncpg.UndefinedTableError, "The tables are missing in {where}: run `cadenza migrate`."),
    (asyncpg.UndefinedColumnError, "The tables in {where} are of another version: run `cadenza migrate`."),
    (
        (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError),
        "{where} is behind a pooler that hands sessions around: set CADENZA_DATABASE_PREPARED=false.",
    ),
    (asyncpg.InsufficientPrivilegeError, "{where} does not let this user do that."),
    (asyncpg.ClientConfigurationError, "The database URL cannot be read: check its parts."),
    (asyncpg.PostgresConnectionError, "The connection to {where} was lost."),
    (asyncpg.InterfaceError, "The connection to {where} was lost."),
    (asyncpg.InternalClientError, "The connection to {where} was lost."),
    (TimeoutError, "{where} did not answer in time."),
    (OSError, "{where} does not answer."),
    (asyncpg.PostgresError, "{where} does not work: {problem}."),
)
UNSTORABLE = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError, UnicodeEncodeError)
CONSTRAINT_ERRORS = (
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.PostgresSyntaxError,
    asyncpg.DatatypeMismatchError,
    asyncpg.DataError,
)


@contextmanager
def translated_errors(where: DatabaseAddress) -> Iterator[None]:
    """Turn errors of the driver into those of the domain; violated constraints and bugs stay as they are."""
    try:
        yield
    except UNSTORABLE as problem:
        raise InvalidRequest("A text holds a character that cannot be stored.") from problem
    except CONSTRAINT_ERRORS:
        raise
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as problem:
        if type(problem) is asyncpg.InterfaceError and "clos" not in str(problem):
            raise  # A bug in how a statement is used; the connection is fine.
        raise Unavailable(message_of(problem, where)) from problem


def message_of(problem: BaseException, where: DatabaseAddress) -> str:
    """The message for an operator."""
    wording = next(wording for kind, wording in MESSAGES if isinstance(problem, kind))
    return wording.format(where=where, database=where.database, problem=problem)
