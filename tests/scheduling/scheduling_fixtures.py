"""A small world for the rules: a moment to start from, a cron that is easy to foretell, and a worker."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from cadenza.domain.scheduling.calendars.calendar import Calendar, calendar_of
from cadenza.domain.scheduling.calendars.starting import outcome_while_closed
from cadenza.domain.scheduling.due import Cancel, Start, claim, due, opens_at, recheck
from cadenza.domain.scheduling.endpoint import Endpoint, Lease
from cadenza.domain.scheduling.run import Claim, Completion, Outcome, Run, RunStatus, SkippedSlot, skipped_run
from cadenza.domain.scheduling.settle import SettledRun, settle
from cadenza.domain.scheduling.steer import ChangedEndpoint, pause, resume
from cadenza.domain.validation import milliseconds

NOW = datetime(2025, 3, 30, 0, 55, tzinfo=UTC)
"""A whole minute, for cron, and five minutes before Europe changes its clocks."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
ORIGIN = "test"
MOST_ROWS = 1_000


class MinuteCron:
    """Fires every so many whole minutes; of the line it reads only `*/N`."""

    def next(self, expression: str, after: datetime, timezone: str = "UTC") -> datetime:
        step = timedelta(minutes=int(expression.split(maxsplit=1)[0].removeprefix("*/")))
        return EPOCH + ((after - EPOCH) // step + 1) * step


CRON = MinuteCron()


def at(offset_ms: int) -> datetime:
    return NOW + milliseconds(offset_ms)


def an_endpoint(**parts: Any) -> Endpoint:
    return Endpoint(**{"id": "ep-1", "name": "Traffic", **parts})


def a_calendar(*edges_ms: int, id: str = "work") -> Calendar:
    """Open from the first edge to the second, from the third to the fourth, and so on."""
    ends = [at(edge) for edge in edges_ms]
    return calendar_of(id, "UTC", list(zip(ends[::2], ends[1::2], strict=True)))


def a_lease(now: datetime, run_id: str = "run-1", lasting_ms: int = MINUTE) -> Lease:
    return Lease("token", run_id, now + milliseconds(lasting_ms))


def claimed(endpoint: Endpoint, now: datetime = NOW) -> Claim:
    return claim(endpoint, a_lease(now), now)


def ended(held: Claim, status: RunStatus, *, now: datetime, **details: Any) -> SettledRun:
    """Settle the endpoint as it was claimed."""
    return settled(held.endpoint, held, Outcome(status, **details), now=now)


def settled(endpoint: Endpoint, held: Claim, outcome: Outcome, *, now: datetime) -> SettledRun:
    """Settle the endpoint as it stands now."""
    return settle(endpoint, Completion(held, outcome, now), now=now, cron=CRON)


class Worker:
    """Runs one endpoint and keeps its rows, as a store would."""

    def __init__(self, endpoint: Endpoint, now: datetime = NOW) -> None:
        self.endpoint = endpoint
        self.now = now
        self.held: Claim | None = None
        self.rows: list[Run] = []
        self.pauses: list[tuple[datetime, datetime]] = []
        self.dispatched: list[datetime] = []
        self._ids = (f"run-{number}" for number in count(1))

    def wait(self, span_ms: int) -> None:
        self.now += milliseconds(span_ms)

    def amend(self, amended: ChangedEndpoint) -> None:
        self.endpoint = amended.endpoint
        self.pass_over(amended.skipped)

    def pause(self, span_ms: int) -> None:
        until = self.now + milliseconds(span_ms)
        self._end_pauses()
        self.pauses.append((self.now, until))
        self.amend(pause(self.endpoint, until, None, now=self.now, cron=CRON, origin=ORIGIN))

    def resume(self) -> None:
        self._end_pauses()
        self.amend(resume(self.endpoint, None, now=self.now, cron=CRON, origin=ORIGIN))

    def _end_pauses(self) -> None:
        self.pauses = [(since, min(until, self.now)) for since, until in self.pauses]

    def pass_over(self, passed: Sequence[SkippedSlot]) -> None:
        self.rows += [skipped_run(self.endpoint, slot, next(self._ids)) for slot in passed]

    def claim(self, within_ms: int = 0) -> bool:
        if self.held is None and due(self.endpoint, self.now, milliseconds(within_ms)):
            self.held = claim(self.endpoint, a_lease(self.now, next(self._ids)), self.now)
            self.endpoint = self.held.endpoint
        return self.held is not None

    def start(self) -> None:
        """Wait for the claim's moment and look again; a claim that no longer holds is given back."""
        while self.held is not None and self.held.started_at is None:
            self.now = max(self.now, self.held.due_at)
            answer = recheck(self.endpoint, self.held, self.now)
            self.held = answer.claim
            if isinstance(answer, Cancel):
                self.end(RunStatus.CANCELLED, reason=answer.reason)
        self._dispatch()

    def _dispatch(self) -> None:
        """What the executor does: a run that calendars keep from starting ends as they say."""
        kept = None if self.held is None else outcome_while_closed(self.held, self.now)
        if self.held is None or kept is None:
            self.dispatched += [] if self.held is None else [self.now]
            return
        is_over = kept.status is RunStatus.SKIPPED
        self._close(self.held if is_over else self.held._replace(started_at=None), kept)

    def end(self, status: RunStatus, **details: Any) -> None:
        """Close the run that is held."""
        assert self.held is not None
        self._close(self.held, Outcome(status, **details))

    def _close(self, held: Claim, outcome: Outcome) -> None:
        assert len(self.rows) < MOST_ROWS, "it goes round in circles"
        after = settled(self.endpoint, held, outcome, now=self.now)
        self.held, self.endpoint = None, after.endpoint
        self.rows.append(after.run)
        self.pass_over(after.skipped)

    def run(self, status: RunStatus = RunStatus.SUCCESS, lasting_ms: int = 0, **details: Any) -> None:
        """Jump to the next run, and through it."""
        assert self.endpoint.next_run_at is not None
        self.now = max(self.now, opens_at(self.endpoint) or self.endpoint.next_run_at)
        if self.claim():
            self._dispatch()
        if self.held is not None:
            self.wait(lasting_ms)
            self.end(status, **details)


def verdicts(rows: Sequence[Run]) -> dict[datetime, int]:
    """How many verdicts each slot has."""
    slots = {row.slot: 0 for row in rows}
    for row in rows:
        slots[row.slot] += row.verdict
    return slots


def started(answer: object) -> Claim:
    assert isinstance(answer, Start)
    return answer.claim


def anchor_of(endpoint: Endpoint) -> datetime:
    """Where planning starts from: the last run or the last skip, whichever is later, or now."""
    known = [moment for moment in (endpoint.last_run_at, endpoint.skipped_at) if moment is not None]
    return max(known, default=NOW)
