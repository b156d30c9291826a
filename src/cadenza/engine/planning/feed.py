"""The feed of ended runs, followed from mark to mark, also across a restart."""

from collections import OrderedDict, deque
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.validation import iso
from cadenza.ports.clock import Clock
from cadenza.ports.planning import AnalysisStore

PAGE = 500
REMEMBERED = 20_000
"""So many runs are known to have come already."""
NOTES_OF = "analyst"
PLACE = EndpointKey("", "feed")
YOUNG = timedelta(hours=1)
KEPT_EVERY = timedelta(seconds=5)
RENEWED_EVERY = timedelta(minutes=15)
"""A mark that stays the same is kept anew, so that it is young when somebody needs it."""


class Fresh(NamedTuple):
    """Runs that were not told before, and whether there is more to read at once."""

    runs: list[Run]
    more: bool


class Feed:
    """Tells each run once, and keeps the mark up to which all is dealt with."""

    def __init__(self, *, store: AnalysisStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._cursor: str | None = None
        self._known: OrderedDict[str, None] = OrderedDict()
        self._pages: deque[tuple[int, str]] = deque()
        self._dealt_with: str | None = None
        self._is_behind = False
        """Is more dealt with than the kept mark says?"""
        self._kept_at = clock.now() - RENEWED_EVERY
        self.page = 0
        """The number of the page that was last read."""

    async def resume(self) -> None:
        """Go on where the last one was, unless that was long ago."""
        note: Any = (await self._store.notes(NOTES_OF, [PLACE])).get(PLACE)
        now = self._clock.now()
        if isinstance(note, dict) and abs(now - datetime.fromisoformat(note["at"])) < YOUNG:
            self._cursor = self._dealt_with = note["mark"]

    async def read(self) -> Fresh:
        """The next runs; after a restart some may come again."""
        runs, cursor = await self._store.ended_since(self._cursor, PAGE)
        fresh = [run for run in runs if run.id not in self._known]
        for run in fresh:
            self._known[run.id] = None
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        if fresh:
            self.page += 1
            self._pages.append((self.page, cursor))
        elif not self._pages:
            self._dealt_with = cursor
        self._cursor = cursor
        return Fresh(fresh, more=len(runs) == PAGE)

    async def keep(self, oldest_page: int | None) -> None:
        """Keep the mark of what is dealt with, once in a while; this page and all later ones are not yet."""
        dealt = False
        while self._pages and (oldest_page is None or self._pages[0][0] < oldest_page):
            _, self._dealt_with = self._pages.popleft()
            dealt = True
        self._is_behind |= dealt
        now = self._clock.now()
        if now - self._kept_at >= (KEPT_EVERY if self._is_behind else RENEWED_EVERY):
            note: Json = {"mark": self._dealt_with, "at": iso(now)}
            await self._store.save_notes(NOTES_OF, {PLACE: note}, now)
            self._is_behind, self._kept_at = False, now
