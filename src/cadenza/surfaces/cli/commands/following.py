"""Runs as they end, for as long as somebody watches."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from cadenza.domain.validation import iso
from cadenza.surfaces.cli.connection import Asker
from cadenza.surfaces.cli.output.formatting import Item

EVERY_S = 1.0
PAGE = 500
OVERLAP = timedelta(seconds=5)
"""Runs that ended at almost the same time may be committed in another order."""

Tell = Callable[[Item], bool]


async def follow(asker: Asker, given: Mapping[str, Any], tell: Tell) -> None:
    """Tell each run once, when it has ended, until nobody listens."""
    watch = Watch(asker, given)
    if "since" not in given:
        await watch.fresh()
    while True:
        for run in await watch.fresh():
            if not tell(run):
                return
        await asyncio.sleep(EVERY_S)


class Watch:
    """Looks again and again, and remembers what it saw: by the runs' own times, as clocks may differ."""

    def __init__(self, asker: Asker, given: Mapping[str, Any]) -> None:
        self._asker = asker
        self._given = given
        self._seen: dict[str, datetime] = {}

    async def fresh(self) -> list[Item]:
        """What ended since the last look, in the order in which it ended."""
        found = {run["id"]: run for run in await self._newest() if run["id"] not in self._seen}
        self._seen |= {name: datetime.fromisoformat(run["finished_at"]) for name, run in found.items()}
        if self._seen:
            begin = self._begin()
            self._seen = {name: ended for name, ended in self._seen.items() if ended >= begin}
        return sorted(found.values(), key=lambda run: run["finished_at"])

    def _begin(self) -> datetime:
        return max(self._seen.values()) - OVERLAP

    async def _newest(self) -> list[Item]:
        given = {**self._given, **({"since": iso(self._begin())} if self._seen else {}), "limit": PAGE}
        found: list[Item] = []
        while True:
            page = await self._asker.ask("list_runs", given)
            found += page["items"]
            # A page that is not full has looked back far enough for runs that ended just now.
            if len(page["items"]) < PAGE or page["next_cursor"] is None or not self._seen:
                return found
            given["cursor"] = page["next_cursor"]
