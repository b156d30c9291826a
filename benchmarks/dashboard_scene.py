"""What the dashboard looks at beside runs: users of agents, schedules, and days of daily jobs."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, time, timedelta
from functools import partial
from itertools import product
from typing import Any

from benchmarks.listing import NOW, TENANT

from cadenza.domain.access import Caller, Scope
from cadenza.domain.daily import DailyUser, Ruling, enrollment
from cadenza.domain.daily_rules import enroll, succeeded
from cadenza.domain.people import Agent, User
from cadenza.domain.window import DAY, due_at_minute
from cadenza.operations.office import Office
from cadenza.ports.store import Store

ADMIN = Caller(TENANT, frozenset(Scope), "benchmark")
PEOPLE, SCHEDULES = 200, 40
MINUTES_OF_DAY = 1_440
AT_ONCE = 2_000
TODAY = NOW.date()
MIDNIGHT = datetime.combine(TODAY, time(), UTC)
TALLIES = [
    (TENANT, str(TODAY - day * DAY), due, 690, 5, 1)
    for day, due in product(range(2, 30), range(MINUTES_OF_DAY))
]
"""A month in which a million users were served each day: what is kept of it to be shown."""
Tally = Callable[[list[tuple[Any, ...]]], Awaitable[None]]


async def people(store: Store, office: Office) -> None:
    """Users, an agent, and one user with many schedules."""
    await store.put_agent(Agent(id="helper", tenant_id=TENANT, name="Helper"))
    for n in range(PEOPLE):
        await store.put_user(User(id=f"user-{n:04}", tenant_id=TENANT, timezone="UTC"))
    for n in range(SCHEDULES):
        wanted = {"name": f"schedule {n}", "prompt": "say hello", "schedule_type": "recurring"}
        when = {"cron_expression": f"{n} 9 * * *", "user_id": "user-0000", "agent_id": "helper"}
        await office.ask("create_schedule", wanted | when, ADMIN)


async def days(store: Store, users: int, tally: Tally) -> None:
    """Users with due times all over today, half of them served; and a month before."""
    wanted = [enrollment(TENANT, f"user-{n:07}", due_at_minute(n % MINUTES_OF_DAY)) for n in range(users)]
    before = MIDNIGHT - timedelta(hours=2)
    for begin in range(0, users, AT_ONCE):
        some = wanted[begin : begin + AT_ONCE]
        await store.enroll(some, partial(enroll, now=before))
        await store.settle_days([one.key for one in some[::2]], _served)
    await tally(TALLIES)


def _served(user: DailyUser) -> Ruling | None:
    return succeeded(user, user.next_date, user.next_cutoff - timedelta(minutes=30))
