"""Errors of PostgreSQL and its driver, in words an operator can act on."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg

from cadenza.domain.errors import InvalidRequest, NotWritable, Unavailable

SCHEMES = ("postgresql", "postgres")
DEFAULT_PARTITION = "runs_default"
MORE_THAN_A_PORT = 65_536
MOVED = "CZ001"
"""The SQLSTATE with which triggers refuse changes of what is being moved to another database."""
TAKES_CHANGES = "read-write"
"""The `target_session_attrs` of a URL that names several servers and does not say which of them."""


class DatabaseHost(NamedTuple):
    """One server of a URL: a name, an address or the folder of a socket."""

    name: str
    port: int | None = None

    def __str__(self) -> str:
        return self.name if self.port is None else f"{self.name}:{self.port}"


class DatabaseAddress(NamedTuple):
    """The servers of a URL and a database on them, for messages; without the password."""

    hosts: tuple[DatabaseHost, ...]
    database: str
    wants: str | None
    """The `target_session_attrs` of the URL."""

    def __str__(self) -> str:
        return f"PostgreSQL at {', '.join(map(str, self.hosts)) or 'localhost'}"


def address_of(url: str) -> DatabaseAddress:
    """The address in a URL, which may name several servers; Unavailable if it is no PostgreSQL URL."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in SCHEMES:
            raise Unavailable("The database URL does not begin with postgresql://.")
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        hosts = _hosts(parts.netloc.rpartition("@")[2]) or _asked_hosts(asked)
    except ValueError:
        raise Unavailable("The database URL cannot be read: check its hosts and ports.") from None
    database = unquote(parts.path.lstrip("/")) or asked.get("dbname", "postgres")
    return DatabaseAddress(hosts, database, asked.get("target_session_attrs"))


def _hosts(listed: str) -> tuple[DatabaseHost, ...]:
    """The hosts before a path: `h1:5432,[::1]:5433,h3`."""
    return tuple(map(_host, listed.split(","))) if listed else ()


def _host(spec: str) -> DatabaseHost:
    name, bracket, rest = spec.removeprefix("[").partition("]")
    if not bracket:
        name, colon, rest = spec.partition(":")
        rest = colon + rest
    if not name or (bracket and spec[0] != "["):
        raise ValueError(spec)
    return DatabaseHost(unquote(name), _port(unquote(rest.removeprefix(":"))))


def _asked_hosts(asked: Mapping[str, str]) -> tuple[DatabaseHost, ...]:
    """The hosts of a query: `?host=/run/postgresql&port=5432`, several of each with commas."""
    if not asked.get("host"):
        return ()
    names, ports = asked["host"].split(","), asked.get("port", "").split(",")
    if len(ports) == 1:
        ports *= len(names)
    return tuple(DatabaseHost(name, _port(port)) for name, port in zip(names, ports, strict=True))


def _port(written: str) -> int | None:
    if written and not 0 < int(written) < MORE_THAN_A_PORT:
        raise ValueError(written)
    return int(written) if written else None


RETRYABLE = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
MESSAGES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (RETRYABLE, "{where} is too busy with conflicting changes."),
    (asyncpg.InvalidAuthorizationSpecificationError, "{where} refuses this user name or password."),
    (asyncpg.InvalidCatalogNameError, "Database {database} not found in {where}."),
    (asyncpg.TooManyConnectionsError, "{where} has no connection left to give."),
    (asyncpg.CannotConnectNowError, "{where} is starting up or shutting down."),
    (asyncpg.AdminShutdownError, "{where} is shutting down."),
    (asyncpg.CrashShutdownError, "{where} has crashed and is starting again."),
    (asyncpg.QueryCanceledError, "{where} gave a statement up: {problem}."),
    (asyncpg.IdleInTransactionSessionTimeoutError, "{where} gave up a transaction that stood still."),
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
    (
        asyncpg.TargetServerAttributeNotMatched,
        "{where} answers, but no server there is {wants}, which target_session_attrs asks for.",
    ),
    (asyncpg.PostgresConnectionError, "The connection to {where} was lost."),
    (asyncpg.InterfaceError, "The connection to {where} was lost."),
    (asyncpg.InternalClientError, "The connection to {where} was lost."),
    (TimeoutError, "{where} did not answer in time."),
    (OSError, "{where} does not answer."),
    (asyncpg.PostgresError, "{where} is not usable: {problem}."),
)
NOT_WRITABLE = (asyncpg.DiskFullError, asyncpg.ReadOnlySQLTransactionError)
UNSTORABLE = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError, UnicodeEncodeError)
CONSTRAINT_ERRORS = (
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.PostgresSyntaxError,
    asyncpg.DatatypeMismatchError,
    asyncpg.DataError,
)


def is_retryable(problem: asyncpg.PostgresError) -> bool:
    """Whether the same work can succeed if it is done again.

    A row is on its way to the default partition when the partition of its day is
    attached: the default one then refuses it, by a constraint without a name.
    """
    if isinstance(problem, asyncpg.CheckViolationError):
        return problem.table_name == DEFAULT_PARTITION and problem.constraint_name is None
    return isinstance(problem, RETRYABLE)


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
        kind = NotWritable if isinstance(problem, NOT_WRITABLE) else Unavailable
        raise kind(message_of(problem, where)) from problem


def message_of(problem: BaseException, where: DatabaseAddress) -> str:
    """The message for an operator."""
    if getattr(problem, "sqlstate", None) == MOVED:
        return str(problem)
    wording = next(wording for kind, wording in MESSAGES if isinstance(problem, kind))
    wants = where.wants or TAKES_CHANGES
    return wording.format(where=where, database=where.database, wants=wants, problem=problem)
