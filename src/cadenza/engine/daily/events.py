"""The daily runner's telemetry events and log details."""

from datetime import date, time
from typing import NamedTuple

from cadenza.domain.daily.user import DailyGap, DayStatus, Verdict
from cadenza.domain.job_failure import ErrorClass
from cadenza.engine.daily.queue import OfferResult
from cadenza.ports.daily import PendingDay
from cadenza.ports.telemetry import DEPTH, FINALIZE, IN_FLIGHT, JOB, TICK, Logger, Metadata, Telemetry

SCHEDULER = "daily"
"""The value of `scheduler` in these events' metadata; it distinguishes them from those about endpoints."""
MOST_WARNINGS = 20
"""A function that raises is warned of once for each kind of exception, and so many times at most."""


class TickCounts(NamedTuple):
    """The counts of one tick."""

    users_scanned: int = 0
    eligible_in_window: int = 0
    enqueued: int = 0
    cutoff_finalized: int = 0
    """How many days were written as cut off since the tick before."""


class DailyRunEnd(NamedTuple):
    """How a run ended: `ok`, `error` or `timeout`."""

    result: str
    error_class: ErrorClass | None = None
    error: str | None = None
    traceback: str | None = None
    duration_ms: float = 0


class DailyEvents:
    """Emits the five telemetry events, and logs details at debug level."""

    def __init__(self, telemetry: Telemetry, log: Logger) -> None:
        self._telemetry = telemetry
        self._log = log
        self._raised: set[str] = set()
        """The kinds of exceptions that a warning was logged for."""

    def ticked(self, counts: TickCounts, duration_ms: float) -> None:
        """A tick has ended."""
        self._emit(TICK, {"duration_ms": duration_ms}, counts._asdict())

    def depth(self, depth: int, today: date) -> None:
        """The number of queued days."""
        self._emit(DEPTH, {"depth": depth}, {"today": today.isoformat()})

    def in_flight(self, in_flight: int, most: int) -> None:
        """The number of runs under way, and the limit."""
        self._emit(IN_FLIGHT, {"in_flight": in_flight}, {"max_concurrency": most})

    def job_stopped(self, day: PendingDay, ended: DailyRunEnd) -> None:
        """A run has ended."""
        failed = {} if ended.error_class is None else {"error_class": ended.error_class.value}
        self._emit(JOB, {"duration_ms": ended.duration_ms}, {"result": ended.result, **_of(day), **failed})
        if ended.error is None:
            return
        raised = {} if ended.traceback is None else {"traceback": ended.traceback}
        kind = ended.error.partition(":")[0]
        if raised and kind not in self._raised and len(self._raised) < MOST_WARNINGS:
            self._raised.add(kind)
            self._log.warning("a daily function raised", error=ended.error, **raised)
        self._detail("a daily job failed", day, result=ended.result, error=ended.error, **failed, **raised)

    def finalized(self, verdict: Verdict) -> None:
        """A day has its verdict."""
        self._finalized(verdict)

    def gap(self, gap: DailyGap, due: time) -> None:
        """Days too old for verdicts of their own were cut off: one event, named by the last of them."""
        last = Verdict(
            gap.tenant_id,
            gap.programme_id,
            gap.user_id,
            gap.to_date,
            DayStatus.CUTOFF_REACHED,
            due,
            gap.noticed_at,
            late=True,
            cause=gap.cause,
        )
        self._finalized(last, gap.days)

    def _finalized(self, verdict: Verdict, days: int = 1) -> None:
        late: dict[str, str | bool] = {"late": verdict.late}
        if verdict.cause is not None:
            late["cause"] = verdict.cause.value
        facts = {"status": verdict.status.value, "due_bucket": verdict.due_bucket, **_of(verdict)}
        self._emit(FINALIZE, {"days": days}, {**facts, "today": verdict.service_date.isoformat(), **late})

    def late_success(self, day: PendingDay, status: DayStatus | None) -> None:
        """A run succeeded after the cutoff of its day."""
        self._detail("late success", day, status=None if status is None else status.value)

    @property
    def verbose(self) -> bool:
        """Whether details are logged."""
        return self._log.verbose

    def offered(self, day: PendingDay, result: OfferResult) -> None:
        """A day in its window was offered to the queue; logged if it was not enqueued."""
        if result is not OfferResult.ENQUEUED:
            self._detail("not enqueued", day, reason=result.value)

    def clock_trusted(self, *, trusted: bool) -> None:
        """The wall clock was stepped, or can be trusted again."""
        if trusted:
            self._log.info("the clock is reliable again")
        else:
            self._log.warning("the clock was stepped: no daily jobs and no results until it is reliable")

    def _emit(self, event: str, measurements: dict[str, float], metadata: Metadata) -> None:
        self._telemetry.emit(event, measurements, {**metadata, "scheduler": SCHEDULER})

    def _detail(self, event: str, day: PendingDay, **facts: object) -> None:
        if self._log.verbose:
            service_date = day.service_date.isoformat()
            named = {"tenant": day.tenant_id, "user": day.user_id, **_of(day)}
            self._log.debug(event, **named, service_date=service_date, **facts)


def _of(one: PendingDay | Verdict) -> dict[str, str]:
    return {"programme": one.programme_id}
