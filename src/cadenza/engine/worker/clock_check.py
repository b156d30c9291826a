"""Watches the machine's clock: whether it agrees with the database's, and whether it was set back."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.nudge import STEP_TOLERANCE, after_clock_step
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import RECOVERY_MS, Attempts
from cadenza.ports.clock import Clock, CronCalculator, Stopwatch
from cadenza.ports.scheduling import EndpointStore
from cadenza.ports.telemetry import Logger

WARNED_PART, REFUSED_PART = 10, 3
"""A tenth of the lease is worth a warning; two machines that are off by a third of it each still agree."""
LOOK_MS = 1_000
BATCH = 500
SMALLEST_STEP = timedelta(milliseconds=10)
"""What counts as set back; less is how exactly clock and stopwatch are read."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LeaseClock:
    """The moment that leases are counted from, and by how much it was set back meanwhile.

    After that, a lease that was written before seems to last longer than it does.
    """

    def __init__(self, now: Callable[[], datetime], stopwatch: Stopwatch | None = None) -> None:
        self.now = now
        self._stopwatch = stopwatch

    def gain(self) -> timedelta:
        """By how much it is ahead of the stopwatch, which is never set."""
        elapsed_ms = 0.0 if self._stopwatch is None else self._stopwatch.elapsed_ms()
        return (self.now() - EPOCH) - milliseconds(1) * elapsed_ms

    def set_back_since(self, gain: timedelta) -> timedelta:
        """By how much it was set back since its gain was this one; nothing without a stopwatch."""
        step = timedelta() if self._stopwatch is None else gain - self.gain()
        return step if step > SMALLEST_STEP else timedelta()


