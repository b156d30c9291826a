"""The claims a worker holds: they wait, run, or have ended and are not settled."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import copy_context
from datetime import datetime

from cadenza.domain.scheduling.run import Claim, Completion, Outcome, RunStatus
from cadenza.engine.async_helpers import first_of
from cadenza.engine.worker.execute import Executor
from cadenza.ports.access import QuotaAnswer
from cadenza.ports.clock import Clock


class HeldClaims:
    """Every claim of a worker, from its lease to its commit, and the tasks that run them."""

    def __init__(self, *, executor: Executor, clock: Clock, on_capacity: Callable[[], None]) -> None:
        self._executor = executor
        self._clock = clock
        self._on_capacity = on_capacity
        self._claims: dict[str, Claim] = {}
        self._starts_at: dict[str, datetime] = {}
        self._launched: deque[tuple[Claim, QuotaAnswer]] = deque()
        self._shared_task: asyncio.Task[None] | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._completions: deque[Completion] = deque()
        self._ended: set[str] = set()
        self.has_completions = asyncio.Event()
        """Set while there are completions to take."""
        self.empty = asyncio.Event()
        self.empty.set()

    def __len__(self) -> int:
        return len(self._claims)

    @property
    def claims(self) -> list[Claim]:
        """All claims whose leases are in use."""
        return list(self._claims.values())

    @property
    def waiting(self) -> list[Claim]:
        """Claims that have not reached their moment."""
        return [self._claims[run_id] for run_id in self._starts_at]

    def waiting_until(self, now: datetime) -> list[Claim]:
        """Waiting claims whose moment has come."""
        return [self._claims[run_id] for run_id, moment in self._starts_at.items() if moment <= now]

    @property
    def running(self) -> int:
        """How many are launched and have not ended."""
        return len(self._tasks) + len(self._launched)

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
        self._launched.extend(zip(claims, answers, strict=True))
        if claims:
            self._shared_task = asyncio.create_task(self._run_in_one_task())
            asyncio.get_running_loop().call_soon(self._run_in_own_tasks)

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
            if run_id in self._tasks:
                self._tasks[run_id].cancel()
        if not self._claims:
            self.empty.set()
        self._on_capacity()

    def remove_lost(self, claims: Sequence[Claim]) -> list[str]:
        """Remove claims whose leases are lost; of those that have ended, settling will find it out."""
        lost = [claim.run_id for claim in claims if claim.run_id in self._claims]
        lost = [run_id for run_id in lost if run_id not in self._ended]
        self.remove(lost)
        return lost

    async def all_begun(self) -> None:
        """Let all that is launched begin: what the shared task does not reach has its own a step later."""
        for _ in range(2):
            await asyncio.sleep(0)

    async def all_ended(self) -> None:
        """Wait until all that is launched has ended."""
        while self.running:
            assert self._shared_task is not None, "something was launched"
            await asyncio.wait({self._shared_task, *self._tasks.values()})

    async def stop(self, grace_ms: float) -> None:
        """Let runs finish within the grace, then cancel them; a run that does not end is left behind."""
        self._run_in_own_tasks()
        if not self._tasks:
            return
        tasks = set(self._tasks.values())
        await first_of(self._clock.sleep(grace_ms), asyncio.wait(tasks))
        for task in tasks:
            task.cancel()
        await first_of(self._clock.sleep(grace_ms), asyncio.wait(tasks))
        unstoppable = [self._claims[run_id] for run_id in self._tasks if run_id in self._claims]
        self._cancel(unstoppable, "its worker stopped, and the run ignored the cancellation")

    def _cancel(self, claims: Sequence[Claim], reason: str) -> None:
        now, outcome = self._clock.now(), Outcome(RunStatus.CANCELLED, reason=reason)
        self.complete([Completion(claim, outcome, now) for claim in claims])

    async def _run_in_one_task(self) -> None:
        """Run one after the other, until one waits: a task for each would cost more than a short run.

        If one leaves a cancellation or something in its context behind, none follows it here.
        """
        task, clean = asyncio.current_task(), copy_context()
        assert task is not None, "only a task can run"
        while self._launched and not task.cancelling() and copy_context() == clean:
            claim, answer = self._launched.popleft()
            if claim.run_id in self._claims:  # Its lease may be lost by now.
                self._tasks[claim.run_id] = task
                await self._run(claim, answer, task)

    def _run_in_own_tasks(self) -> None:
        """Give each claim that the shared task has not reached a task of its own."""
        for claim, answer in self._launched:
            if claim.run_id in self._claims:
                self._tasks[claim.run_id] = asyncio.create_task(self._run(claim, answer))
        self._launched.clear()

    async def _run(self, claim: Claim, answer: QuotaAnswer, task: "asyncio.Task[None] | None" = None) -> None:
        try:
            completion = await self._executor.execute(claim, answer, task=task)
        except asyncio.CancelledError:
            outcome = Outcome(RunStatus.CANCELLED, reason="its worker stopped before it ended")
            completion = Completion(claim, outcome, self._clock.now())
        finally:
            del self._tasks[claim.run_id]
        self.complete([completion])
