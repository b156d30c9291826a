"""Starts claims at their moments, after a second look at their endpoints."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.due import Cancel, Recheck, Start, Wait, recheck
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.nudge import SHARED, keeps_its_moment, offset_of
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim, Completion, Outcome, RunStatus
from cadenza.domain.scheduling.target import requirement
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import first_of
from cadenza.engine.worker.held_claims import HeldClaims
from cadenza.ports.clock import Clock
from cadenza.ports.dispatcher import CanRun
from cadenza.ports.scheduling import EndpointStore

NO_DELAY = timedelta(0)
DOWNTIME = timedelta(seconds=5)
"""A claim that is later than this came after a time without workers, or while its job was not active."""
PACED = SHARED | {Source.BASELINE_INTERVAL, Source.AI_INTERVAL, Source.CLAMPED_MIN, Source.CLAMPED_MAX}
"""What would fall into step after downtime; a moment that somebody named stays as it is."""
ALWAYS = frozenset({Source.BASELINE_CRON, Source.QUOTA, Source.CALENDAR})
"""What is stored at a moment that many share: a cron line's slot, and the opening of a quota or calendar."""


class Starter:
    """Launches what is due; the rest waits for its moment, and is then looked at in batches."""

    def __init__(
        self,
        *,
        held: HeldClaims,
        store: EndpointStore,
        can_run: CanRun,
        clock: Clock,
        poll_ms: float,
        jitter_ms: int,
    ) -> None:
        self._held = held
        self._store = store
        self._can_run = can_run
        self._clock = clock
        self._poll_ms = poll_ms
        self._jitter_ms = jitter_ms
        self._wake = asyncio.Event()
        self._check_all = False
        self._checked_all_at = clock.now()
        self._sleeps_until: datetime | None = None
        self.alive_at = clock.now()
        """When it last looked."""

    def wake(self) -> None:
        """Look now."""
        self._wake.set()

    def wake_all(self) -> None:
        """Look at all waiting claims now: any of them may have been moved."""
        self._check_all = True
        self._wake.set()

    async def start_pass(self) -> None:
        """Start waiting claims whose moment has come, and sleep until the next."""
        self.alive_at = self._clock.now()
        self._wake.clear()
        await self.start_due()
        await self._sleep()

    async def take(self, claims: Sequence[Claim]) -> None:
        """Launch what is due, and hold the rest until its moment, jitter included."""
        now, ready, delayed = self._clock.now(), list[Claim](), list[Claim]()
        for claim in map(self._with_delay, claims):
            if claim.started_at is None:
                self.hold([claim])
            elif _starts_at(claim) > now:
                delayed.append(claim)
            else:
                ready.append(claim)
        await self._held.launch(ready)
        await self._delay(delayed)

    def hold(self, claims: Iterable[Claim]) -> None:
        """Hold claims until their moments."""
        for claim in claims:
            moment = _starts_at(claim)
            self._held.add_waiting(claim, moment)
            if self._sleeps_until is None or moment < self._sleeps_until:
                self._wake.set()

    async def start_due(self) -> None:
        """Look again at waiting claims: at those that are due, and now and then at all of them.

        All are looked at after a wake-up and, because one may be lost, at every poll.
        """
        now = self._clock.now()
        since = abs(now - self._checked_all_at)  # The clock may have been set back.
        check_all = self._check_all or since >= milliseconds(1) * self._poll_ms
        waiting = self._held.waiting if check_all else self._held.waiting_until(now)
        if not waiting:
            return
        if check_all:
            self._check_all, self._checked_all_at = False, now
        try:
            answers = await self._recheck(waiting, self._held.start_moments, now)
        except Unavailable:
            self._check_all = True
            raise
        await self._apply(waiting, answers, now)

    async def _delay(self, claims: Sequence[Claim]) -> None:
        """What was claimed as started and waits for its jitter has not started; write that down."""
        if not claims:
            return
        waiting = [claim._replace(started_at=None) for claim in claims]
        self._held.add(waiting)
        starts_at = {claim.run_id: _starts_at(claim) for claim in waiting}
        now = self._clock.now()
        try:
            answers = await self._recheck(waiting, starts_at, now)
        except Unavailable:  # They are looked at again; else they would be held, and never start.
            self._check_all = True
            self.hold(waiting)
            raise
        await self._apply(waiting, answers, now)

    async def _recheck(
        self, waiting: Sequence[Claim], starts_at: Mapping[str, datetime], now: datetime
    ) -> list[Recheck]:
        """Look again at claims whose moment may have come; those that start later go on waiting.

        What was moved since starts at its new moment. What got a target that cannot be run here is
        left to another worker. What has lost its lease has no answer.
        """
        can_run = self._can_run()

        def decide(endpoint: Endpoint, claim: Claim) -> Recheck:
            if can_run is not None and requirement(endpoint.target) not in can_run:
                return Cancel(claim, "this worker cannot run its new target")
            answer = recheck(endpoint, claim, now)
            moved = (answer.claim.due_at, answer.claim.source) != (claim.due_at, claim.source)
            if moved and isinstance(answer, Start):
                return Start(answer.claim._replace(delay=NO_DELAY))
            if moved and isinstance(answer, Wait):
                return Wait(self._with_delay(answer.claim))
            if isinstance(answer, Start) and starts_at.get(claim.run_id, now) > now:
                return Wait(claim)
            return answer

        return [answer for answer in await self._store.start(waiting, decide) if answer is not None]

    async def _apply(self, waiting: Sequence[Claim], answers: Sequence[Recheck], now: datetime) -> None:
        answered = {answer.claim.run_id for answer in answers}
        self._held.remove_lost([claim for claim in waiting if claim.run_id not in answered])
        self._held.complete([_cancelled(answer, now) for answer in answers if isinstance(answer, Cancel)])
        still_waiting = [answer.claim for answer in answers if isinstance(answer, Wait)]
        ready = [answer.claim for answer in answers if isinstance(answer, Start)]
        self.hold(self._held.still_held(still_waiting))
        await self._held.launch(self._held.still_held(ready))

    def _with_delay(self, claim: Claim) -> Claim:
        """The claim with its jitter."""
        jitter = jitter_of(claim, self._jitter_ms) if self._jitter_ms else NO_DELAY
        return claim._replace(delay=jitter) if jitter != claim.delay else claim

    async def _sleep(self) -> None:
        """Sleep until the next moment, a wake-up, or the poll, whichever comes first."""
        self._sleeps_until, span_ms = self._held.next_start(), self._poll_ms
        if self._sleeps_until is not None:
            span_ms = min(span_ms, (self._sleeps_until - self._clock.now()) / milliseconds(1))
        if span_ms > 0:
            await first_of(self._clock.sleep(span_ms), self._wake.wait())


