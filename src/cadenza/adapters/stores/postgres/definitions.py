"""What owners wrote, as it was read last, so that it need not be read at every claim."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from cadenza.adapters.stores.postgres.arrays import arrays, given
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.reading import as_it_is
from cadenza.adapters.stores.sql.definition import LONGEST_REMEMBERED
from cadenza.adapters.stores.sql.rows import OWNED, STEERING, Row, read_owned, read_steering

Fields = dict[str, Any]
Key = tuple[str, str]
Claimed = tuple[str, str, int]
"""An endpoint's key, and its version when it was claimed."""
DEFINITION = OWNED.index("definition")
MOST = 32_768
UNSTEERED = read_steering([None] * len(STEERING), as_it_is)
CLAIMABLE = UNSTEERED | {"enabled": True, "archived": False, "job_active": True}
"""What is claimed has open gates, and is nearly never steered."""

READ_OWNED = f"""
SELECT {", ".join(f"e.{column}" for column in OWNED)}, s.version
FROM {given("g", "tenant_id", "endpoint_id")}
JOIN endpoint_states s ON s.tenant_id = g.tenant_id AND s.endpoint_id = g.endpoint_id
JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id
"""


class Definitions:
    """Of endpoints that were claimed here: their fields, as they are unless somebody steers.

    Whoever changes a definition changes the version of its endpoint too, so one of the same version is
    as it was read.
    """

    def __init__(self, pool: PostgresPool, most: int = MOST) -> None:
        self._pool = pool
        self._most = most
        self._read: dict[Key, tuple[int, Fields]] = {}

    async def of(self, claimed: Sequence[Claimed]) -> list[Fields | None]:
        """The fields of endpoints with these keys and versions; None for one that is gone."""
        found = [self._known(*one) for one in claimed]
        unknown = [one[:2] for one, fields in zip(claimed, found, strict=True) if fields is None]
        if not unknown:
            return found
        read = self._keep(await self._pool.ask(READ_OWNED, *arrays(unknown)))
        return [fields or read.get(one[:2]) for one, fields in zip(claimed, found, strict=True)]

    def _known(self, tenant_id: str, endpoint_id: str, version: int) -> Fields | None:
        known = self._read.get((tenant_id, endpoint_id))
        return known[1] if known is not None and known[0] == version else None

    def _keep(self, rows: Sequence[Row]) -> dict[Key, Fields]:
        """Remember what was read, unless it is long; when it is too much, the oldest is forgotten."""
        read = {(row[0], row[1]): read_owned(row[:-1]) | CLAIMABLE for row in rows}
        short = [row for row in rows if len(row[DEFINITION]) <= LONGEST_REMEMBERED]
        self._read |= {(row[0], row[1]): (row[-1], read[row[0], row[1]]) for row in short}
        for key in list(islice(self._read, max(0, len(self._read) - self._most))):
            del self._read[key]
        return read
