"""Moves as rows; and secrets, which travel open and are sealed anew at the other end."""

from datetime import datetime
from typing import Any

import orjson

from cadenza.adapters.access.secret_keys import KeyFile, KeySource
from cadenza.adapters.stores.sql.database import Database
from cadenza.domain.access.move import EVERYTHING, Move, MovePhase, Row, Side, StoredTable, out_of_service
from cadenza.domain.errors import Unavailable
from cadenza.ports.secrets import SecretKey

COLUMNS = "id, tenant_id, side, phase, other, began_at, progress"
MOVES = f"SELECT {COLUMNS} FROM moves ORDER BY began_at, id"
WRITE = f"""
INSERT INTO moves ({COLUMNS}, changed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (id) DO UPDATE SET phase = excluded.phase, progress = excluded.progress,
    changed_at = excluded.changed_at
"""
DELETE = "DELETE FROM moves WHERE id = $1"
OF_EVERYTHING = f"SELECT {COLUMNS} FROM moves WHERE tenant_id = $1"


def read_move(row: Any, began_at: datetime) -> Move:
    """The move in a row with the columns `COLUMNS`."""
    id_, tenant_id, side, phase, other, _, progress = row
    return Move(id_, tenant_id, Side(side), MovePhase(phase), other, began_at, orjson.loads(progress))


def write_move(move: Move) -> tuple[Any, ...]:
    """The columns `COLUMNS`."""
    return (*move[:-1], orjson.dumps(move.progress).decode())


async def refuse_moved(database: Database) -> None:
    """Refuse to work on a database that was moved elsewhere, or into which another is being moved."""
    for row in await database.read(OF_EVERYTHING, EVERYTHING):
        problem = out_of_service(read_move(row, database.read_moment(row[5])))
        if problem is not None:
            raise problem


class TravellingSecrets:
    """Opens the secrets in rows that are read, and seals them in rows that are written."""

    def __init__(self, keys: KeySource) -> None:
        self._keys = keys

    def check_sealing(self) -> None:
        """Unavailable if there is no key to seal with; a key file can still be made."""
        if not isinstance(self._keys, KeyFile) or self._keys.path.exists():
            self._keys.sealing_box(first=False)

    def opened(self, table: StoredTable, rows: list[Row]) -> list[Row]:
        """Rows with their secrets open; Unavailable if none of the keys opens one."""
        if not table.secret or not rows:
            return rows
        return [self._opened(table, row) for row in rows]

    def _opened(self, table: StoredTable, row: Row) -> Row:
        place = _place(table, row)
        try:
            value = self._keys.opening_box().open(_value(table, row), place=place)
        except Unavailable as problem:
            words = f"The secret {place.name} of {place.tenant_id} cannot be opened."
            raise Unavailable(f"{words} {problem.message}") from None
        return _with_value(table, row, value)

    def sealed(self, table: StoredTable, rows: list[Row]) -> list[Row]:
        """Rows with their secrets sealed by the current key; Unavailable if there is none."""
        if not table.secret or not rows:
            return rows
        box = self._keys.sealing_box(first=True)
        return [
            _with_value(table, row, box.seal(_value(table, row), place=_place(table, row))) for row in rows
        ]


def _value(table: StoredTable, row: Row) -> str:
    return str(row[table.columns.index("sealed")])


def _with_value(table: StoredTable, row: Row, value: str) -> Row:
    place = table.columns.index("sealed")
    return (*row[:place], value, *row[place + 1 :])


def _place(table: StoredTable, row: Row) -> SecretKey:
    return SecretKey(row[table.columns.index("tenant_id")], row[table.columns.index("name")])
