"""What the daily runner must do, said again in the plainest way; it shares no rule with the product."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

DAY = timedelta(days=1)
TICK_MS = 60_000


class Pace(NamedTuple):
    """How long windows last, and how long a user waits between tries, in minutes."""

    window_minutes: int = 60
    retry_delay_minutes: int = 10

    @property
    def window(self) -> timedelta:
        return timedelta(minutes=self.window_minutes)

    @property
    def retry_ms(self) -> int:
        return self.retry_delay_minutes * 60_000


class Attempt(NamedTuple):
    """A day of a user that is tried; the soonest cutoff sorts first."""

    cutoff: datetime
    user_id: str

    @property
    def day(self) -> date:
        return self.cutoff.date()


class Expected(NamedTuple):
    """A verdict as it must be found."""

    status: str
    due: time
    late: bool
    cause: str | None


@dataclass
class Timetable:
    """When each of a user's days is cut off, from the first one that is owed."""

    due: dict[date, time]
    fixed: dict[date, datetime] = field(default_factory=dict)
    """When windows open, of days that have been the next one."""

    @classmethod
    def of(cls, due: time, now: datetime) -> "Timetable":
        days = [now.date() + number * DAY for number in range(-1, 60)]
        return cls({day: due for day in days if cls.at(due, day) > now})

    @staticmethod
    def at(due: time, day: date) -> datetime:
        return datetime.combine(day, due, UTC)

    def cutoff(self, day: date) -> datetime:
        return self.at(self.due[day], day)

    def opens(self, day: date, window: timedelta) -> datetime:
        return self.fixed.get(day, self.cutoff(day) - window)

    def is_next(self, day: date, window: timedelta) -> None:
        """From now on its window is as long as windows are now."""
        self.fixed.setdefault(day, self.cutoff(day) - window)

    def change(self, due: time, now: datetime, window: timedelta) -> None:
        """Each day is asked by itself; once one has changed, so have all that follow."""
        changed = False
        for day in sorted(self.due):
            opened = self.opens(day, window) <= now
            ahead = self.at(due, day) > now
            changed = changed or (not opened and ahead)
            if changed:
                self.due[day] = due
                self.fixed.pop(day, None)


@dataclass
class Trust:
    """The clocks are believed until they part, and again after three ticks together."""

    offset_s: float | None = None
    agreed: int = 3
    parted: bool = False

    def tick(self, offset_s: float) -> None:
        apart = 0.0 if self.offset_s is None else abs(offset_s - self.offset_s)
        self.offset_s = offset_s
        if apart > 300:
            self.parted, self.agreed = True, 0
        elif apart <= 5:
            self.agreed += 1
        else:
            self.agreed = 0
        self.parted = self.parted and self.agreed < 3

    def holds(self, offset_s: float) -> bool:
        together = self.offset_s is None or abs(offset_s - self.offset_s) <= 300
        return together and not self.parted


@dataclass
class Process:
    """What lives as long as a process does."""

    trust: Trust = field(default_factory=Trust)
    queue: list[Attempt] = field(default_factory=list)
    running: list[Attempt] = field(default_factory=list)
    succeeded: dict[str, tuple[date, datetime]] = field(default_factory=dict)
    """What returned well and is not written: the day, and when it returned."""
    cut: dict[str, tuple[datetime, datetime, str]] = field(default_factory=dict)
    """Whose days are to be cut off: as of when, since when they were served, and what was before."""
    enqueued_ms: dict[tuple[str, date], float] = field(default_factory=dict)
    since: datetime | None = None
    cause: str = "down"
    broken: str | None = "down"
    ticked_ms: float | None = None


