"""Live changes for event streams: summarized, combined, and bounded for slow readers."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.run import Run
from cadenza.operations.context import Dependencies

POLL_S = 1.0
"""Ended runs are found by polling, while there are readers."""
COMBINED_S = 0.25
"""Changes within this time are combined."""
PAGE, MOST_PAGES = 500, 20
"""How many runs are read at a time; what is left is read the next time."""
MOST_ENDPOINTS = 500
NOTICES_KEPT = 256


class ChangeSummary(NamedTuple):
    """What has changed: endpoints with ended runs, how many, and whether something was steered."""

    endpoints: frozenset[str] = frozenset()
    runs: int = 0
    steered: bool = False
    reset: bool = False
    """Anything may have changed."""

    def combined(self, other: "ChangeSummary") -> "ChangeSummary":
        """Both summaries in one; with too many endpoints, everything may have changed."""
        endpoints = self.endpoints | other.endpoints
        if self.reset or other.reset or len(endpoints) > MOST_ENDPOINTS:
            return EVERYTHING
        return ChangeSummary(endpoints, self.runs + other.runs, self.steered or other.steered)


NOTHING, EVERYTHING = ChangeSummary(), ChangeSummary(reset=True)


class ChangeNotice(NamedTuple):
    """A change of one tenant."""

    id: str
    """The random id with which a reader resumes; it reveals nothing about other tenants."""
    summary: ChangeSummary


class ChangeReader:
    """One reader: its unread changes are combined into one summary, however slow it is."""

    def __init__(self, tenant_id: str, unread: ChangeSummary) -> None:
        self.tenant_id = tenant_id
        self.last_id = ""
        """The id of its last notice, to resume from."""
        self._unread = unread
        self._wakeup = asyncio.Event()
        self._closed = False
        if unread != NOTHING:
            self._wakeup.set()

    def add(self, notice: ChangeNotice) -> None:
        """Add a notice of the reader's tenant to the unread summary."""
        self.last_id = notice.id
        self._unread = self._unread.combined(notice.summary)
        self._wakeup.set()

    def close(self) -> None:
        """End the stream."""
        self._closed = True
        self._wakeup.set()

    async def next(self, within_s: float) -> ChangeSummary | None:
        """The changes since the last call; empty after `within_s` without any, None when closed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._wakeup.wait()
            if not self._closed:
                await asyncio.sleep(COMBINED_S)
        self._wakeup.clear()
        summary, self._unread = self._unread, NOTHING
        return None if self._closed else summary


class LiveChanges:
    """Polls the store while there are readers, and gives each the changes of its tenant."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._readers: set[ChangeReader] = set()
        self._polling: asyncio.Task[None] | None = None
        self._notices: dict[str, deque[ChangeNotice]] = {}
        """The last notices of each tenant that has had readers."""
        self._mark: str | None = None

    @property
    def readers(self) -> int:
        """The number of readers."""
        return len(self._readers)

    def readers_of(self, tenant_id: str) -> int:
        """The number of readers of one tenant."""
        return sum(reader.tenant_id == tenant_id for reader in self._readers)

    @asynccontextmanager
    async def reader(self, tenant_id: str, last_seen: str | None = None) -> AsyncIterator[ChangeReader]:
        """A new reader; with `last_seen` it gets the changes since then, or EVERYTHING."""
        if self._polling is None:
            self._begin()
        notices = self._notices.setdefault(tenant_id, deque(maxlen=NOTICES_KEPT))
        reader = ChangeReader(tenant_id, _changes_since(notices, last_seen))
        self._readers.add(reader)
        try:
            yield reader
        finally:
            self._readers.discard(reader)
            if not self._readers:
                await self._end()

    def close(self) -> None:
        """Close all readers, since the process stops."""
        for reader in self._readers:
            reader.close()

    def _begin(self) -> None:
        self._mark = None
        self._notices.clear()
        self._polling = asyncio.create_task(self._follow())

    async def _end(self) -> None:
        polling, self._polling = self._polling, None
        if polling is not None:
            polling.cancel()
            await asyncio.gather(polling, return_exceptions=True)

    async def _follow(self) -> None:
        """Follow steering beside ended runs: what one tenant does must not time the events of another."""
        await asyncio.gather(self._follow_steering(), self._poll_runs())

    async def _follow_steering(self) -> None:
        wakeup = self._dependencies.store.endpoints.listen()
        while True:
            tenants = await wakeup.wait()
            for tenant_id in (None,) if tenants is None else tenants:
                self._publish(tenant_id, ChangeSummary(steered=True))

    async def _poll_runs(self) -> None:
        unavailable = False
        while True:
            try:
                await self._read_ended_runs()
                if unavailable:
                    self._publish(None, EVERYTHING)
                unavailable = False
            except Unavailable:
                unavailable = True
            await asyncio.sleep(POLL_S)

    async def _read_ended_runs(self) -> None:
        """Publish the runs that have ended since the last call."""
        store = self._dependencies.store
        for _ in range(MOST_PAGES):
            runs, self._mark = await store.analyses.ended_since(self._mark, PAGE)
            self._publish_runs(runs)
            if len(runs) < PAGE:
                return

    def _publish_runs(self, runs: Iterable[Run]) -> None:
        of_tenants: dict[str, list[str]] = {}
        for run in runs:
            of_tenants.setdefault(run.tenant_id, []).append(run.endpoint_id)
        for tenant_id, endpoints in of_tenants.items():
            self._publish(tenant_id, NOTHING.combined(ChangeSummary(frozenset(endpoints), len(endpoints))))

    def _publish(self, tenant_id: str | None, summary: ChangeSummary) -> None:
        """Tell the readers of a tenant, or of all, and keep it for those who come back."""
        for reading in list(self._notices) if tenant_id is None else {tenant_id} & self._notices.keys():
            notice = ChangeNotice(self._dependencies.token_generator.secret(), summary)
            self._notices[reading].append(notice)
            for reader in self._readers:
                if reader.tenant_id == reading:
                    reader.add(notice)


def _changes_since(notices: deque[ChangeNotice], last_seen: str | None) -> ChangeSummary:
    """The changes since a notice; everything, if that notice is no longer kept."""
    missed = NOTHING
    for notice in reversed(notices):
        if notice.id == last_seen:
            return missed
        missed = missed.combined(notice.summary)
    return EVERYTHING
