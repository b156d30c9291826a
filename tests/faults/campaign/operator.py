"""An operator: resumes what the scheduler has paused, if it was right to pause it, and brings all to rest."""

import asyncio
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count, takewhile

from tests.faults.campaign.caller import REFUSED, PersistentCaller
from tests.faults.campaign.load import HEALTHY, every

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.abandon import DEATHS_ALONE, given_up
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.ports.catalog import Page
from cadenza.ports.store import Store

ALL = Page(1_000_000)
LOOK_S = 0.2
EACH_S = 4.0
TIMEOUT_S = 240.0
SELDOM = every(864_000_000)
LONG = timedelta(hours=1)


class Operator:
    """Looks after the endpoints of a campaign."""

    def __init__(self, store: Store, caller: PersistentCaller) -> None:
        self._store = store
        self._caller = caller
        self._numbers = count()
        self.resumed: set[str] = set()
        """Endpoints that were paused because their processes died."""
        self.violations: list[str] = []

    async def look_after(self) -> None:
        """Resume what was paused, until cancelled."""
        while True:
            await asyncio.sleep(EACH_S)
            with suppress(Unavailable, OSError):
                await self.resume_paused()

    async def resume_paused(self) -> None:
        """Resume what the scheduler paused; it may pause only what died again and again."""
        for endpoint in await self._endpoints():
            if given_up(endpoint):
                runs = await self._store.runs.runs(endpoint.key)
                dead = list(takewhile(lambda run: run.status is RunStatus.ABANDONED, runs))
                if len(dead) < DEATHS_ALONE:
                    self.violations.append(f"{endpoint.id} is paused after {len(dead)} deaths in a row")
                self.resumed.add(endpoint.id)
                await self._resume(endpoint)

    async def come_to_rest(self) -> None:
        """Wait until what is healthy has run well; then let nothing come due, and wait for what is open."""
        began = datetime.now(UTC)
        await self._wait_until_empty("has not run well since the faults ended", began)
        for endpoint in await self._at_work():
            if not isinstance(endpoint.baseline, Once) and not isinstance(endpoint.target, PromptTarget):
                await self._ask(f"DELETE /v1/endpoints/{endpoint.id}/hints")
                await self._ask(f"PATCH /v1/endpoints/{endpoint.id}", {"baseline": SELDOM})
        await self._wait_until_empty("has not come to rest", None)

    async def _wait_until_empty(self, complaint: str, since: datetime | None) -> None:
        limit = time.monotonic() + TIMEOUT_S
        while True:
            await self.resume_paused()
            found = await (self._at_work() if since is None else self._without_success(since))
            if not found or time.monotonic() > limit:
                self.violations += [f"{one.id} {complaint}" for one in found]
                return
            await asyncio.sleep(LOOK_S)

    async def _at_work(self) -> list[Endpoint]:
        soon = datetime.now(UTC) + LONG
        return [
            one
            for one in await self._endpoints()
            if one.lease
            or one.open_slot
            or one.requested
            or (one.next_run_at is not None and one.next_run_at < soon)
        ]

    async def _without_success(self, since: datetime) -> list[Endpoint]:
        found = []
        for one in await self._endpoints():
            if one.id.startswith(HEALTHY) and not isinstance(one.baseline, Once):
                ended = await self._store.runs.ended(one.key, since=since, limit=50)
                if not any(run.status is RunStatus.SUCCESS for run in ended):
                    found.append(one)
        return found

    async def _endpoints(self) -> list[Endpoint]:
        return await self._store.catalog.find("default", page=ALL)

    async def _resume(self, endpoint: Endpoint) -> None:
        if isinstance(endpoint.target, PromptTarget):
            await self._ask(f"POST /v1/schedules/{endpoint.id}/resume", {})
        else:
            await self._ask(f"POST /v1/endpoints/{endpoint.id}/tools/pause_until", {"untilIso": None})

    async def _ask(self, request: str, body: dict[str, object] | None = None) -> None:
        answer = await self._caller.ask(request, body, key=f"operator-{next(self._numbers)}")
        if answer.status >= REFUSED:
            self.violations.append(f"{request} of the operator was refused: {answer.body.decode()}")