class Model:
    """Users, their days, and one process at a time."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.pace = Pace()
        self.users: dict[str, Timetable] = {}
        self.verdicts: dict[tuple[str, date], Expected] = {}
        self.gaps: dict[tuple[str, date], date] = {}
        self.process = Process()

    def next_day(self, user_id: str) -> date:
        """The first day that is not settled."""
        ended = [to for (owner, _), to in self.gaps.items() if owner == user_id]
        days = self.users[user_id].due
        return next(
            day
            for day in sorted(days)
            if (user_id, day) not in self.verdicts and all(day > to for to in ended)
        )

    def opens(self, attempt: Attempt) -> datetime:
        return self.users[attempt.user_id].opens(attempt.day, self.pace.window)

    def fix_window(self, user_id: str) -> None:
        """The window of the next day keeps its length, whatever is set later."""
        self.users[user_id].is_next(self.next_day(user_id), self.pace.window)

    def tick(self, now: datetime, steady_ms: float, *, away: bool = False) -> list[Attempt]:
        """What is started with a tick; what waits already can start also when the store is away."""
        process = self.process
        process.trust.tick(offset(now, steady_ms))
        if not process.trust.holds(offset(now, steady_ms)):
            process.broken = process.broken or "clock"
            return []
        if process.ticked_ms is not None and steady_ms - process.ticked_ms > 3 * TICK_MS:
            process.broken = process.broken or "stalled"
        if away:
            process.broken = process.broken or "store"
            return self.start(now, steady_ms)
        if process.broken:
            process.since, process.cause = now, process.broken
        process.broken, process.ticked_ms = None, steady_ms
        self._cut(now)
        self._enqueue(now, steady_ms, self.users)
        return self.start(now, steady_ms)

    def start(self, now: datetime, steady_ms: float) -> list[Attempt]:
        """What can start now."""
        process, started = self.process, []
        if not process.trust.holds(offset(now, steady_ms)):
            return []
        while process.queue and len(process.running) < self.slots:
            process.queue.sort()
            attempt = process.queue.pop(0)
            if self.opens(attempt) <= now < attempt.cutoff:
                process.running.append(attempt)
                started.append(attempt)
            else:
                del process.enqueued_ms[attempt.user_id, attempt.day]
        return started

    def returned(self, attempt: Attempt, now: datetime, *, ok: bool) -> None:
        """A job has come back."""
        self.process.running.remove(attempt)
        if ok:
            self.process.succeeded[attempt.user_id] = (attempt.day, now)

    def settle(self, now: datetime, steady_ms: float) -> None:
        """All that is to be written is written: finished jobs first."""
        process = self.process
        if not process.trust.holds(offset(now, steady_ms)):
            return
        before = set(self.verdicts)
        for user_id, (day, at) in process.succeeded.items():
            timetable = self.users[user_id]
            status = "success" if at < timetable.cutoff(day) else "cutoff_reached"
            verdict = Expected(status, timetable.due[day], late=False, cause=None)
            self.verdicts.setdefault((user_id, day), verdict)
        for user_id, seen in process.cut.items():
            self._give_verdicts(user_id, *seen)
        process.succeeded, process.cut = {}, {}
        for user_id in self.users:
            self.fix_window(user_id)
        ruled = {user_id for user_id, _ in self.verdicts.keys() - before}
        self._enqueue(now, steady_ms, sorted(ruled))

    def crash(self) -> None:
        """All that is not written is gone."""
        self.process = Process()

    def _cut(self, now: datetime) -> None:
        assert self.process.since is not None
        for user_id, timetable in self.users.items():
            if timetable.cutoff(self.next_day(user_id)) <= now:
                self.process.cut[user_id] = (now, self.process.since, self.process.cause)

    def _enqueue(self, now: datetime, steady_ms: float, users: Iterable[str]) -> None:
        process = self.process
        busy = {one.user_id for one in (*process.queue, *process.running)} | process.succeeded.keys()
        for user_id in users:
            attempt = Attempt(self.users[user_id].cutoff(self.next_day(user_id)), user_id)
            in_window = self.opens(attempt) <= now < attempt.cutoff
            before_ms = process.enqueued_ms.get((user_id, attempt.day))
            rested = before_ms is None or steady_ms - before_ms >= self.pace.retry_ms
            if in_window and rested and user_id not in busy:
                process.queue.append(attempt)
                process.enqueued_ms[user_id, attempt.day] = steady_ms

    def _give_verdicts(self, user_id: str, now: datetime, since: datetime, cause: str) -> None:
        timetable, first = self.users[user_id], self.next_day(user_id)
        days = [day for day in sorted(timetable.due) if day >= first and timetable.cutoff(day) <= now]
        if len(days) > 7:
            self.gaps[user_id, first] = days[-8]
        for day in days[-7:]:
            late = timetable.cutoff(day) < since
            self.verdicts[user_id, day] = Expected(
                "cutoff_reached", timetable.due[day], late, cause if late else None
            )


def offset(now: datetime, steady_ms: float) -> float:
    """How far the wall clock is ahead of the steady one, in seconds."""
    return now.timestamp() - steady_ms / 1_000
