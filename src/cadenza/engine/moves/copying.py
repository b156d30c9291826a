"""Copies tables from one end of a move to the other in batches, and compares them."""

from collections.abc import AsyncIterator, Callable, Sequence
from hashlib import blake2b

from cadenza.domain.access.move import Move, Row, StoredTable, TableSum, read_place, write_place
from cadenza.domain.errors import Conflict, InvalidRequest, Unavailable
from cadenza.ports.store import MoveEnd, TenantMoveEnd

BATCH = 2_000
Report = Callable[[str], None]
"""Is told in a sentence what was done."""


class TableCopy:
    """Each batch is one commit at the target with the place that was reached: a killed copy goes on there."""

    def __init__(self, source: MoveEnd, target: MoveEnd, report: Report) -> None:
        self._source = source
        self._target = target
        self._report = report
        self._digests: dict[str, blake2b] = {}
        self.sums: dict[str, TableSum] = {}
        """Of tables that were compared; without the checksums of secrets."""

    async def copy(self, move: Move, table: StoredTable, *, part: str = "") -> Move:
        """Copy what is not there yet; the move with its new progress. A table may come in several parts."""
        name = f"{table.name}{part}"
        reached, count = move.progress.get(name), 0
        async for rows in self._batches(table, None if reached is None else read_place(reached)):
            place = write_place(table.key_of(rows[-1]))
            move = move._replace(progress={**move.progress, name: place})
            async with self._target.transaction():
                await self.add(table, rows)
                await self._target.write_move(move)
            count += len(rows)
            self._report(f"{table.name}: {count:,} rows copied.")
        return move

    async def copy_live(self, tables: Sequence[StoredTable]) -> None:
        """Copy what processes act upon, and compare it, in the transaction of the caller."""
        for table in tables:
            async for rows in self._batches(table, None):
                await self.add(table, rows)
            await self.compare(table)

    async def add(self, table: StoredTable, rows: Sequence[Row]) -> None:
        """Add rows to the target; Conflict if it cannot store one."""
        try:
            await self._target.add(table, rows)
        except InvalidRequest as problem:
            raise Conflict(
                f"{self._target.name} cannot take {table.name}: {problem.message}"
                " Cancel the move, correct it, and move again."
            ) from None

    async def compare(self, table: StoredTable) -> None:
        """Unavailable if a table is not the same at both ends."""
        here, there = await sum_of(self._source, table), await sum_of(self._target, table)
        if here != there:
            raise self._differs(table, here.rows, there.rows)
        self.sums[table.name] = there._replace(checksum="") if table.secret else there

    async def compare_part(self, table: StoredTable, target: TenantMoveEnd) -> None:
        """Unavailable unless each row of the part that the source reads is the same at the target."""
        digest = self._digests.setdefault(table.name, blake2b(digest_size=8))
        async for rows in self._batches(table, None):
            theirs = await target.find(table, [table.key_of(row) for row in rows])
            here, there = carried_values(table, rows), carried_values(table, theirs)
            if here != there:
                raise self._differs(table, len(here), len(there))
            digest.update(repr(here).encode())

    async def compare_count(self, table: StoredTable) -> None:
        """The same by the numbers of rows alone, for a table all parts of which were compared before."""
        here, there = await self._source.count(table), await self._target.count(table)
        if here != there:
            raise self._differs(table, here, there)
        self.sums[table.name] = TableSum(there, self._digests[table.name].hexdigest())

    def _differs(self, table: StoredTable, here: int, there: int) -> Unavailable:
        return Unavailable(
            f"{table.name} was not copied correctly: {here:,} rows of {self._source.name}"
            f" became {there:,}, or have another checksum. Cancel the move, and report this."
        )

    async def _batches(self, table: StoredTable, after: Row | None) -> AsyncIterator[list[Row]]:
        while rows := await self._source.read(table, after, BATCH):
            yield rows
            after = table.key_of(rows[-1])


async def sum_of(end: MoveEnd, table: StoredTable) -> TableSum:
    """The count and the checksum of a table at one end, without what each end numbers for itself."""
    count, digest, after = 0, blake2b(digest_size=8), None
    while rows := await end.read(table, after, BATCH):
        for row in carried_values(table, rows):
            digest.update(repr(row).encode())
        count += len(rows)
        after = table.key_of(rows[-1])
    return TableSum(count, digest.hexdigest())


def carried_values(table: StoredTable, rows: Sequence[Row]) -> list[list[object]]:
    """Rows by their key, without what each end numbers for itself."""
    carried = [place for place, column in enumerate(table.columns) if column not in table.numbered]
    return [[row[place] for place in carried] for row in rows]


async def check_secrets(source: MoveEnd, target: MoveEnd, tables: Sequence[StoredTable]) -> None:
    """Unavailable unless all secrets of the source can be opened, and sealed at the target."""
    for table in tables:
        if table.secret and (await sum_of(source, table)).rows:
            await target.check_sealing()


def check_same_tables(here: Sequence[StoredTable], there: Sequence[StoredTable]) -> None:
    """Conflict if two databases differ in the tables of a move."""
    if list(here) != list(there):
        differing = sorted({table.name for table in set(here) ^ set(there)})
        raise Conflict(f"The two databases differ in their tables: {', '.join(differing)}.")
