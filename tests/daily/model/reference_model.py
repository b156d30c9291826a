"""What the daily runner must do, said again in the plainest way; it shares no rule with the product."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from tests.daily.model.timetable import Timetable
from tests.daily.model.wall_clocks import Hours, Terms

TICK_MS = 60_000
EVERY_DAY = frozenset(range(7))


class Pace(NamedTuple):
    """How long windows last, and how long a user waits between tries, in minutes."""

    window_minutes: int = 60
    retry_delay_minutes: int = 10


class Programme(NamedTuple):
    """What is owed once a day; what it leaves open, the installation says."""

    window_minutes: int | None = None
    retry_delay_minutes: int | None = None
    weekdays: frozenset[int] = EVERY_DAY
    """From Monday, 0."""
    only: Hours | None = None
    never: Hours | None = None
    share_percent: int = 100

    def window(self, pace: Pace) -> timedelta:
        return timedelta(minutes=self.window_minutes or pace.window_minutes)

    def retry_ms(self, pace: Pace) -> int:
        return (self.retry_delay_minutes or pace.retry_delay_minutes) * 60_000

    def serves(self, day: date, due: time) -> bool:
        """A calendar is asked for the user's date and due time as wall clocks of its own zone show them."""
        return (
            day.weekday() in self.weekdays
            and (self.only is None or self.only.open(day, due))
            and not (self.never is not None and self.never.open(day, due))
        )


class Key(NamedTuple):
    """A user, enrolled in a programme."""

    programme: str
    user_id: str


class Attempt(NamedTuple):
    """A day of a user that is tried; the soonest cutoff sorts first."""

    cutoff: datetime
    programme: str
    user_id: str
    day: date
    opens: datetime
    due: time

    @property
    def key(self) -> Key:
        return Key(self.programme, self.user_id)


class Expected(NamedTuple):
    """A verdict as it must be found."""

    status: str
    due: time
    late: bool
    cause: str | None


