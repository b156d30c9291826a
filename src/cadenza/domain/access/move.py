"""Moves from one database to another: of a whole installation, or of one tenant."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from cadenza.domain.errors import CadenzaError, Conflict, Unavailable

EVERYTHING = ""
"""Stands for the tenant of a move that takes a whole installation."""
Row = tuple[Any, ...]
"""A row on its way: numbers, texts, bytes and None, the same from every kind of database."""


class Side(StrEnum):
    """Which end of a move a database is."""

    SOURCE = "source"
    TARGET = "target"


class MovePhase(StrEnum):
    """How far a move has come, on one side."""

    COPYING = "copying"
    """Target: it is filled, and nothing works on it. Source: nothing is written; but a tenant works on."""
    HOLDING = "holding"
    """Source of a tenant: nothing of it is claimed any more, and what is in flight ends."""
    FENCED = "fenced"
    """Source of a tenant: nothing of it is written any more."""
    ACTIVE = "active"
    """Target: everything arrived, and it works here from now on."""
    MOVED = "moved"
    """Source: it works elsewhere from now on."""


class Move(NamedTuple):
    """A move, as one side has recorded it."""

    id: str
    tenant_id: str
    side: Side
    phase: MovePhase
    other: str
    """The database at the other end, without a password."""
    began_at: datetime
    progress: Mapping[str, Any] = {}
    """Target: how far each table has been copied, as its last key."""


class StoredTable(NamedTuple):
    """A table as a move sees it."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """The columns by which its rows are walked through."""
    live: bool = False
    """Its rows make processes act, so all of them arrive in the one commit that ends the move."""
    derived: bool = False
    """The database fills it by itself; it is compared and not copied."""
    secret: bool = False
    """It is read in plain text, whose checksum is told to nobody."""
    stays: bool = False
    """It stays at the source when a tenant that was moved is deleted there."""
    numbered: tuple[str, ...] = ()
    """Columns that each database numbers for itself, in the order of the key: they are not carried."""

    def key_of(self, row: Row) -> Row:
        """The key of one of its rows."""
        return tuple(row[self.columns.index(column)] for column in self.key)


def write_place(key: Row) -> list[Any]:
    """A key as JSON has it; bytes are digits in a list."""
    return [[value.hex()] if isinstance(value, bytes) else value for value in key]


def read_place(written: list[Any]) -> Row:
    """The key that was written so."""
    return tuple(bytes.fromhex(value[0]) if isinstance(value, list) else value for value in written)


class TableSum(NamedTuple):
    """How many rows a table has, and a checksum over all of them in the order of their keys."""

    rows: int
    checksum: str


def tenant_elsewhere(address: str) -> Conflict:
    """The refusal for whoever asks for a tenant that was moved; the address may not be known."""
    return Conflict(f"This tenant was moved to {address or 'another server'}: ask there.")


def out_of_service(move: Move) -> CadenzaError | None:
    """Why nothing may work on a database with this move of everything; None if it may."""
    since = f"since {move.began_at:%Y-%m-%d %H:%M} UTC"
    if move.side is Side.SOURCE and move.phase is MovePhase.MOVED:
        return Conflict(f"This database was moved to {move.other}: set CADENZA_DATABASE_URL to that one.")
    if move.side is Side.SOURCE:
        again = "run `cadenza move` once more to end it, or with --cancel to take it back"
        return Unavailable(f"This database is being moved to {move.other} {since}: {again}.")
    if move.phase is MovePhase.COPYING:
        return Unavailable(f"{move.other} is being moved into this database {since}: wait for its end.")
    return None