class ClockCheck:
    """Says whether the clock agrees with the database's, by which workers of several machines must agree.

    Leases are moments: a clock that is ahead by more than a lease takes the runs of
    living workers for abandoned, and one that is behind does not see that others died.
    A clock that was set forward, as when a machine wakes up, makes all leases run out at
    once; their holders need some time to renew them.
    """

    def __init__(
        self,
        *,
        store: EndpointStore,
        clock: Clock,
        log: Logger,
        lease_ms: int,
        stopwatch: Stopwatch | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._stopwatch = stopwatch
        self._log = log
        self._warned, self._refused = (milliseconds(lease_ms) / part for part in (WARNED_PART, REFUSED_PART))
        self._said = False
        self._least_gain = self._gain()
        """The clock's gain where it was furthest behind since it was looked at."""
        self._theirs: tuple[datetime, float] | None = None
        """What the database's clock showed last, and what the stopwatch did then."""
        self.trusted = True

    async def at_start(self) -> None:
        """Unavailable if the clock is off by more than a third of the lease."""
        if not await self.look():
            raise Unavailable(
                f"The clock of this machine and that of the database differ by more than"
                f" {self._refused.total_seconds():g} s, a third of CADENZA_LEASE_MS: synchronize them."
            )

    async def look(self) -> bool:
        """Whether leases can be judged by the clock now: it is right, and was not set forward since.

        The time that the question took counts in its favour.
        """
        await self.compare()
        return not self._was_set_forward() and self.trusted

    async def compare(self) -> bool:
        """Whether the clock agrees with the database's now."""
        before, began_ms = self._clock.now(), self._elapsed_ms()
        theirs = await self._store.database_time()
        if theirs is not None:
            after, ended_ms = self._clock.now(), self._elapsed_ms()
            if self._stopwatch is not None and milliseconds(1) * (ended_ms - began_ms) <= self._warned:
                self._theirs = (theirs, ended_ms)  # What took longer would be too old.
            self._note(before - theirs if before > theirs else min(timedelta(), after - theirs))
        return self.trusted

    def lease_now(self) -> datetime:
        """The moment that leases are counted from: never behind the database's clock, as it was seen last.

        Counted from a clock that was just set back, a lease would have run out for all other machines.
        """
        now = self._clock.now()
        self._least_gain = min(self._least_gain, self._gain())
        if self._theirs is None:
            return now
        moment, seen_ms = self._theirs
        return max(now, moment + milliseconds(1) * (self._elapsed_ms() - seen_ms))

    def _was_set_forward(self) -> bool:
        """Was the clock set forward, by as much as is worth a warning, since this was asked last?

        Also if it had been set back before: leases were counted from it meanwhile.
        """
        before, self._least_gain = self._least_gain, self._gain()
        step = self._least_gain - before
        if step <= self._warned:
            return False
        facts = {"step_ms": round(step / milliseconds(1))}
        self._log.warning("the clock was set forward; leases that ran out are swept later", **facts)
        return True

    def _gain(self) -> timedelta:
        """By how much the clock is ahead of the stopwatch, which is never set."""
        if self._stopwatch is None:
            return timedelta()
        return (self._clock.now() - EPOCH) - milliseconds(1) * self._elapsed_ms()

    def _elapsed_ms(self) -> float:
        return 0.0 if self._stopwatch is None else self._stopwatch.elapsed_ms()

    def _note(self, ahead: timedelta) -> None:
        was_trusted, self.trusted = self.trusted, abs(ahead) <= self._refused
        facts = {"ahead_ms": round(ahead / milliseconds(1))}
        if not self.trusted and was_trusted:
            self._log.error("the clock differs too much from the database's; nothing is claimed", **facts)
        elif self.trusted and not was_trusted:
            self._log.info("the clock agrees with the database's again", **facts)
        elif abs(ahead) > self._warned and not self._said:
            self._log.warning("the clock differs from the database's", **facts)
        self._said = abs(ahead) > self._warned


class ClockStepWatch:
    """Compares the wall clock with a stopwatch, which is never set.

    Forward steps need nothing: what they make due is due. Backward steps of a few
    seconds pass by themselves. By a clock that does not agree with the database's
    nothing is planned: what lies ahead of it alone is right for all other machines.
    """

    def __init__(
        self,
        *,
        store: EndpointStore,
        clock: Clock,
        stopwatch: Stopwatch,
        cron: CronCalculator,
        log: Logger,
        check: ClockCheck | None = None,
    ) -> None:
        self._store = store
        self._check = check
        self._clock = clock
        self._stopwatch = stopwatch
        self._cron = cron
        self._log = log
        self._attempts = Attempts("worker/clock", clock, log)
        self._seen = self._read()

    async def run(self) -> None:
        """Look every second, until cancelled; a step is worked on until the store has taken it in."""
        while True:
            await self._clock.sleep(LOOK_MS)
            step = self.step()
            while step is not None and not await self._attempts.try_once(self.plan_anew(step)):
                await self._clock.sleep(RECOVERY_MS)

    def step(self) -> timedelta | None:
        """By how much the clock was set back since the last call; None if it was not."""
        before, (wall, steady_ms) = self._seen, self._read()
        self._seen = (wall, steady_ms)
        step = milliseconds(1) * (steady_ms - before[1]) - (wall - before[0])
        return step if step > STEP_TOLERANCE else None

    async def plan_anew(self, step: timedelta) -> None:
        """Move every next run that lies ahead only because of the step, and say how many there were.

        Each is planned by the clock as it is then: what has run since the step does not lie ahead.
        """
        if self._check is not None and not await self._check.compare():
            return
        now, after, moved = self._clock.now(), None, 0

        def change(endpoint: Endpoint) -> ChangedEndpoint:
            nonlocal moved
            planned = after_clock_step(endpoint, now=self._clock.now(), step=step, cron=self._cron)
            moved += planned is not endpoint
            return ChangedEndpoint(planned)

        while batch := await self._store.amend_ahead(now, change, after=after, limit=BATCH):
            after = EndpointKey(*batch[-1].endpoint.key)
        self._log.warning(
            "the clock was set back; next runs in the future are recalculated",
            step_ms=round(step / milliseconds(1)),
            endpoints=moved,
        )

    def _read(self) -> tuple[datetime, float]:
        return self._clock.now(), self._stopwatch.elapsed_ms()


def watched_clock(
    *,
    store: EndpointStore,
    clock: Clock,
    stopwatch: Stopwatch,
    cron: CronCalculator,
    log: Logger,
    lease_ms: int,
) -> tuple[ClockCheck, ClockStepWatch]:
    """Both for one worker."""
    check = ClockCheck(store=store, clock=clock, log=log, lease_ms=lease_ms, stopwatch=stopwatch)
    watch = ClockStepWatch(store=store, clock=clock, stopwatch=stopwatch, cron=cron, log=log, check=check)
    return check, watch
