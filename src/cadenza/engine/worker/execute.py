"""Executes one claim: quota, dispatch and deadline; a failure of it is an outcome, and affects no other."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from cadenza.domain.job_failure import LONGEST_TRACEBACK, error_text, traceback_text
from cadenza.domain.scheduling.calendars.rules import NO_RULES
from cadenza.domain.scheduling.calendars.starting import outcome_while_closed
from cadenza.domain.scheduling.due import misfired
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.policy import cut_timeout
from cadenza.domain.scheduling.run import Claim, Completion, Outcome, RunStatus
from cadenza.domain.validation import LONGEST_TEXT, milliseconds
from cadenza.ports.access import Quota, QuotaAnswer, QuotaKind, QuotaRequest
from cadenza.ports.clock import Clock
from cadenza.ports.dispatcher import Dispatcher


class Deadline:
    """The moment at which one run is cut off."""

    __slots__ = ("expired", "moment", "task")

    def __init__(self, task: "asyncio.Task[object]", moment: float) -> None:
        self.task = task
        self.moment = moment
        self.expired = False


class Deadlines:
    """Cancels tasks that outlive their time.

    `asyncio.timeout` sets a timer of its own for each run, which costs more than
    all the rest of running a short one, and nearly none of them is ever needed. The
    one timer here stays set when its run has ended, and then finds nothing to cancel.
    """

    def __init__(self) -> None:
        self._open: dict[Deadline, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def set(self, timeout_ms: int, task: "asyncio.Task[object] | None" = None) -> Deadline:
        """Cancel the current task, which a caller may name to save looking it up, unless it ends in time."""
        task = task or asyncio.current_task()
        assert task is not None, "only a task can be timed"
        loop = task.get_loop()
        deadline = Deadline(task, loop.time() + timeout_ms / 1_000)
        self._open[deadline] = None
        if self._timer is None or self._loop is not loop or deadline.moment < self._timer.when():
            self._arm(loop, deadline.moment)
        return deadline

    def clear(self, deadline: Deadline) -> None:
        """The run has ended, in time or not."""
        self._open.pop(deadline, None)

    def _arm(self, loop: asyncio.AbstractEventLoop, moment: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._loop = loop
        self._timer = loop.call_at(moment, self._expire, loop)

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for deadline in [one for one in self._open if one.moment <= now]:
            self._open.pop(deadline, None)
            deadline.expired = True
            deadline.task.cancel()
        if self._open:
            self._arm(loop, min(one.moment for one in self._open))


SUCCESS = RunStatus.SUCCESS  # Python 3.11 is slow to find members.
REPORTABLE = frozenset({RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT})
"""Statuses that a dispatcher may report; the others are set by the worker."""


class Executor:
    """Asks the quota, then dispatches: with a timeout, and with every failure turned into an outcome."""

    def __init__(
        self, *, dispatcher: Dispatcher, quota: Quota, clock: Clock, max_timeout_ms: int | None = None
    ) -> None:
        self._dispatcher = dispatcher
        self._max_timeout_ms = max_timeout_ms
        self._quota = quota
        self._clock = clock
        self._deadlines = Deadlines()

    async def admit(self, claims: Sequence[Claim]) -> list[QuotaAnswer]:
        """The quota's answer for each claim, asked in one batch; one that will not start costs nothing."""
        now = self._clock.now()
        is_free = [misfired(claim, now) or _is_closed(claim, now) for claim in claims]
        if claims and not any(is_free):
            return await self._quota.check([_request(claim.endpoint.tenant_id) for claim in claims])
        paying = [claim for claim, costs_nothing in zip(claims, is_free, strict=True) if not costs_nothing]
        requests = [_request(claim.endpoint.tenant_id) for claim in paying]
        answers = iter(await self._quota.check(requests) if requests else [])
        return [QuotaAnswer() if costs_nothing else next(answers) for costs_nothing in is_free]

    async def execute(
        self, claim: Claim, answer: QuotaAnswer, *, task: "asyncio.Task[None] | None" = None
    ) -> Completion:
        """Run the claim in the current task, which a caller may name; or skip it, with the reason."""
        now = self._clock.now()
        has_rules = claim.endpoint.calendar_rules is not NO_RULES
        if has_rules and (closed := outcome_while_closed(claim, now)) is not None:
            is_over = closed.status is RunStatus.SKIPPED
            return Completion(claim if is_over else claim._replace(started_at=None), closed, now)
        if answer.opens_at is not None and answer.opens_at > now:
            outcome = Outcome(RunStatus.SKIPPED, reason="the quota is used up", opens_at=answer.opens_at)
        elif misfired(claim, now):
            outcome = Outcome(RunStatus.SKIPPED, reason=_why_skipped(claim, now))
        else:
            outcome = await self._dispatch(_with_timeout(claim, self._max_timeout_ms), now, task)
        return Completion(claim, outcome, self._clock.now())

    async def _dispatch(self, claim: Claim, began: datetime, task: "asyncio.Task[None] | None") -> Outcome:
        deadline = self._deadlines.set(claim.endpoint.policy.timeout_ms, task)
        try:
            return _checked(await self._dispatcher.execute(claim))
        except asyncio.CancelledError as problem:
            if deadline.expired and not deadline.task.uncancel():
                return _too_late(claim)
            if deadline.task.cancelling():
                raise
            return self._raised(problem, began)
        except Exception as problem:  # noqa: BLE001 - a dispatcher's bug must cost one run, not the batch
            return self._raised(problem, began)
        finally:
            self._deadlines.clear(deadline)

    def _raised(self, problem: BaseException, began: datetime) -> Outcome:
        """The failure of a dispatcher that raised."""
        took = (self._clock.now() - began) // milliseconds(1)
        return Outcome(
            RunStatus.FAILURE, max(0, took), error_text(problem), traceback=traceback_text(problem)
        )


