"""What a worker holds at the moment: claims that wait, run, or have ended and are not settled."""

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


class Flight:
    """Every claim of a worker, from its lease to its commit, and the tasks that run them."""

    def __init__(self, *, executor: Executor, clock: Clock, on_room: Callable[[], None]) -> None:
        self._executor = executor
        self._clock = clock
        self._on_room = on_room
        self._held: dict[str, Claim] = {}
        self._starts_at: dict[str, datetime] = {}
        self._ready: deque[tuple[Claim, QuotaAnswer]] = deque()
        self._leader: asyncio.Task[None] | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._completions: deque[Completion] = deque()
        self._ended: set[str] = set()
        self.ended = asyncio.Event()
        """Set while something has ended that nobody has taken to settle."""
        self.empty = asyncio.Event()
        self.empty.set()

    def __len__(self) -> int:
        return len(self._held)

    @property
    def held(self) -> list[Claim]:
        """All claims whose leases are in use."""
        return list(self._held.values())

    @property
    def waiting(self) -> list[Claim]:
        """Claims whose moment is still ahead."""
        return [self._held[run_id] for run_id in self._starts_at]

    def ready(self, now: datetime) -> list[Claim]:
        """Those of the waiting whose moment has come."""
        return [self._held[run_id] for run_id, moment in self._starts_at.items() if moment <= now]

    @property
    def running(self) -> int:
        """How many are with the dispatcher."""
        return len(self._tasks) + len(self._ready)

    @property
    def landed(self) -> int:
        """How many have ended and are not taken to settle."""
        return len(self._completions)

    @property
    def held_until(self) -> Mapping[str, datetime]:
        """By run id: when each of the waiting starts."""
        return self._starts_at

    def next_moment(self) -> datetime | None:
        """When the first of the waiting starts."""
        return min(self._starts_at.values(), default=None)

    def still(self, claims: Iterable[Claim]) -> list[Claim]:
        """Those that are held and have not ended."""
        return [claim for claim in claims if claim.run_id in self._held and claim.run_id not in self._ended]

    def take(self, claims: Iterable[Claim]) -> None:
        """Count claims among those whose leases are in use."""
        self._held.update((claim.run_id, claim) for claim in claims)
        if self._held:
            self.empty.clear()

    def hold(self, claim: Claim, until: datetime) -> None:
        """Keep a claim until its moment."""
        self.take([claim])
        self._starts_at[claim.run_id] = until

    def renewed(self, run_ids: Iterable[str], until: datetime) -> None:
        """Remember until when leases protect now."""
        for run_id in run_ids:
            if run_id in self._held:
                self._held[run_id] = self._held[run_id]._replace(lease_until=until)

    async def launch(self, claims: Sequence[Claim]) -> None:
        """Run claims whose moment has come; if the quota cannot be asked, give them back."""
        if self._starts_at:
            for claim in claims:
                self._starts_at.pop(claim.run_id, None)
        self.take(claims)
        try:
            answers = await self._executor.admit(claims)
        except BaseException:
            self.give_back(claims, "the quota could not be asked")
            raise
        self._ready.extend(zip(claims, answers, strict=True))
        if claims:
            self._leader = asyncio.create_task(self._lead())
            asyncio.get_running_loop().call_soon(self._part)

    def end(self, completions: Sequence[Completion]) -> None:
        """Pass on how claims ended; each ends once, and what is lost does not count."""
        for completion in completions:
            run_id = completion.claim.run_id
            self._starts_at.pop(run_id, None)
            if run_id in self._held and run_id not in self._ended:
                self._ended.add(run_id)
                self._completions.append(completion)
                self.ended.set()

    def give_back(self, claims: Sequence[Claim], reason: str) -> None:
        """Release claims that were never started; their slots stay due."""
        self._cancelled([claim._replace(started_at=None) for claim in claims], reason)

    def completions(self, limit: int) -> list[Completion]:
        """Take what has ended, at most so much, to settle it."""
        taken = [self._completions.popleft() for _ in range(min(limit, len(self._completions)))]
        if not self._completions:
            self.ended.clear()
        return taken

    def forget(self, run_ids: Sequence[str]) -> None:
        """Let go of claims that are settled, or whose leases are lost, and stop what still runs for them."""
        if not run_ids:
            return
        for run_id in run_ids:
            self._held.pop(run_id, None)
            self._starts_at.pop(run_id, None)
            self._ended.discard(run_id)
            if run_id in self._tasks:
                self._tasks[run_id].cancel()
        if not self._held:
            self.empty.set()
        self._on_room()

    def drop(self, claims: Sequence[Claim]) -> list[str]:
        """Let go of claims that were lost; of those that have ended, settling will tell."""
        lost = [claim.run_id for claim in claims if claim.run_id in self._held]
        lost = [run_id for run_id in lost if run_id not in self._ended]
        self.forget(lost)
        return lost

    async def land(self, grace_ms: float) -> None:
        """Let what runs finish within the grace, then cancel it; what will not end is left behind."""
        self._part()
        if not self._tasks:
            return
        tasks = set(self._tasks.values())
        await first_of(self._clock.sleep(grace_ms), asyncio.wait(tasks))
        for task in tasks:
            task.cancel()
        await first_of(self._clock.sleep(grace_ms), asyncio.wait(tasks))
        stubborn = [self._held[run_id] for run_id in self._tasks if run_id in self._held]
        self._cancelled(stubborn, "its worker stopped, and it would not")

    def _cancelled(self, claims: Sequence[Claim], reason: str) -> None:
        now, outcome = self._clock.now(), Outcome(RunStatus.CANCELLED, reason=reason)
        self.end([Completion(claim, outcome, now) for claim in claims])

    async def _lead(self) -> None:
        """Run one after the other, until one waits: a task for each would cost more than a short run.

        If one leaves a cancellation or something in its context behind, none follows it here.
        """
        task, clean = asyncio.current_task(), copy_context()
        assert task is not None, "only a task can run"
        while self._ready and not task.cancelling() and copy_context() == clean:
            claim, answer = self._ready.popleft()
            if claim.run_id in self._held:  # Its lease may be lost by now.
                self._tasks[claim.run_id] = task
                await self._run(claim, answer, task)

    def _part(self) -> None:
        """Give what the leader has not reached tasks of its own."""
        for claim, answer in self._ready:
            if claim.run_id in self._held:
                self._tasks[claim.run_id] = asyncio.create_task(self._run(claim, answer))
        self._ready.clear()

    async def _run(self, claim: Claim, answer: QuotaAnswer, task: "asyncio.Task[None] | None" = None) -> None:
        try:
            completion = await self._executor.execute(claim, answer, task=task)
        except asyncio.CancelledError:
            outcome = Outcome(RunStatus.CANCELLED, reason="its worker stopped before it ended")
            completion = Completion(claim, outcome, self._clock.now())
        finally:
            del self._tasks[claim.run_id]
        self.end([completion])
