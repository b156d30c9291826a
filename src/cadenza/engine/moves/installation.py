"""Moves everything of an installation from one database to another."""

from collections.abc import Sequence
from typing import NamedTuple

from cadenza.domain.access.move import EVERYTHING, Move, MovePhase, Side, StoredTable, TableSum
from cadenza.domain.errors import Conflict, NotFound
from cadenza.engine.moves.copying import Report, TableCopy, check_same_tables, check_secrets
from cadenza.ports.clock import Clock
from cadenza.ports.ids import Ids
from cadenza.ports.store import MoveEnd


class Moved(NamedTuple):
    """What a move brought."""

    tables: dict[str, TableSum]
    """As they are at both ends; none if the target was active before."""


class InstallationMove:
    """Copies while nothing works on either database, so that no slot is lost or run twice.

    1. Both ends must be quiet, with the same tables, and the target must have nothing else.
    2. The source is fenced: from now on the database itself refuses changes, whoever is still there.
    3. All tables are copied in batches by their keys. Each batch is one commit with the place that was
       reached, so that a killed move goes on there.
    4. Counts and checksums of both ends are compared.
    5. What processes act upon arrives in one commit, with the record that the target is active.
    6. The source is marked as moved.

    Leases are copied as they are: runs that were in flight in a process that died are closed by the
    target's sweeper, as the source's would have done. Until step 5 nothing at the target can be claimed,
    and from step 2 on nothing at the source, so each moment belongs to one of them at most.
    """

    def __init__(self, source: MoveEnd, target: MoveEnd, *, ids: Ids, clock: Clock, report: Report) -> None:
        self._source = source
        self._target = target
        self._ids = ids
        self._clock = clock
        self._report = report
        self._copy = TableCopy(source, target, report)

    async def count(self) -> dict[str, int]:
        """Check everything and count what would be moved; nothing is written at either end."""
        tables = await self._source_tables()
        if await self._target.tables():
            await self._begun(tables)
        else:
            await self._check_departure()
        await check_secrets(self._source, self._target, tables)
        return {table.name: await self._source.count(table) for table in tables}

    async def run(self) -> Moved:
        """Move everything, or go on with a move that was interrupted."""
        tables = await self._source_tables()
        await check_secrets(self._source, self._target, tables)
        await self._departures()
        if not await self._target.tables():
            await self._check_departure()
            await self._target.prepare()
        check_same_tables(tables, await self._target.tables())
        move = await self._begun(tables) or await self._begin()
        if move.phase is MovePhase.COPYING:
            await self._copy_all(move, tables)
        await self._end_source(move)
        return Moved(self._copy.sums)

    async def cancel(self) -> bool:
        """Take a move back that has not ended: the target is emptied, then the source works again."""
        await self._source_tables()
        here = _found(await self._source.moves(), Side.SOURCE)
        there = _found(await self._target.moves(), Side.TARGET) if await self._target.tables() else None
        if here is None:
            return False
        same = there if there is not None and there.id == here.id else None
        if MovePhase.MOVED in here or (same is not None and MovePhase.ACTIVE in same):
            raise Conflict(f"The move to {here.other} is complete and cannot be cancelled.")
        if same is not None:
            async with self._target.transaction():
                await self._target.empty()
                await self._target.delete_move(same)
        async with self._source.transaction():
            await self._source.unfence()
            await self._source.delete_move(here)
        return True

    async def _source_tables(self) -> list[StoredTable]:
        await self._source.check_alone()
        tables = await self._source.tables()
        if not tables:
            raise NotFound(f"Nothing to move in {self._source.name}.")
        await self._source.check_idle()
        await self._target.check_alone()
        return tables

    async def _begun(self, tables: Sequence[StoredTable]) -> Move | None:
        """The move that goes on, as the target has it; Conflict if another one is there, or other rows."""
        here = _found(await self._source.moves(), Side.SOURCE)
        there = _found(await self._target.moves(), Side.TARGET)
        if here is not None and there is not None and here.id == there.id:
            return there
        if there is not None and there.phase is MovePhase.COPYING:
            raise Conflict(
                f"{there.other} is being moved into {self._target.name}: end or cancel that first."
            )
        await self._check_departure()
        for table in tables:
            if await self._target.count(table):
                raise Conflict(
                    f"{self._target.name} is not empty, it has rows in {table.name}: name an empty database."
                )
        return None if here is None else await self._record_at_target(here)

    async def _check_departure(self) -> None:
        """Conflict if the source was moved already, or is being moved elsewhere."""
        here = _found(await self._source.moves(), Side.SOURCE)
        if here is not None and here.phase is MovePhase.MOVED:
            raise Conflict(f"{self._source.name} was moved to {here.other} already.")
        if here is not None and here.other != self._target.name:
            raise Conflict(
                f"{self._source.name} is being moved to {here.other}: go on there, or cancel that."
            )

    async def _begin(self) -> Move:
        """Fence the source, with a record of it in the same commit; then record the move at the target."""
        move = Move(
            self._ids.new(),
            EVERYTHING,
            Side.SOURCE,
            MovePhase.COPYING,
            self._target.name,
            self._clock.now(),
        )
        async with self._source.transaction():
            await self._source.write_move(move)
            await self._source.fence(move)
        self._report(f"{self._source.name} takes no more changes.")
        return await self._record_at_target(move)

    async def _record_at_target(self, move: Move) -> Move:
        there = move._replace(side=Side.TARGET, other=self._source.name, phase=MovePhase.COPYING)
        async with self._target.transaction():
            await self._target.write_move(there)
        return there

    async def _copy_all(self, move: Move, tables: Sequence[StoredTable]) -> None:
        for table in tables:
            if not table.live and not table.derived:
                move = await self._copy.copy(move, table)
        for table in tables:
            if not table.live:
                await self._copy.compare(table)
        async with self._target.transaction():
            await self._copy.copy_live([table for table in tables if table.live])
            await self._target.number_on()
            for departure in await self._departures():
                await self._target.write_move(departure)
            await self._target.write_move(move._replace(phase=MovePhase.ACTIVE))
        self._report(f"{self._target.name} has everything, and is active.")

    async def _departures(self) -> list[Move]:
        """The tenants that were moved away from the source; Conflict if one is on its way."""
        tenants = [move for move in await self._source.moves() if move.tenant_id != EVERYTHING]
        for move in tenants:
            if move.phase not in (MovePhase.MOVED, MovePhase.ACTIVE):
                raise Conflict(f"The tenant {move.tenant_id} is being moved: end or cancel that first.")
        return [move for move in tenants if move.phase is MovePhase.MOVED]

    async def _end_source(self, move: Move) -> None:
        moved = move._replace(side=Side.SOURCE, phase=MovePhase.MOVED, other=self._target.name, progress={})
        async with self._source.transaction():
            await self._source.write_move(moved)


def _found(moves: Sequence[Move], side: Side) -> Move | None:
    """The newest move of everything."""
    whole = [move for move in moves if move.tenant_id == EVERYTHING and move.side is side]
    return whole[-1] if whole else None
