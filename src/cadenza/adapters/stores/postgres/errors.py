"""What PostgreSQL and its driver say, in words an operator can act on."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from cadenza.adapters.stores.postgres.address import Address
from cadenza.domain.errors import InvalidRequest, Unavailable

RETRIED = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
SENTENCES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (RETRIED, "{where} is too busy with conflicting changes."),
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
UNKEPT = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError, UnicodeEncodeError)
BROKEN_RULES = (
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.PostgresSyntaxError,
    asyncpg.DatatypeMismatchError,
    asyncpg.DataError,
)


@contextmanager
def translated(where: Address) -> Iterator[None]:
    """Turn what the driver raises into what a caller can act on; broken rules stay what they are."""
    try:
        yield
    except UNKEPT as problem:
        raise InvalidRequest("A text holds a character that cannot be stored.") from problem
    except BROKEN_RULES:
        raise
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as problem:
        if type(problem) is asyncpg.InterfaceError and "clos" not in str(problem):
            raise  # A statement was used wrongly: a bug, and no matter of the connection.
        raise Unavailable(sentence(problem, where)) from problem


def sentence(problem: BaseException, where: Address) -> str:
    """One sentence for a person."""
    wording = next(wording for kind, wording in SENTENCES if isinstance(problem, kind))
    return wording.format(where=where, database=where.database, problem=problem)
