"""The feed of ended runs: by the transactions that added them, so that none is missed."""

from typing import NamedTuple, Self

from cadenza.adapters.stores.postgres import analysis_statements as sql
from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.rows import read_run
from cadenza.domain.scheduling.run import Run
from cadenza.ports.planning import EndedRuns

MOST_REPEATED = 20_000
"""While a transaction stays under way, so many runs are told again; then it is waited for no more."""
PARTS = 5


class FeedCursor(NamedTuple):
    """How far a reader has come.

    Transactions end in another order than they begin in. So a reader goes round: from
    the first one that was under way when its last round began, page by page, to the
    newest run. What lies beyond that one is told again in the next round.
    """

    begin: int
    """Everything before this transaction was told."""
    settled: int = 0
    """When this round began, this was the first transaction under way."""
    txid: int = 0
    run_id: str = ""
    """The last run of this round that was told."""
    told: int = 0
    """How many they were."""

    def __str__(self) -> str:
        return f"{self.begin}:{self.settled}:{self.txid}:{self.told}:{self.run_id}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The cursor that a text spells, if it is one."""
        parts = text.split(":", PARTS - 1)
        if len(parts) < PARTS or not all(part.isdecimal() for part in parts[:-1]):
            return None
        begin, settled, txid, told = map(int, parts[:-1])
        return cls(begin, settled, txid, parts[-1], told)

    def after(self, runs: list[Run], txid: int, *, full: bool) -> "FeedCursor":
        """The cursor after a page of runs, the last of them from this transaction."""
        told = self.told + len(runs)
        if full:
            return self._replace(txid=txid, run_id=runs[-1].id, told=told)
        stuck = self.settled <= self.begin and told > MOST_REPEATED
        return FeedCursor(txid if stuck else max(self.settled, self.begin))


async def ended_since(pool: PostgresPool, text: str | None, limit: int) -> EndedRuns:
    """Runs that were added since a cursor."""
    cursor = None if text is None else FeedCursor.read(text)
    rows = await pool.ask(
        sql.ENDED, *((cursor.txid or cursor.begin, cursor.run_id, limit) if cursor else (0, "", 0))
    )
    settled, to_come = rows[0][:2]
    if cursor is None or cursor.begin > to_come:  # A cursor of the future is of another server.
        return EndedRuns([], str(FeedCursor(settled)))
    if not cursor.told:
        cursor = cursor._replace(settled=settled)
    found = [row for row in rows if row[-1] is not None]
    runs = [read_run((*row[2:-1], None), as_it_is) for row in found]
    last = found[-1][-1] if found else cursor.txid
    return EndedRuns(runs, str(cursor.after(runs, last, full=len(runs) == limit)))
