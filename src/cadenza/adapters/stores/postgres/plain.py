"""Closing a batch of ordinary runs with one narrow statement, which also counts them."""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

from cadenza.adapters.stores.postgres.arrays import SEPARATOR, arrays, arrays_or_shared
from cadenza.adapters.stores.postgres.cycle_statements import COUNTS, SETTLE_PLAIN, TOLD
from cadenza.adapters.stores.postgres.pool import Connection
from cadenza.adapters.stores.sql.ordinary_run import is_plain
from cadenza.adapters.stores.sql.rows import document, storable
from cadenza.domain.access.tenant import charges
from cadenza.domain.scheduling.run import Completion, Run
from cadenza.domain.scheduling.settle import Settled

Column = Sequence[Any]
NOWHERE = "(0,0)"
KEY = itemgetter(Run._fields.index("tenant_id"), Run._fields.index("endpoint_id"))


def all_plain(completions: Iterable[Completion], settled: Iterable[Settled]) -> bool:
    """Is this a batch for the narrow statement?"""
    return all(
        not one.skipped and is_plain(completion.claim, one.endpoint)
        for completion, one in zip(completions, settled, strict=True)
    )


async def settle_plain(
    connection: Connection, completions: Sequence[Completion], settled: Sequence[Settled]
) -> bool:
    """Write it all; False, and then nothing may be kept, if anything was steered or its lease was lost."""
    charged = charges(settled)
    assert charged, "what ran is charged"
    rows = await connection.fetch(SETTLE_PLAIN, *arrays(charged), *_parameters(completions, settled))
    return bool(rows[0][0] == len(settled))


def _parameters(completions: Sequence[Completion], settled: Sequence[Settled]) -> list[Any]:
    """The columns `PLAIN`, in the order of the keys: everybody locks rows in this order."""
    claims = [completion.claim for completion in completions]
    rows = sorted(zip(settled, claims, strict=True), key=lambda row: KEY(row[0].run))
    told, after = _told([one.run for one, _ in rows]), [one.endpoint for one, _ in rows]
    places = [str(claim.place or NOWHERE) for _, claim in rows]
    columns = [
        [claim.version for _, claim in rows],
        *(told[field] for field in TOLD),
        [endpoint.next_run_at for endpoint in after],
        [endpoint.next_source._value_ for endpoint in after],
        *([getattr(endpoint, count) for endpoint in after] for count in COUNTS),
    ]
    return [SEPARATOR.join(told["id"]), None, SEPARATOR.join(places), None, *arrays_or_shared(columns)]


def _told(runs: Sequence[Run]) -> dict[str, Column]:
    """The columns of runs, by their fields."""
    told: dict[str, Column] = dict(zip(Run._fields, zip(*runs, strict=True), strict=True))
    return told | {
        "status": [status._value_ for status in told["status"]],
        "error": _written(told["error"], storable),
        "reason": _written(told["reason"], storable),
        "response": _written(told["response"], document),
    }


def _written(column: Column, write: Callable[[Any], Any]) -> Column:
    if column.count(None) == len(column):
        return column
    return [None if value is None else write(value) for value in column]
