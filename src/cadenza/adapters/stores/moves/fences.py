"""Triggers with which a database refuses changes by itself, whichever process asks for them."""

from collections.abc import Iterable

NAME = "cadenza_moved"
REFUSAL = "This database is being moved, or was moved, to another one."
CODE = "CZ001"
"""The SQLSTATE of such a refusal, as `postgres/errors.py` knows it; SQLite needs no driver of PostgreSQL."""
EVENTS = ("INSERT", "UPDATE", "DELETE")
REFUSE = f"""
CREATE OR REPLACE FUNCTION {NAME}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '{CODE}', MESSAGE = '{REFUSAL}';
END $$
"""


def sqlite_fence(tables: Iterable[str]) -> list[str]:
    """The statements that make all changes of these tables fail."""
    return [
        f'CREATE TRIGGER IF NOT EXISTS "{NAME}_{event}_{table}" BEFORE {event} ON "{table}"'
        f" BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
        for table in tables
        for event in EVENTS
    ]


def sqlite_unfence(tables: Iterable[str]) -> list[str]:
    """The statements that take this back."""
    return [f'DROP TRIGGER IF EXISTS "{NAME}_{event}_{table}"' for table in tables for event in EVENTS]


def postgres_fence(tables: Iterable[str]) -> list[str]:
    """The same on PostgreSQL; each waits until transactions that have changed its table have ended."""
    return [
        REFUSE,
        *(
            f'DROP TRIGGER IF EXISTS {NAME} ON "{table}"; CREATE TRIGGER {NAME}'
            f' BEFORE INSERT OR UPDATE OR DELETE ON "{table}" FOR EACH STATEMENT EXECUTE FUNCTION {NAME}()'
            for table in tables
        ),
    ]


def postgres_unfence(tables: Iterable[str]) -> list[str]:
    """The statements that take this back."""
    dropped = [f'DROP TRIGGER IF EXISTS {NAME} ON "{table}"' for table in tables]
    return [*dropped, f"DROP FUNCTION IF EXISTS {NAME}()"]
