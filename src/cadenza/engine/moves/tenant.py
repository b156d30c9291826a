"""Moves one tenant from one installation to another, while both work."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from cadenza.domain.access.move import Move, MovePhase, Side, StoredTable
from cadenza.domain.errors import Conflict, NotFound
from cadenza.engine.moves.copying import Report, TableCopy, check_same_tables, check_secrets
from cadenza.engine.moves.installation import Moved
from cadenza.ports.clock import Clock
from cadenza.ports.ids import Ids
from cadenza.ports.store import TenantMoveEnd

POLL_S = 0.05
OLD, NEW = ":old", ":new"
"""The parts in which history is copied: while the tenant works, and after."""
WATERMARK, TARGET = "watermark", "target"
"""What the source records: up to where history is copied while the tenant works, and where it goes."""
HISTORY = "runs"


class TenantMove:
    """At every moment at most one of the two installations can run something of the tenant.

    1. Both ends have the same tables, and the target nothing of this tenant.
    2. The history of runs up to now is copied and compared while the tenant works; a move that goes on
       compares it again.
    3. The source holds the tenant: nothing of it is claimed any more. What is in flight ends; if it does
       not within a bound, the tenant is released, and works on at the source.
    4. The source is fenced: its database refuses changes of this tenant, whoever asks for them.
    5. The rest is copied, and counts and checksums of both ends are compared.
    6. What processes act upon arrives in one commit, with the record that the tenant is active there.
    7. The source marks it as moved, and tells whoever asks.

    Each phase is recorded before the next begins. Killed anywhere, it goes on when it is run again; until
    step 6 is committed it can be taken back, and after it only step 7 is left to do.
    """

    def __init__(
        self,
        source: TenantMoveEnd,
        target: TenantMoveEnd,
        tenant_id: str,
        *,
        ids: Ids,
        clock: Clock,
        report: Report,
        drain: timedelta,
        address: str,
    ) -> None:
        self._source = source
        self._target = target
        self._tenant = tenant_id
        self._ids = ids
        self._clock = clock
        self._report = report
        self._drain = drain
        self._address = address
        self._copy = TableCopy(source, target, report)

    async def count(self) -> dict[str, int]:
        """Check both ends, and count what would be moved; nothing is written."""
        tables = await self._tables()
        await self._begun(tables)
        return {table.name: await self._source.count(table) for table in tables}

    async def run(self, *, remove: bool = False) -> Moved:
        """Move the tenant, or go on with a move that was interrupted; and delete it here, if it is wished."""
        tables = await self._tables()
        here, there = await self._begun(tables)
        if here is None:
            here, there = await self._begin()
        elif there is None:
            there = await self._record_at_target(here)
        if there.phase is not MovePhase.ACTIVE:
            await self._move(here, there, tables)
        if here.phase is not MovePhase.MOVED:
            await self._record(here, MovePhase.MOVED)
        await self._source.leave()
        if remove:
            self._report(f"{await self._source.remove():,} rows of {self._tenant} deleted.")
        return Moved(self._copy.sums)

    async def cancel(self) -> bool:
        """Take back a move that has not ended: what arrived is deleted, and the tenant works where it was."""
        tables = await self._tables()
        here, there = await self._begun(tables)
        if here is None:
            return False
        if here.phase is MovePhase.MOVED or (there is not None and there.phase is MovePhase.ACTIVE):
            raise Conflict(f"The move of {self._tenant} is complete and cannot be cancelled.")
        if there is not None:
            await self._target.empty()
            async with self._target.transaction():
                await self._target.delete_move(there)
        # Not fenced any more: a process that goes on with the move after this one died must fence it again.
        here = await self._record(here, MovePhase.COPYING)
        await self._source.unfence()
        await self._source.release()
        async with self._source.transaction():
            await self._source.delete_move(here)
        return True

    async def _tables(self) -> list[StoredTable]:
        for end in (self._source, self._target):
            await end.check_alone()
            if not await end.tables():
                raise NotFound(f"No tables of Cadenza in {end.name}: run `cadenza migrate` there.")
        tables = await self._source.tables()
        check_same_tables(tables, await self._target.tables())
        return tables

    async def _begun(self, tables: Sequence[StoredTable]) -> tuple[Move | None, Move | None]:
        """The move under way, as each end has it; refused without such a tenant, or if both ends have one."""
        here = self._found(await self._source.moves(), Side.SOURCE)
        there = self._found(await self._target.moves(), Side.TARGET)
        if (
            here is not None
            and here.phase is not MovePhase.MOVED
            and here.progress[TARGET] != self._target.name
        ):
            raise Conflict(
                f"{self._tenant} is being moved to {here.progress[TARGET]}: go on there, or cancel that."
            )
        if here is not None and there is not None and here.id == there.id:
            return here, there
        if here is not None and here.phase is MovePhase.MOVED:
            raise Conflict(f"{self._tenant} was moved from {self._source.name} already.")
        if there is not None and there.phase is MovePhase.COPYING:
            raise Conflict(f"{self._tenant} is being moved to {self._target.name} from elsewhere.")
        departed = self._found(await self._target.moves(), Side.SOURCE) is not None
        if not any([await self._source.count(table) for table in tables]):
            raise NotFound(f"Tenant {self._tenant} not found in {self._source.name}.")
        for table in tables:
            if not (table.stays and departed) and await self._target.count(table):
                raise Conflict(f"{self._target.name} has a tenant {self._tenant} already, with {table.name}.")
        await check_secrets(self._source, self._target, tables)
        return here, None

    def _found(self, moves: Sequence[Move], side: Side) -> Move | None:
        own = [move for move in moves if move.tenant_id == self._tenant and move.side is side]
        return own[-1] if own else None

    async def _begin(self) -> tuple[Move, Move]:
        now, id_ = self._clock.now(), self._ids.new()
        progress = {WATERMARK: await self._source.watermark(), TARGET: self._target.name}
        here = Move(id_, self._tenant, Side.SOURCE, MovePhase.COPYING, self._address, now, progress)
        async with self._source.transaction():
            await self._source.write_move(here)
        return here, await self._record_at_target(here)

    async def _record_at_target(self, here: Move) -> Move:
        there = here._replace(side=Side.TARGET, phase=MovePhase.COPYING, other=self._source.name, progress={})
        await self._target.empty()  # What stayed there when the tenant was moved away from it.
        async with self._target.transaction():
            await self._target.write_move(there)
        return there

    async def _move(self, here: Move, there: Move, tables: Sequence[StoredTable]) -> None:
        watermark = here.progress[WATERMARK]
        history = next(table for table in tables if table.name == HISTORY)
        self._source.take_part(before=watermark)
        there = await self._copy.copy(there, history, part=OLD)
        await self._copy.compare_part(history, self._target)  # Most of it, while the tenant works.
        await self._stop_at_source(here)
        self._source.take_part(since=watermark)
        there = await self._copy.copy(there, history, part=NEW)
        await self._copy.compare_part(history, self._target)
        self._source.take_part()
        await self._copy.compare_count(history)
        await self._copy_rest(there, tables)

    async def _stop_at_source(self, here: Move) -> None:
        """Hold the tenant until nothing is in flight, then fence it."""
        if here.phase is not MovePhase.FENCED:
            here = await self._record(here, MovePhase.HOLDING)
            await self._source.hold()
            await self._drained(here)
            await self._source.fence(here)
            await self._record(here, MovePhase.FENCED)
        self._report(f"{self._tenant} is stopped at {self._source.name}.")

    async def _drained(self, here: Move) -> None:
        """Wait until nothing is in flight; Conflict if that takes too long, and the tenant works on."""
        deadline = self._clock.now() + self._drain
        while running := await self._source.in_flight():
            if self._clock.now() >= deadline:
                await self._source.unfence()
                await self._source.release()
                await self._record(here, MovePhase.COPYING)
                raise Conflict(
                    f"{running} runs of {self._tenant} did not end within {self._drain.total_seconds():g} s,"
                    " so it works on where it was: try again, or with a higher --drain-seconds."
                )
            await asyncio.sleep(POLL_S)

    async def _record(self, here: Move, phase: MovePhase) -> Move:
        here = here._replace(phase=phase)
        async with self._source.transaction():
            await self._source.write_move(here)
        return here

    async def _copy_rest(self, there: Move, tables: Sequence[StoredTable]) -> None:
        for table in tables:
            if not table.live and not table.derived and table.name != HISTORY:
                there = await self._copy.copy(there, table)
        for table in tables:
            if not table.live and table.name != HISTORY:
                await self._copy.compare(table)
        async with self._target.transaction():
            await self._copy.copy_live([table for table in tables if table.live])
            await self._target.activate()
            await self._target.write_move(there._replace(phase=MovePhase.ACTIVE))
        self._report(f"{self._tenant} works at {self._target.name}.")
