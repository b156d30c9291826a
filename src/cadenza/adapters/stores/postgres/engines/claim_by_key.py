"""A claim in three plain statements of one transaction: choose, lock, lease."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from cadenza.adapters.stores.postgres.claim_statements import (
    BY_KEY,
    CLAIMED,
    CLAIMED_COLUMNS,
    LEASED,
    choice,
)
from cadenza.adapters.stores.postgres.cycle_statements import SAME
from cadenza.adapters.stores.postgres.pool import Connection
from cadenza.adapters.stores.sql.given_rows import columns_of, parameter_table
from cadenza.adapters.stores.sql.rows import Row

PARAMETER = re.compile(r"\$(\d+)")
KEYS = parameter_table("g", "tenant_id", "endpoint_id", first=2)
LOCK_DUE = f"""
SELECT s.tenant_id, s.endpoint_id FROM {KEYS} JOIN endpoint_states s ON {SAME} WHERE s.claimable_at <= $1
ORDER BY s.tenant_id, s.endpoint_id FOR UPDATE OF s SKIP LOCKED
"""
"""Lock those that are still due and that nobody else has locked."""
LEASE_AT = f"""
UPDATE endpoint_states s SET {LEASED}
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS c (tenant_id, endpoint_id, place)
WHERE {BY_KEY.same.format("c")}
RETURNING s.tenant_id, s.endpoint_id, s.version, {{}} AS row, {CLAIMED}
"""
LEASE = LEASE_AT.format("0")
ADD_LEASE = "INSERT INTO leases (token, until, holder) VALUES ($1, $2, $3)"
NOTHING = (None,) * len(CLAIMED_COLUMNS)


class ChoosingStatement(NamedTuple):
    """A statement that chooses, and which parameters of a claim it takes."""

    text: str
    takes: tuple[int, ...]


@cache
def choice_of(bound: int, *, within_bounds: bool) -> ChoosingStatement:
    """The statement with its parameters numbered without gaps: one that is not used has no type."""
    text = choice(bound, within_bounds=within_bounds)
    takes = sorted({int(number) for number in PARAMETER.findall(text)})
    numbered = PARAMETER.sub(lambda found: f"${takes.index(int(found[1])) + 1}", text)
    return ChoosingStatement(numbered, tuple(number - 1 for number in takes))


async def claim_by_key(
    connection: Connection, *, bound: int, within_bounds: bool, parameters: Sequence[Any]
) -> list[Row]:
    """Lease what is due, for the parameters and with the answer of a claim in one statement.

    Several workers may choose the same; each row goes to the one that locks it first, and the others get
    less than they asked for.
    """
    choosing = choice_of(bound, within_bounds=within_bounds)
    chosen = await connection.fetch(choosing.text, *(parameters[place] for place in choosing.takes))
    horizon, _, token, until, run_ids, now = parameters[:6]
    last_served, holder = chosen[0][-1], parameters[11]
    keys = [(row[0], row[1]) for row in chosen if row[0] is not None]
    if not keys:
        return [(*NOTHING, last_served)]
    locked = {(row[0], row[1]) for row in await connection.fetch(LOCK_DUE, horizon, *columns_of(keys))}
    taken = [key for key in keys if key in locked]
    if not taken:
        return [(*NOTHING, last_served)]
    rows = await connection.fetch(LEASE, *columns_of(taken), token, until, run_ids, now)
    await connection.execute(ADD_LEASE, token, until, holder)
    in_order = sorted(rows, key=lambda row: row[CLAIMED_COLUMNS.index("place")])
    return [(*row, last_served) for row in in_order]
