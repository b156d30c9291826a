"""Starts suspects again apart from each other, so that one which ends its process can be told."""

import asyncio
from collections.abc import Callable
from datetime import datetime

from cadenza.domain.scheduling.abandon import DEATHS_ALONE, Trial, trial_of
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import first_of
from cadenza.engine.worker.claim import Claimer
from cadenza.engine.worker.held_claims import HeldClaims
from cadenza.engine.worker.places import few_places
from cadenza.engine.worker.start import Starter
from cadenza.engine.worker.worker_settings import WorkerSettings
from cadenza.ports.clock import Clock

TRIAL_MS = 10_000
"""How long a suspect is kept apart from others; one that runs longer goes on beside them."""
SWEEPS = 3
"""There are new suspects after a sweep, of which there are so many in the length of a lease."""
QUIET_AGAIN_MS = 60_000
"""How long others go on after a last trial without a claim: a limit may hold the suspect back."""
ALL_PLACES = 2**31
FEW, ALONE, QUIET = Trial


class SuspectTrials:
    """Claims suspects: few at a time, then one at a time, at last one while nothing else runs."""

    def __init__(
        self,
        *,
        claimer: Claimer,
        starter: Starter,
        held: HeldClaims,
        clock: Clock,
        stopped: asyncio.Event,
        on_capacity: Callable[[], None],
        settings: WorkerSettings,
    ) -> None:
        self._claimer = claimer
        self._starter = starter
        self._held = held
        self._clock = clock
        self._stopped = stopped
        self._on_capacity = on_capacity
        self._concurrency = settings.concurrency
        self._few = few_places(settings.concurrency)
        self._poll_ms = settings.poll_ms
        self._sweep_ms = settings.lease_ms / SWEEPS
        self._began_at, self._young = clock.now(), milliseconds(settings.lease_ms) / 2
        """A process that ends soon after its start says little about a run, so none is tried alone before."""
        self._on_trial: dict[str, tuple[Trial, datetime]] = {}
        self._alone_next = True
        self._held_back_at: datetime | None = None
        """When there was nothing to claim for a last trial, though something was due."""
        self._wake, self._changed = asyncio.Event(), asyncio.Event()
        self.places_kept = 0
        """How many places are kept free for suspects."""
        self.are_tried = False
        """Whether suspects are tried, or due."""

    def wake(self) -> None:
        """Look now."""
        self._wake.set()

    def note_change(self) -> None:
        """Something was stored, perhaps a sweep of another process: look, but not at every change."""
        self._changed.set()

    def look_again(self) -> None:
        """Claims are no longer held: go on if one of them was on trial."""
        if self._on_trial and not all(run_id in self._held for run_id in self._on_trial):
            self._wake.set()

    async def trial_pass(self) -> None:
        """Claim suspects that may be tried now, and sleep until a trial is over, a change, or the poll."""
        self._wake.clear()
        self._changed.clear()
        due = await self._claimer.any_suspect_due(*Trial)
        self.are_tried = due or bool(self._trials())
        if due:
            await self._try()
            await self._sleep(self._poll_ms)
        else:
            self._keep(0)
            await self._sleep(self._sweep_ms)
            await first_of(self._clock.sleep(self._poll_ms), self._wake.wait(), self._changed.wait())

    async def _try(self) -> None:
        trials = self._trials()
        if any(trial is not FEW for trial in trials):
            return
        is_warm = abs(self._clock.now() - self._began_at) >= self._young
        if self._alone_next and is_warm and await self._claimer.any_suspect_due(ALONE, QUIET):
            if not trials:
                self._alone_next = False
                if not await self._claim(1, ALONE) and await self._may_try_quietly():
                    await self._try_quietly()
            return
        self._alone_next = True
        await self._claim(self._few - len(trials), FEW)

    async def _may_try_quietly(self) -> bool:
        held_at, now = self._held_back_at, self._clock.now()
        if held_at is not None and abs(now - held_at) < milliseconds(QUIET_AGAIN_MS):
            return False
        return await self._claimer.any_suspect_due(QUIET)

    async def _try_quietly(self) -> None:
        """Let the process come to rest, then try one; others wait meanwhile, but not for long."""
        self._keep(ALL_PLACES)
        try:
            await first_of(self._held.empty.wait(), self._clock.sleep(TRIAL_MS), self._stopped.wait())
            claims, has_places = await self._claim(1, QUIET), len(self._held) < self._concurrency
            self._held_back_at = self._clock.now() if has_places and not claims else None
            for claim in claims:
                await first_of(self._ended(claim.run_id), self._clock.sleep(quiet_ms(claim)))
        finally:
            self._keep(0)

    async def _claim(self, limit: int, trial: Trial) -> list[Claim]:
        free = self._concurrency - len(self._held)
        if limit < 1 or self._stopped.is_set():
            return []
        if free < 1:
            self._keep(1)
            return []
        claims = await self._claimer.claim_suspects(min(limit, free), trial)
        self._on_trial |= {claim.run_id: (trial_of(claim.endpoint), self._clock.now()) for claim in claims}
        if self._stopped.is_set():
            self._starter.hold(claims)
            return []
        await self._starter.take(claims)
        return claims

    def _trials(self) -> list[Trial]:
        """The trials that go on."""
        now = self._clock.now()
        self._on_trial = {
            run_id: (trial, began)
            for run_id, (trial, began) in self._on_trial.items()
            if run_id in self._held and abs(now - began) < milliseconds(TRIAL_MS)
        }
        return [trial for trial, _ in self._on_trial.values()]

    async def _ended(self, run_id: str) -> None:
        while run_id in self._held and not self._stopped.is_set():
            self._wake.clear()
            await self._wake.wait()

    async def _sleep(self, span_ms: float) -> None:
        await first_of(self._clock.sleep(span_ms), self._wake.wait())

    def _keep(self, places: int) -> None:
        if places != self.places_kept:
            self.places_kept = places
            self._on_capacity()


def quiet_ms(claim: Claim) -> int:
    """How long nothing else runs beside a suspect: longer each time that was not enough to tell."""
    return TRIAL_MS << max(0, claim.endpoint.abandoned_alone_count - DEATHS_ALONE + 1)