@lru_cache(maxsize=1024)
def _request(tenant_id: str) -> QuotaRequest:
    return QuotaRequest(QuotaKind.ENDPOINT, tenant_id)


def _is_closed(claim: Claim, now: datetime) -> bool:
    return claim.endpoint.calendar_rules is not NO_RULES and outcome_while_closed(claim, now) is not None


def _with_timeout(claim: Claim, longest_ms: int | None) -> Claim:
    policy = claim.endpoint.policy
    cut = cut_timeout(policy, longest_ms)
    return claim if cut is policy else claim._replace(endpoint=evolve(claim.endpoint, policy=cut))


def _why_skipped(claim: Claim, now: datetime) -> str:
    late = now - claim.planned_at
    reason = f"{late // milliseconds(1)} ms late, beyond its grace"
    why = claim.why_late(late)
    return reason if why is None else f"{reason}: {why}"


def _too_late(claim: Claim) -> Outcome:
    timeout_ms = claim.endpoint.policy.timeout_ms
    return Outcome(RunStatus.TIMEOUT, timeout_ms, error=f"no answer within {timeout_ms} ms")


def _says_why(outcome: Outcome) -> bool:
    return any(one is not None for one in (outcome.opens_at, outcome.seen, outcome.closed_until))


def _checked(outcome: object) -> Outcome:
    if not isinstance(outcome, Outcome):
        return Outcome(
            RunStatus.FAILURE, error=f"the dispatcher answered {type(outcome).__name__}, not an outcome"
        )
    if outcome.status is RunStatus.SKIPPED and _says_why(outcome):
        return outcome  # A quota of the dispatcher, a probe that found nothing new, a heartbeat while closed.
    if outcome.status is not SUCCESS and outcome.status not in REPORTABLE:
        return Outcome(RunStatus.FAILURE, error=f"the dispatcher answered the status {outcome.status!r}")
    if type(outcome.status) is not RunStatus:
        outcome = outcome._replace(status=RunStatus(outcome.status))
    if outcome.error is not None and len(outcome.error) > LONGEST_TEXT:
        outcome = outcome._replace(error=outcome.error[:LONGEST_TEXT])
    if outcome.traceback is not None and len(outcome.traceback) > LONGEST_TRACEBACK:
        outcome = outcome._replace(traceback=outcome.traceback[-LONGEST_TRACEBACK:])
    return outcome._replace(reason=None, opens_at=None) if outcome.reason or outcome.opens_at else outcome
