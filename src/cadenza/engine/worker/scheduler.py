"""A tick: claim what is due, run it, settle it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.scheduling.due import Cancel, Recheck, Start, Wait, recheck
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Claim, Completion, Outcome, RunStatus
from cadenza.domain.scheduling.settle import Settled
from cadenza.domain.validation import milliseconds
from cadenza.engine.worker.events import Telling
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.settler import RaiseFor, Settler
from cadenza.ports.access import QuotaAnswer
from cadenza.ports.clock import Clock, Cron
from cadenza.ports.store import EndpointStore
from cadenza.ports.telemetry import Logger, Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSettings:
    """How much a scheduler takes on, and for how long."""

    claim_limit: int = 50
    concurrency: int = 50
    within_ms: int = 0
    lease_ms: int = 60_000


DEFAULTS = SchedulerSettings()
HeldUntil = Mapping[str, datetime]
"""By run id: until when a claim is held beyond its moment."""
NOT_HELD: HeldUntil = {}


class Started(NamedTuple):
    """Claims that waited for their moment, after a second look."""

    ready: list[Claim]
    waiting: list[Claim]
    cancelled: list[Completion]


class Scheduler:
    """Moves claims through the corridor: claim, dispatch, finalize; two commits a batch."""

    def __init__(
        self,
        *,
        store: EndpointStore,
        executor: Executor,
        clock: Clock,
        cron: Cron,
        telemetry: Telemetry,
        log: Logger,
        settings: SchedulerSettings = DEFAULTS,
        alerts: RaiseFor | None = None,
    ) -> None:
        self._store = store
        self._executor = executor
        self._clock = clock
        self._settler = Settler(clock=clock, cron=cron, log=log, alerts=alerts)
        self.telling = Telling(telemetry, log)
        self._log = log
        self.settings = settings

    async def tick(self) -> list[Settled]:
        """Run everything that is due, once, and come back when it is settled."""
        began = self._clock.now()
        claims = await self.claim(self.settings.claim_limit)
        settled = await self.finalize(await self._execute(claims))
        took = (self._clock.now() - began) / milliseconds(1)
        self.telling.ticked(took, len(claims))
        return settled

    async def claim(self, limit: int) -> list[Claim]:
        """Lease what is due, or nearly so."""
        now = self._clock.now()
        return await self._store.claim_due(
            now=now,
            within=milliseconds(self.settings.within_ms),
            lease_until=now + milliseconds(self.settings.lease_ms),
            limit=limit,
        )

    async def renew(self, claims: Sequence[Claim], until: datetime) -> set[str]:
        """Hold on to claims for longer; the run ids that are still held."""
        return await self._store.renew(claims, until)

    async def start(self, waiting: Sequence[Claim], held_until: HeldUntil = NOT_HELD) -> Started:
        """Look again at claims whose moment may have come; those held for longer go on waiting.

        What was moved since is no longer held. A lost lease is nobody's business here.
        """
        now = self._clock.now()

        def decide(endpoint: Endpoint, claim: Claim) -> Recheck:
            answer = recheck(endpoint, claim, now)
            moved = (answer.claim.due_at, answer.claim.source) != (claim.due_at, claim.source)
            if isinstance(answer, Start) and not moved and held_until.get(claim.run_id, now) > now:
                return Wait(claim)
            return answer

        answers = await self._store.start(waiting, decide)
        return Started(
            ready=[answer.claim for answer in answers if isinstance(answer, Start)],
            waiting=[answer.claim for answer in answers if isinstance(answer, Wait)],
            cancelled=[
                Completion(answer.claim, Outcome(RunStatus.CANCELLED, reason=answer.reason), now)
                for answer in answers
                if isinstance(answer, Cancel)
            ],
        )

    async def finalize(self, completions: Sequence[Completion]) -> list[Settled]:
        """Settle fresh rows in one commit; what lost its lease is logged and left alone."""
        if not completions:
            return []
        answers = await self._store.finalize(completions, self._settler)
        settled = []
        for completion, answer in zip(completions, answers, strict=True):
            if answer is None:
                self._log.warning("a lease was lost before its run was settled", **_facts(completion))
                continue
            settled.append(answer)
            self.telling.settled(answer, completion.claim.endpoint.failure_count)
        return settled

    async def _execute(self, claims: Sequence[Claim]) -> list[Completion]:
        """Run claims side by side, each when its moment has come, as many at a time as the settings allow."""
        gate = asyncio.Semaphore(self.settings.concurrency)
        waiting = [claim for claim in claims if claim.started_at is None]
        completions: list[Completion] = []
        runs: list[asyncio.Task[Completion]] = []
        try:
            runs += await self._launch([claim for claim in claims if claim.started_at is not None], gate)
            while waiting:
                await self._until(min(claim.due_at for claim in waiting))
                ready, waiting, cancelled = await self.start(waiting)
                completions += cancelled
                runs += await self._launch(ready, gate)
            return completions + await asyncio.gather(*runs)
        finally:
            for run in runs:
                run.cancel()
            await asyncio.gather(*runs, return_exceptions=True)

    async def _launch(
        self, claims: Sequence[Claim], gate: asyncio.Semaphore
    ) -> list["asyncio.Task[Completion]"]:
        answers = await self._executor.admit(claims)

        async def bounded(claim: Claim, answer: QuotaAnswer) -> Completion:
            async with gate:
                return await self._executor.execute(claim, answer)

        return [asyncio.create_task(bounded(*one)) for one in zip(claims, answers, strict=True)]

    async def _until(self, moment: datetime) -> None:
        await asyncio.sleep(0)  # What was launched begins before time moves on.
        await self._clock.sleep(max(0.0, (moment - self._clock.now()) / milliseconds(1)))


def _facts(completion: Completion) -> dict[str, object]:
    return {"endpoint_id": completion.claim.endpoint.id, "run_id": completion.claim.run_id}
