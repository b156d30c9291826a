"""Moves as rows."""

from datetime import datetime
from typing import Any

import orjson

from cadenza.adapters.stores.sql.database import Database
from cadenza.domain.access.move import EVERYTHING, Move, MovePhase, Side, out_of_service

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
