"""The claims a worker holds: they wait, run, or have ended and are not settled."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from cadenza.domain.scheduling.run import Claim, Completion, Outcome, RunStatus
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import first_of
from cadenza.engine.worker.clock_check import LeaseClock
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.run_tasks import RunPace, RunTasks
from cadenza.ports.access import QuotaAnswer
from cadenza.ports.clock import Clock, Stopwatch

AS_ASKED, STOPPED = "cancelled as asked", "its worker stopped before it ended"


class HeldClaims:
    """Every claim of a worker, from its lease to its commit, and the tasks that run them."""

    def __init__(
        self,
        *,
        executor: Executor,
        clock: Clock,
        on_capacity: Callable[[], None],
        stopwatch: Stopwatch | None = None,
        lease_now: Callable[[], datetime] | None = None,
    ) -> None:
        self._executor = executor
        self._clock = clock
        self.lease_clock = LeaseClock(lease_now or clock.now, stopwatch)
        """The moment that leases are counted from."""
        self._gain = self.lease_clock.gain()
        self._stopwatch = stopwatch
        self._trusted_until_ms: float | None = None
        self._lease_margin = timedelta(0)
        self._on_capacity = on_capacity
        self._claims: dict[str, Claim] = {}
        self._starts_at: dict[str, datetime] = {}
        self._answers: dict[str, QuotaAnswer] = {}
        self.pace = RunPace((lambda: 0.0) if stopwatch is None else stopwatch.elapsed_ms)
        self.tasks = RunTasks(self._run, pace=self.pace, on_ended=on_capacity)
        self._completions: deque[Completion] = deque()
        self._ended: set[str] = set()
        self._cancelled: set[str] = set()
        """The runs that were stopped because that was asked for."""
        self.has_completions = asyncio.Event()
        """Set while there are completions to take."""
        self.empty = asyncio.Event()
        self.empty.set()
        self.unprotected: list[str] = []
        """The runs that were never dispatched, because their leases had run out by then."""

    def __len__(self) -> int:
        return len(self._claims)

    def __contains__(self, run_id: object) -> bool:
        return run_id in self._claims

    def get(self, run_id: str) -> Claim | None:
        """The claim of a run, if it is held."""
        return self._claims.get(run_id)

    @property
    def claims(self) -> list[Claim]:
        """All claims whose leases are in use."""
        return list(self._claims.values())

    @property
    def begun(self) -> list[Claim]:
        """Claims that have a place."""
        return [self._claims[run_id] for run_id in self.tasks.begun if run_id in self._claims]

    @property
    def waiting(self) -> list[Claim]:
        """Claims that have not reached their moment."""
        return [self._claims[run_id] for run_id in self._starts_at]

    def waiting_until(self, now: datetime) -> list[Claim]:
        """Waiting claims whose moment has come."""
        return [self._claims[run_id] for run_id, moment in self._starts_at.items() if moment <= now]

    @property
    def unended(self) -> int:
        """How many wait for their moment or a place, or run."""
        return len(self._claims) - len(self._ended)

    @property
    def unended_claims(self) -> list[Claim]:
        """Claims that wait for their moment or a place, or run."""
        return self.still_held(self._claims.values())

    @property
    def launched(self) -> int:
        """How many have reached their moment and not ended."""
        return self.unended - len(self._starts_at)

    @property
    def running(self) -> int:
        """How many are launched and have not ended."""
        return len(self.tasks)

    @property
    def completed(self) -> int:
        """How many completions there are to take."""
        return len(self._completions)

    @property
    def start_moments(self) -> Mapping[str, datetime]:
        """By run id: when each waiting claim starts."""
        return self._starts_at

    def next_start(self) -> datetime | None:
        """When the first waiting claim starts."""
        return min(self._starts_at.values(), default=None)

    def still_held(self, claims: Iterable[Claim]) -> list[Claim]:
        """Those of the claims that are held and have not ended."""
        return [claim for claim in claims if claim.run_id in self._claims and claim.run_id not in self._ended]

    def add(self, claims: Iterable[Claim]) -> None:
        """Hold claims from now on."""
        self._claims.update((claim.run_id, claim) for claim in claims)
        if self._claims:
            self.empty.clear()

    def add_waiting(self, claim: Claim, until: datetime) -> None:
        """Hold a claim that waits for its moment."""
        self.add([claim])
        self._starts_at[claim.run_id] = until

    def set_lease(self, run_ids: Iterable[str], until: datetime) -> None:
        """Note until when leases protect now."""
        for run_id in run_ids:
            if run_id in self._claims:
                self._claims[run_id] = self._claims[run_id]._replace(lease_until=until)

    def follow_clock(self) -> None:
        """Count every lease from the clock as it is now, if it was set back."""
        step, self._gain = self.lease_clock.set_back_since(self._gain), self.lease_clock.gain()
        if step:
            claims = self._claims.values()
            self._claims |= {claim.run_id: counted_from(claim, step) for claim in claims}

    @property
    def expiring(self) -> list[Claim]:
        """Claims whose leases protect no longer, or not for long enough."""
        self.follow_clock()
        limit = self.lease_clock.now() + self._lease_margin
        return [claim for claim in self._claims.values() if claim.lease_until <= limit]

    def trust_leases(self, span_ms: float, *, margin: timedelta) -> None:
        """Leases were checked, and are to be checked again before so many milliseconds have passed.

        From now on one that ends within the margin protects no longer.
        """
        self._lease_margin = margin
        if self._stopwatch is not None:
            self._trusted_until_ms = self._stopwatch.elapsed_ms() + span_ms

    async def launch(self, claims: Sequence[Claim]) -> None:
        """Run claims whose moment has come; if the quota cannot be asked, release them."""
        if self._starts_at:
            for claim in claims:
                self._starts_at.pop(claim.run_id, None)
        self.add(claims)
        try:
            answers = await self._executor.admit(claims)
        except BaseException:
            self.release(claims, "the quota could not be asked")
            raise
        run_ids = [claim.run_id for claim in claims]
        self._answers.update(zip(run_ids, answers, strict=True))
        self.tasks.launch(run_ids, self._clock.now())

    def complete(self, completions: Sequence[Completion]) -> None:
        """Note how claims ended; each ends once, and claims that are not held any more do not count."""
        for completion in completions:
            run_id = completion.claim.run_id
            self._starts_at.pop(run_id, None)
            if run_id in self._claims and run_id not in self._ended:
                self._ended.add(run_id)
                self._completions.append(completion)
                self.has_completions.set()

    def release(self, claims: Sequence[Claim], reason: str) -> None:
        """Cancel claims that were never started; their slots stay due."""
        self._cancel([claim._replace(started_at=None) for claim in claims], reason)

    def take_completions(self, limit: int) -> list[Completion]:
        """Take at most so many completions, to settle them."""
        taken = [self._completions.popleft() for _ in range(min(limit, len(self._completions)))]
        if not self._completions:
            self.has_completions.clear()
        return taken

    def remove(self, run_ids: Sequence[str]) -> None:
        """Hold claims no longer that are settled or whose leases are lost, and stop their runs."""
        if not run_ids:
            return
        for run_id in run_ids:
            self._claims.pop(run_id, None)
            self._starts_at.pop(run_id, None)
            self._ended.discard(run_id)
            self._cancelled.discard(run_id)
            self.tasks.cancel(run_id)
        if not self._claims:
            self.empty.set()
        self._on_capacity()

    def cancel(self, run_ids: Iterable[str]) -> None:
        """Cancel runs as was asked for: those that run are stopped once, and the others never begin."""
        for run_id in run_ids:
            if run_id not in self._claims or run_id in self._ended | self._cancelled:
                continue
            self._cancelled.add(run_id)
            if run_id in self.tasks.begun:
                self.tasks.cancel(run_id)
            else:
                self.release([self._claims[run_id]], AS_ASKED)

    def remove_lost(self, claims: Sequence[Claim]) -> list[str]:
        """Remove claims whose leases are lost; of those that have ended, settling will find it out."""
        lost = [claim.run_id for claim in claims if claim.run_id in self._claims]
        lost = [run_id for run_id in lost if run_id not in self._ended]
        self.remove(lost)
        return lost

    def give_back(self, launched_before: datetime) -> bool:
        """Release claims that waited for a place since then, so that another worker may run them; any?"""
        late = self.tasks.take_late(launched_before)
        if late:
            self.pace.forget()
            self._release_unbegun(late, "its worker had no place for it")
        return bool(late)

    async def stop(self, grace_ms: float) -> None:
        """Let runs finish within the grace, then cancel them; a run that does not end is left behind."""
        await self.tasks.all_begun()
        self._release_unbegun(self.tasks.take_late(self._clock.now()), "its worker stopped")
        if not (tasks := self.tasks.unfinished):
            return
        await first_of(self._clock.sleep(grace_ms), asyncio.wait(tasks))
        for task in tasks:
            task.cancel()
        await first_of(self._clock.sleep(grace_ms), asyncio.wait(tasks))
        unstoppable = [self._claims[run_id] for run_id in self.tasks.begun if run_id in self._claims]
        self._cancel(unstoppable, "its worker stopped, and the run ignored the cancellation")

    def _release_unbegun(self, run_ids: Iterable[str], reason: str) -> None:
        for run_id in run_ids:
            self._answers.pop(run_id, None)
        self.release([self._claims[run_id] for run_id in run_ids if run_id in self._claims], reason)

    def _cancel(self, claims: Sequence[Claim], reason: str) -> None:
        self.complete([stopped(claim, reason, self._clock.now()) for claim in claims])

    def _is_protected(self, claim: Claim) -> bool:
        """Does its lease still protect it? A process that was frozen finds out here, by either clock."""
        until_ms = self._trusted_until_ms
        if claim.lease_until <= self.lease_clock.now() + self._lease_margin:
            return False
        return self._stopwatch is None or until_ms is None or self._stopwatch.elapsed_ms() < until_ms

    async def _run(self, run_id: str, task: asyncio.Task[None]) -> None:
        """Run a claim and note how it ended, unless its lease was lost while it waited for its turn."""
        answer, claim = self._answers.pop(run_id), self._claims.get(run_id)
        if claim is None or run_id in self._ended:
            return
        if not self._is_protected(claim):
            self.unprotected += self.remove_lost([claim])
            return
        try:
            completion = await self._executor.execute(claim, answer, task=task)
        except asyncio.CancelledError:
            reason = AS_ASKED if run_id in self._cancelled else STOPPED
            completion = stopped(claim, reason, self._clock.now())
        self.complete([completion])


def stopped(claim: Claim, reason: str, now: datetime) -> Completion:
    """The end of a run that was stopped now, with how long it went on."""
    took = now - (claim.started_at or now)
    return Completion(
        claim, Outcome(RunStatus.CANCELLED, max(0, took // milliseconds(1)), reason=reason), now
    )


def counted_from(claim: Claim, step: timedelta) -> Claim:
    """A claim whose lease was written before the clock was set back by so much."""
    return claim._replace(lease_until=claim.lease_until - step)
