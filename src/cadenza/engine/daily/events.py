"""What the daily runner tells: telemetry for everybody, details in the log for who debugs."""

from datetime import date
from typing import NamedTuple

from cadenza.domain.daily.user import DayStatus, ErrorClass, Verdict
from cadenza.engine.daily.queue import Offered
from cadenza.ports.daily import Owed
from cadenza.ports.telemetry import DEPTH, FINALIZE, IN_FLIGHT, JOB, TICK, Logger, Metadata, Telemetry

SCHEDULER = "daily"
"""By this, listeners tell these events from those about endpoints."""


class Ticked(NamedTuple):
    """What a tick came to."""

    users_scanned: int = 0
    eligible_in_window: int = 0
    enqueued: int = 0
    cutoff_finalized: int = 0
    """How many users' cutoffs were handed to the finalizer."""


class Ended(NamedTuple):
    """How a job ended: `ok`, `error` or `timeout`."""

    result: str
    error_class: ErrorClass | None = None
    error: str | None = None
    duration_ms: float = 0


class DailyEvents:
    """Emits the five events."""

    def __init__(self, telemetry: Telemetry, log: Logger) -> None:
        self._telemetry = telemetry
        self._log = log

    def ticked(self, ticked: Ticked, duration_ms: float) -> None:
        """A tick is over."""
        self._emit(TICK, {"duration_ms": duration_ms}, ticked._asdict())

    def depth(self, depth: int, today: date) -> None:
        """So many days wait."""
        self._emit(DEPTH, {"depth": depth}, {"today": today.isoformat()})

    def in_flight(self, in_flight: int, most: int) -> None:
        """So many jobs run."""
        self._emit(IN_FLIGHT, {"in_flight": in_flight}, {"max_concurrency": most})

    def job_stopped(self, owed: Owed, ended: Ended) -> None:
        """A job has ended."""
        failed = {} if ended.error_class is None else {"error_class": ended.error_class.value}
        self._emit(JOB, {"duration_ms": ended.duration_ms}, {"result": ended.result, **failed})
        if ended.error is not None:
            self._detail("a daily job failed", owed, result=ended.result, error=ended.error, **failed)

    def finalized(self, verdict: Verdict) -> None:
        """A day has its verdict."""
        late: dict[str, str | bool] = {"late": verdict.late}
        if verdict.cause is not None:
            late["cause"] = verdict.cause.value
        told = {"status": verdict.status.value, "due_bucket": verdict.due_bucket}
        self._emit(FINALIZE, {}, {**told, "today": verdict.service_date.isoformat(), **late})

    def late_success(self, owed: Owed, status: DayStatus | None) -> None:
        """A job succeeded, and its day has been cut off."""
        self._detail("late success", owed, status=None if status is None else status.value)

    @property
    def verbose(self) -> bool:
        """Whether details are wanted."""
        return self._log.verbose

    def judged(self, owed: Owed, judged: Offered) -> None:
        """A day in its window was not enqueued."""
        if judged is not Offered.ENQUEUED:
            self._detail("not enqueued", owed, reason=judged.value)

    def clock_trusted(self, *, trusted: bool) -> None:
        """The clock on the wall was stepped, or can be trusted again."""
        if trusted:
            self._log.info("the clock can be trusted again")
        else:
            self._log.warning("the clock was stepped: no daily jobs and no verdicts until it can be trusted")

    def _emit(self, event: str, measurements: dict[str, float], metadata: Metadata) -> None:
        self._telemetry.emit(event, measurements, {**metadata, "scheduler": SCHEDULER})

    def _detail(self, event: str, owed: Owed, **facts: object) -> None:
        if self._log.verbose:
            day = owed.service_date.isoformat()
            self._log.debug(event, tenant=owed.tenant_id, user=owed.user_id, service_date=day, **facts)
