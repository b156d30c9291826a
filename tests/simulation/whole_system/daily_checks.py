"""What is promised to daily users: I1, I2 and I6 by their verdicts, I4 with every tick, I5 with every commit.

I3 is looked at where the runs arrive, in `receivers`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from tests.simulation.whole_system.connections import CommitChecks, StoreCall
from tests.simulation.whole_system.receivers import DailyTarget
from tests.simulation.whole_system.simulated_world import SimulatedWorld

from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.user import DailyGap, DailyUser, DayStatus, Verdict
from cadenza.domain.daily.window import DAY
from cadenza.testing.simulated_process import SimulatedProcess

SETTLED_S = 15
"""A day must have its verdict so long after its cutoff."""
TICK_S = 0.5
"""How long a tick may take beside what it reads."""
FINALIZE = "daily.finalize_days"


class DailyRows(NamedTuple):
    """All that is stored of a daily user."""

    user: DailyUser
    verdicts: list[Verdict]
    gaps: list[DailyGap]

    @property
    def days(self) -> list[date]:
        """The days that have a verdict or are part of a gap."""
        in_gaps = [gap.from_date + number * DAY for gap in self.gaps for number in range(gap.days)]
        return in_gaps + [verdict.service_date for verdict in self.verdicts]


class DailyChecks:
    """I5: what is stored of a user changes with a verdict, and never when a run is claimed."""

    def __init__(
        self, world: SimulatedWorld, checks: CommitChecks, read: Callable[[UserKey], DailyRows]
    ) -> None:
        self._world = world
        self._checks = checks
        self._read = read
        self._rows: dict[UserKey, DailyRows] = {}
        self.execute_within = checks.execute_within

    def enrolled(self, key: UserKey) -> None:
        """A user is served from now on."""
        self._rows[key] = self._read(key)

    def claimed(self, key: UserKey) -> None:
        """A run of a user begins."""
        self._must_be_known(key, "when its run began")

    def execute(self, call: StoreCall) -> Any:
        """Execute a call, and look at what it wrote of daily users."""
        if call.name != FINALIZE:
            return self._checks.execute(call)
        for key in self._rows:
            self._must_be_known(key, "before it was finalized")
        result = self._checks.execute(call)
        for key, before in list(self._rows.items()):
            self._rows[key] = after = self._read(key)
            if after != before and len(after.days) <= len(before.days):
                self._world.violation(f"I5: {key.id} is changed by {call.process.name} without a verdict")
        return result

    def _must_be_known(self, key: UserKey, when: str) -> None:
        if self._read(key) != self._rows[key]:
            self._world.violation(f"I5: {key.id} was changed without a verdict, {when}")


class TickChecks:
    """I4: a tick of one process takes no longer than its reads."""

    def __init__(
        self, world: SimulatedWorld, process: SimulatedProcess, freezes: Counter[SimulatedProcess]
    ) -> None:
        self._world = world
        self._process = process
        self._freezes = freezes
        self._seen = 0

    def emit(self, event: str, measurements: Mapping[str, float], _: object) -> None:
        """A tick has ended."""
        waited_s = self._world.read_s.pop(self._process, 0.0)
        frozen, self._seen = self._freezes[self._process] - self._seen, self._freezes[self._process]
        took_s = measurements["duration_ms"] / 1_000
        if took_s > waited_s * 1.1 + TICK_S and not frozen:
            self._world.violation(
                f"I4: a tick of {self._process.name} took {took_s:.1f} s, its reads {waited_s:.1f} s"
            )


def daily_violations(
    rows: DailyRows, target: DailyTarget, *, now: datetime, first_cutoff: datetime, had_faults: bool
) -> Iterator[str]:
    """I1, I2 and I6: each day whose cutoff has passed has one verdict in time, which says what happened."""
    user_id, of_day = rows.user.user_id, {one.service_date: one for one in rows.verdicts}
    if len(set(rows.days)) != len(rows.days):
        yield f"I1: {user_id} has several verdicts for a day: {rows.days}"
    if any(day > now.astimezone(UTC).date() for day in rows.days):
        yield f"I6: {user_id} has a verdict of the future: {rows.days}"
    for cutoff in _cutoffs(first_cutoff, now - timedelta(seconds=SETTLED_S)):
        day = cutoff.date()
        if day not in rows.days:
            yield f"I6: {user_id} has no verdict for {day}, whose cutoff was {cutoff}"
        elif day in of_day:
            served = any(at < cutoff for at in target.successes[rows.user.key.user, day])
            words = _verdict_violations(of_day[day], cutoff, served=served, had_faults=had_faults)
            yield from (f"I6: {user_id} on {day}: {one}" for one in words)


def _cutoffs(first: datetime, until: datetime) -> Sequence[datetime]:
    return [first + number * DAY for number in range((until - first) // DAY + 1)]


def _verdict_violations(
    verdict: Verdict, cutoff: datetime, *, served: bool, had_faults: bool
) -> Iterator[str]:
    if verdict.status is DayStatus.SUCCESS and not served:
        yield "it is called served, and was not"
    if had_faults:
        return
    if verdict.status is not DayStatus.SUCCESS and served:
        yield f"it was served, and is called {verdict.status}"
    if not verdict.late and verdict.decided_at > cutoff + timedelta(seconds=SETTLED_S):
        yield f"it was decided at {verdict.decided_at}, and the cutoff was {cutoff}"