class Seen(NamedTuple):
    """A tick at which a user was past a cutoff: since when its users were served, and what was before."""

    now: datetime
    since: datetime
    cause: str


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

    pace: Pace = Pace()
    programmes: Mapping[str, Programme] = field(default_factory=dict)
    """As they were at the last tick."""
    trust: Trust = field(default_factory=Trust)
    queue: list[Attempt] = field(default_factory=list)
    running: list[Attempt] = field(default_factory=list)
    succeeded: dict[Key, tuple[date, datetime]] = field(default_factory=dict)
    """What returned well and is not written: the day, and when it returned."""
    cut: dict[Key, Seen] = field(default_factory=dict)
    """Whose days are to be cut off."""
    passed: dict[Key, datetime] = field(default_factory=dict)
    """Whose window would be open, as of when, for a date that is not served."""
    out_of_share: set[Attempt] = field(default_factory=set)
    """What was not started because its programme had its share; it is looked at when there is room."""
    rests_until_ms: dict[tuple[Key, date], float] = field(default_factory=dict)
    since: datetime | None = None
    cause: str = "down"
    broken: str | None = "down"
    ticked_ms: float | None = None

    @property
    def busy(self) -> set[Key]:
        """Who is queued or runs, or has a success that is not written."""
        return {one.key for one in (*self.queue, *self.running)} | self.succeeded.keys()

    def window(self, programme: str) -> timedelta:
        return self.programmes[programme].window(self.pace)

    def room(self, programme: str, slots: int) -> bool:
        """Whether the programme has a share of the slots left."""
        share = max(1, slots * self.programmes[programme].share_percent // 100)
        return sum(one.programme == programme for one in self.running) < share


class Model:
    """Users, their days, and one process at a time."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.programmes: dict[str, Programme] = {"daily": Programme()}
        self.users: dict[Key, Timetable] = {}
        self.verdicts: dict[tuple[Key, date], Expected] = {}
        self.gaps: dict[Key, list[tuple[date, date]]] = {}
        self.process = Process()

    def window(self, programme: str) -> timedelta:
        return self.programmes[programme].window(self.process.pace)

    def enroll(self, key: Key, terms: Terms, now: datetime) -> None:
        window = self.window(key.programme)
        if key in self.users:
            self.users[key].change(terms, now, window)
        else:
            self.users[key] = Timetable.of(terms, now, window)

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
        if process.programmes != self.programmes:
            process.programmes, process.out_of_share = dict(self.programmes), set()
        self._notice(now)
        self._enqueue(now, steady_ms, self.users)
        return self.start(now, steady_ms)

    def start(self, now: datetime, steady_ms: float) -> list[Attempt]:
        """What can start now."""
        process, started = self.process, []
        if not process.trust.holds(offset(now, steady_ms)):
            return []
        for attempt in sorted(process.queue):
            has_room = process.room(attempt.programme, self.slots)
            if len(process.running) == self.slots:
                break
            if attempt in process.out_of_share and not has_room:
                continue
            if has_room or not self._can_start(attempt, now):
                process.queue.remove(attempt)
                process.out_of_share.discard(attempt)
            if not self._can_start(attempt, now):
                del process.rests_until_ms[attempt.key, attempt.day]
            elif has_room:
                process.running.append(attempt)
                started.append(attempt)
            else:
                process.out_of_share.add(attempt)
        return started

    def _can_start(self, attempt: Attempt, now: datetime) -> bool:
        in_window = attempt.opens <= now < attempt.cutoff
        pending = attempt.day == self.users[attempt.key].next_day
        return in_window and pending and self._serves(attempt.programme, attempt.day, attempt.due)

    def returned(self, attempt: Attempt, now: datetime, *, ok: bool) -> None:
        """A job has come back."""
        self.process.running.remove(attempt)
        if ok:
            self.process.succeeded[attempt.key] = (attempt.day, now)

    def settle(self, now: datetime, steady_ms: float) -> None:
        """All that is to be written is written: finished jobs first."""
        process = self.process
        if not process.trust.holds(offset(now, steady_ms)):
            return
        before = {key: timetable.settled for key, timetable in self.users.items()}
        for key, (day, at) in process.succeeded.items():
            if day == self.users[key].next_day:
                status = "success" if at < self.users[key].cutoff(day) else "cutoff_reached"
                self._rule(key, day, Expected(status, self.users[key].terms[day].due, late=False, cause=None))
        for key, seen in process.cut.items():
            self._settle_cut(key, seen)
        for key, at in process.passed.items():
            if self.users[key].opens <= at and not self._is_served(key, self.users[key].next_day):
                self._pass_over(key, self.users[key].next_day)
        process.succeeded, process.cut, process.passed = {}, {}, {}
        self._enqueue(now, steady_ms, [key for key, at in before.items() if self.users[key].settled != at])

    def crash(self, pace: Pace) -> None:
        """All that is not written is gone."""
        self.process = Process(pace)

    def _rule(self, key: Key, day: date, verdict: Expected) -> None:
        self.verdicts[key, day] = verdict
        self._settle(key, day)

    def _pass_over(self, key: Key, day: date) -> None:
        """It is in a gap, or not owed."""
        self.users[key].not_owed.add(day)
        self._settle(key, day)

    def _settle(self, key: Key, day: date) -> None:
        self.users[key].settle(day, self.process.window(key.programme))

    def _serves(self, programme: str, day: date, due: time) -> bool:
        return self.process.programmes[programme].serves(day, due)

    def _is_served(self, key: Key, day: date) -> bool:
        return self._serves(key.programme, day, self.users[key].terms[day].due)

    def _notice(self, now: datetime) -> None:
        """Who is past a cutoff, or in the window of a date that is not served and is not tried already."""
        process = self.process
        assert process.since is not None
        for key, timetable in self.users.items():
            if timetable.cutoff(timetable.next_day) <= now:
                process.cut[key] = Seen(now, process.since, process.cause)
            elif not (timetable.opens > now or self._is_served(key, timetable.next_day)):
                process.passed |= {} if key in process.busy else {key: now}

    def _enqueue(self, now: datetime, steady_ms: float, users: Iterable[Key]) -> None:
        process = self.process
        for key in users:
            timetable, day = self.users[key], self.users[key].next_day
            due, cutoff = timetable.terms[day].due, timetable.cutoff(day)
            attempt = Attempt(cutoff, *key, day, timetable.opens, due)
            in_window = attempt.opens <= now < attempt.cutoff
            rested = steady_ms >= process.rests_until_ms.get((key, day), steady_ms)
            if in_window and rested and key not in process.busy and self._is_served(key, day):
                process.queue.append(attempt)
                rest_ms = process.programmes[key.programme].retry_ms(process.pace)
                process.rests_until_ms[key, day] = steady_ms + rest_ms

    def _settle_cut(self, key: Key, seen: Seen) -> None:
        """Of days that are cut off, the last seven of the calendar get verdicts; what is older is a gap."""
        now, since, cause = seen
        timetable = self.users[key]
        over = [day for day in timetable.days() if timetable.cutoff(day) <= now]
        older = [day for day in over if (over[-1] - day).days >= 7 and self._is_served(key, day)]
        if older:
            self.gaps.setdefault(key, []).append((older[0], older[-1]))
        for day in over:
            due, late = timetable.terms[day].due, timetable.cutoff(day) < since
            if (over[-1] - day).days >= 7 or not self._is_served(key, day):
                self._pass_over(key, day)
            else:
                self._rule(key, day, Expected("cutoff_reached", due, late, cause if late else None))


def offset(now: datetime, steady_ms: float) -> float:
    """How far the wall clock is ahead of the steady one, in seconds."""
    return now.timestamp() - steady_ms / 1_000