def _starts_at(claim: Claim) -> datetime:
    return max(claim.due_at, claim.claimed_at) + claim.delay if claim.delay else claim.due_at


def _cancelled(answer: Cancel, now: datetime) -> Completion:
    return Completion(answer.claim, Outcome(RunStatus.CANCELLED, reason=answer.reason), now)


def jitter_of(claim: Claim, most_ms: int) -> timedelta:
    """The jitter of a claim: the same for an endpoint each time, and never negative.

    1. What runs once, a one-shot, a retry, a run that was asked for and what holds the place of a limit start
       at their moment.
    2. Cron lines are always spread, and so is what waits for a quota or a calendar.
    3. The others have an offset in their plan (`spread`), and get another where they fall into step all
       the same: at the end of a pause that began during a run, and after downtime.
    """
    endpoint, source, at = claim.endpoint, claim.source, claim.due_at
    if most_ms <= 0 or claim.attempt > 1 or endpoint.limited_by or keeps_its_moment(endpoint, at):
        return NO_DELAY
    late = source in PACED and claim.claimed_at - at > DOWNTIME
    if late or source in ALWAYS or _is_end_of_pause(claim):
        return offset_of(endpoint, at, most_ms)
    return NO_DELAY


def _is_end_of_pause(claim: Claim) -> bool:
    return claim.source is Source.PAUSED and claim.due_at == claim.endpoint.paused_until
