"""Seed 002 to the letter: KV, planner, queue and executor as sections 3 to 8 say, and nothing more."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple

WINDOW = timedelta(minutes=60)
RETRY_DELAY = timedelta(minutes=10)


@dataclass
class Kv:
    """3) The durable record of a user."""

    due_time: time
    last_date: str | None = None
    status: str | None = None
    last_run_at: datetime | None = None


class Ran(NamedTuple):
    """An attempt, and when it was started."""

    user_id: str
    today: str
    at: datetime


Outcome = Callable[[str, str, int], tuple[timedelta, bool]]
"""How long the n-th attempt of a user's day takes, and whether it goes well."""


@dataclass
class Literal:
    """One node that is never down."""

    users: dict[str, Kv]
    outcome: Outcome
    queued_or_running: set[str] = field(default_factory=set)
    next_attempt_at: dict[tuple[str, str], datetime] = field(default_factory=dict)
    running: list[tuple[datetime, str, str, bool]] = field(default_factory=list)
    attempts: list[Ran] = field(default_factory=list)
    finalized: dict[tuple[str, str], str] = field(default_factory=dict)

    def tick(self, now: datetime) -> None:
        """5) Iterate all users; what has returned since the last tick is handled first."""
        self.returns(now)
        today = now.date().isoformat()
        for user_id, kv in self.users.items():
            cutoff_time = datetime.combine(now.date(), kv.due_time, UTC)
            start_time = cutoff_time - WINDOW
            if kv.last_date == today:
                continue
            if now >= cutoff_time:
                self.finalize(user_id, today, "cutoff_reached")
            elif start_time <= now < cutoff_time:
                self.enqueue(user_id, today, now)

    def enqueue(self, user_id: str, today: str, now: datetime) -> None:
        """6) The enqueue rule; there is a slot for everybody, so what is queued runs at once."""
        if user_id in self.queued_or_running:
            return
        if (user_id, today) in self.next_attempt_at and now < self.next_attempt_at[user_id, today]:
            return
        self.queued_or_running.add(user_id)
        self.next_attempt_at[user_id, today] = now + RETRY_DELAY
        tried = sum((one.user_id, one.today) == (user_id, today) for one in self.attempts)
        takes, ok = self.outcome(user_id, today, tried)
        self.attempts.append(Ran(user_id, today, now))
        self.running.append((now + takes, user_id, today, ok))

    def returns(self, now: datetime) -> None:
        """7) Result handling."""
        for done in sorted(one for one in self.running if one[0] <= now):
            self.running.remove(done)
            at, user_id, today, ok = done
            self.queued_or_running.discard(user_id)
            if ok and self.users[user_id].last_date != today:
                self.finalize(user_id, today, "success")
                self.users[user_id].last_run_at = at

    def finalize(self, user_id: str, today: str, status: str) -> None:
        """8) Durable."""
        self.users[user_id].last_date, self.users[user_id].status = today, status
        self.finalized[user_id, today] = status
