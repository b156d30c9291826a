"""What changes while somebody looks: told in short, together, and never more than a reader can bear."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.run import Run
from cadenza.operations.context import Dependencies

LOOK_EVERY_S = 1.0
"""Runs that end ring no bell; they are found by looking, if somebody wants to know."""
GATHERED_S = 0.25
"""What changes within a moment is told together."""
PAGE, MOST_PAGES = 500, 4
"""More runs than these are not read one by one: everything may have changed."""
MOST_ENDPOINTS = 500
REMEMBERED = 256


class ChangeSummary(NamedTuple):
    """What has changed: which endpoints had runs, how many, and whether something was steered."""

    endpoints: frozenset[str] = frozenset()
    runs: int = 0
    steered: bool = False
    reset: bool = False
    """Anything may have changed."""

    def with_(self, other: "ChangeSummary") -> "ChangeSummary":
        """Both together; too much is anything."""
        endpoints = self.endpoints | other.endpoints
        if self.reset or other.reset or len(endpoints) > MOST_ENDPOINTS:
            return EVERYTHING
        return ChangeSummary(endpoints, self.runs + other.runs, self.steered or other.steered)


NOTHING, EVERYTHING = ChangeSummary(), ChangeSummary(reset=True)


class ChangeNotice(NamedTuple):
    """News of one tenant, or of all, in the order in which they were found."""

    place: str
    """How a reader names it who comes back. It tells nobody how much was told to others."""
    tenant_id: str | None
    news: ChangeSummary

    def concerns(self, tenant_id: str) -> bool:
        """Is it for those who look at this tenant?"""
        return self.tenant_id in (None, tenant_id)


class ChangeReader:
    """Somebody who looks: what they have not been told yet is one piece of news, however long they take."""

    def __init__(self, tenant_id: str, untold: ChangeSummary) -> None:
        self.tenant_id = tenant_id
        self.place = ""
        """Where they are, for when they come back."""
        self._untold = untold
        self._woken = asyncio.Event()
        self._closed = False
        if untold != NOTHING:
            self._woken.set()

    def hand(self, issue: ChangeNotice) -> None:
        """Put news to those that wait, if they are for this reader."""
        if issue.concerns(self.tenant_id):
            self.place = issue.place
            self._untold = self._untold.with_(issue.news)
            self._woken.set()

    def close(self) -> None:
        """Tell no more."""
        self._closed = True
        self._woken.set()

    async def next(self, within_s: float) -> ChangeSummary | None:
        """What has changed since the last time; nothing, if nothing has within a while. None in the end."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), within_s)
            if not self._closed:
                await asyncio.sleep(GATHERED_S)
        self._woken.clear()
        news, self._untold = self._untold, NOTHING
        return None if self._closed else news


class LiveChanges:
    """Follows the store while there are readers, and tells each what concerns them."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._readers: set[ChangeReader] = set()
        self._following: asyncio.Task[None] | None = None
        self._told: deque[ChangeNotice] = deque(maxlen=REMEMBERED)
        self._mark: str | None = None

    @property
    def readers(self) -> int:
        """How many there are."""
        return len(self._readers)

    def readers_of(self, tenant_id: str) -> int:
        """How many of them look at one tenant."""
        return sum(reader.tenant_id == tenant_id for reader in self._readers)

    @asynccontextmanager
    async def reader(self, tenant_id: str, last_seen: str | None = None) -> AsyncIterator[ChangeReader]:
        """A new reader, who is told what came after what they last saw, or that it may be anything."""
        if self._following is None:
            self._begin()
        reader = ChangeReader(tenant_id, self._missed(tenant_id, last_seen))
        self._readers.add(reader)
        try:
            yield reader
        finally:
            self._readers.discard(reader)
            if not self._readers:
                await self._end()

    def close(self) -> None:
        """Send everybody home: the process wants to end."""
        for reader in self._readers:
            reader.close()

    def _begin(self) -> None:
        self._mark = None
        self._told.clear()
        self._following = asyncio.create_task(self._follow())

    async def _end(self) -> None:
        following, self._following = self._following, None
        if following is not None:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    def _missed(self, tenant_id: str, last_seen: str | None) -> ChangeSummary:
        """What came after the issue that was last seen; anything, if that is forgotten."""
        missed = NOTHING
        for issue in reversed(self._told):
            if issue.place == last_seen:
                return missed
            if issue.concerns(tenant_id):
                missed = missed.with_(issue.news)
        return EVERYTHING

    async def _follow(self) -> None:
        bell = self._dependencies.store.endpoints.listen()
        ringing = asyncio.create_task(bell.heard())
        lost = False
        try:
            while True:
                try:
                    await self._look()
                    if lost:
                        self._tell(None, EVERYTHING)
                    lost = False
                except Unavailable:
                    lost = True
                await asyncio.wait({ringing}, timeout=LOOK_EVERY_S)
                if ringing.done():
                    self._tell(None, ChangeSummary(steered=True))
                    await asyncio.sleep(GATHERED_S)
                    ringing = asyncio.create_task(bell.heard())
        finally:
            ringing.cancel()

    async def _look(self) -> None:
        """Tell which runs have ended since the last look."""
        store = self._dependencies.store
        for _ in range(MOST_PAGES):
            runs, mark = await store.analyses.ended_since(self._mark, PAGE)
            self._mark = mark
            self._tell_of(runs)
            if len(runs) < PAGE:
                return
        self._mark = None
        self._tell(None, EVERYTHING)

    def _tell_of(self, runs: Iterable[Run]) -> None:
        of_tenants: dict[str, list[str]] = {}
        for run in runs:
            of_tenants.setdefault(run.tenant_id, []).append(run.endpoint_id)
        for tenant_id, endpoints in of_tenants.items():
            self._tell(tenant_id, NOTHING.with_(ChangeSummary(frozenset(endpoints), len(endpoints))))

    def _tell(self, tenant_id: str | None, news: ChangeSummary) -> None:
        issue = ChangeNotice(self._dependencies.ids.new(), tenant_id, news)
        self._told.append(issue)
        for reader in self._readers:
            reader.hand(issue)
