"""Reads the feed of ended runs, and saves its cursor so that a restart continues there."""

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
MOST_SEEN_IDS = 20_000
"""How many run ids are remembered to skip duplicates."""
NOTES_OWNER = "analyst"
FEED_KEY = EndpointKey("", "feed")
MAX_CURSOR_AGE = timedelta(hours=1)
SAVE_EVERY = timedelta(seconds=5)
REFRESH_EVERY = timedelta(minutes=15)
"""How often an unchanged cursor is saved again, so that it does not become too old to resume from."""


class NewRuns(NamedTuple):
    """Runs that were not returned before, and whether there are more to read at once."""

    runs: list[Run]
    more: bool


class RunFeed:
    """Returns each run once, and saves the cursor up to which all runs are processed."""

    def __init__(
        self, *, store: AnalysisStore, clock: Clock, resume_within: timedelta = MAX_CURSOR_AGE
    ) -> None:
        self._store = store
        self._clock = clock
        self._resume_within = resume_within
        self._cursor: str | None = None
        self._seen_ids: OrderedDict[str, None] = OrderedDict()
        self._pages: deque[tuple[int, str]] = deque()
        self._done_cursor: str | None = None
        self.has_unsaved_progress = False
        """Whether more is processed than the saved cursor says."""
        self._saved_at = clock.now() - REFRESH_EVERY
        self.page = 0
        """The number of the last page that had new runs."""

    async def resume(self) -> None:
        """Continue from the saved cursor, unless it is too old."""
        note: Any = (await self._store.notes(NOTES_OWNER, [FEED_KEY])).get(FEED_KEY)
        now = self._clock.now()
        if isinstance(note, dict) and abs(now - datetime.fromisoformat(note["at"])) < self._resume_within:
            self._cursor = self._done_cursor = note["mark"]

    async def read(self) -> NewRuns:
        """The next new runs; after a restart some may be returned again."""
        runs, cursor = await self._store.ended_since(self._cursor, PAGE)
        fresh = [run for run in runs if run.id not in self._seen_ids]
        for run in fresh:
            self._seen_ids[run.id] = None
        while len(self._seen_ids) > MOST_SEEN_IDS:
            self._seen_ids.popitem(last=False)
        if fresh:
            self.page += 1
            self._pages.append((self.page, cursor))
        elif not self._pages:
            self._done_cursor = cursor
        self._cursor = cursor
        return NewRuns(fresh, more=len(runs) == PAGE)

    async def save_cursor(self, oldest_page: int | None) -> None:
        """Save the cursor from time to time; `oldest_page` and all later ones are not processed yet."""
        has_progress = False
        while self._pages and (oldest_page is None or self._pages[0][0] < oldest_page):
            _, self._done_cursor = self._pages.popleft()
            has_progress = True
        self.has_unsaved_progress |= has_progress
        now = self._clock.now()
        if now - self._saved_at >= (SAVE_EVERY if self.has_unsaved_progress else REFRESH_EVERY):
            note: Json = {"mark": self._done_cursor, "at": iso(now)}
            await self._store.save_notes(NOTES_OWNER, {FEED_KEY: note}, now)
            self.has_unsaved_progress, self._saved_at = False, now
