"""Test data of the dashboard beside runs: users, schedules, turns, analyses, alerts, verdicts."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, time, timedelta
from functools import partial
from itertools import product
from typing import Any

from benchmarks.listing import BEGIN, NOW, TENANT

from cadenza.adapters.planners.learning.cache import LearnedState
from cadenza.domain.access.key import Caller, Scope
from cadenza.domain.agents.users import Agent, User
from cadenza.domain.daily.rules import enroll, finalize_success
from cadenza.domain.daily.user import DailyUser, Finalization, enrollment
from cadenza.domain.daily.window import DAY, due_at_minute
from cadenza.domain.monitoring.alert import failure_alert
from cadenza.domain.monitoring.slo import Judgement, Slo, SloMeasurement, SloState
from cadenza.domain.planning.analysis import Analysis, Tokens, ToolCall, Trigger
from cadenza.domain.planning.learning.gains import Gains
from cadenza.domain.planning.learning.serialization import PLANNER
from cadenza.domain.planning.learning.state import EndpointModel
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.operations.application import Application
from cadenza.ports.monitoring import SloStatus
from cadenza.ports.store import Store

ADMIN = Caller(TENANT, frozenset(Scope), "benchmark")
BUSY = "endpoint-0"
"""Has every fifth of all runs."""
PEOPLE, SCHEDULES, TURNS = 200, 40, 50
ANALYSES, RULES, ALERTS = 20_000, 50, 2_000
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


async def add_users_and_agents(store: Store, application: Application) -> str:
    """Users, an agent, one user with many schedules, and one with much to say; a schedule's id."""
    await store.agents.put_agent(Agent(id="helper", tenant_id=TENANT, name="Helper"))
    for n in range(PEOPLE):
        await store.users.put_user(User(id=f"user-{n:04}", tenant_id=TENANT, timezone="UTC"))
    made = {}
    for n in range(SCHEDULES):
        wanted = {"name": f"schedule {n}", "prompt": "say hello", "schedule_type": "recurring"}
        when = {"cron_expression": f"{n} 9 * * *", "user_id": "user-0000", "agent_id": "helper"}
        made = (await application.ask("create_schedule", wanted | when, ADMIN)).model_dump()
    said = {"agent_id": "helper", "user_id": "user-0001", "text": "list my reminders"}
    for _ in range(TURNS):
        await application.ask("send_message", said, ADMIN)
    return str(made["id"])


async def add_analyses(store: Store, application: Application, endpoints: int) -> None:
    """A week of analyses, what was learned about every endpoint, and rules."""
    for begin in range(0, ANALYSES, AT_ONCE):
        await store.analyses.add_analyses([_analysis(n, endpoints) for n in range(begin, begin + AT_ONCE)])
    note = LearnedState(
        EndpointModel(gains=Gains(10, 100, 90, 100, 10 * 20.0, 10 * 30.0)), period_s=60
    ).to_note()
    keys = [EndpointKey(TENANT, f"endpoint-{n}") for n in range(endpoints)]
    await store.analyses.save_notes(PLANNER, dict.fromkeys(keys, note), NOW)
    await application.ask("create_job", {"id": "default", "name": "default"}, ADMIN)
    then = {"tool": "propose_interval", "intervalMs": 20_000}
    for n in range(RULES):
        words = {"id": f"rule-{n}", "job_id": "default", "name": f"rule {n}", "then": then}
        await application.ask("create_rule", words | {"when": f"response.body.visitors > {n}"}, ADMIN)


CALL = ToolCall("propose_interval", "endpoint-7", {"intervalMs": 30_000}, "it runs next in 30 s")


def _analysis(n: int, endpoints: int) -> Analysis:
    planner = ("llm", "rules", "learned")[n % 3]
    return Analysis(
        id=f"analysis-{n:09}",
        tenant_id=TENANT,
        job_id="default",
        endpoint_id=f"endpoint-{n % endpoints}",
        planner=planner,
        trigger=Trigger.RUN,
        began_at=BEGIN + (NOW - BEGIN) * n / ANALYSES,
        duration_ms=1_200,
        reasoning="Visitors rise, so it is looked at more often. " * 8,
        calls=(CALL,),
        tokens=Tokens(900, 100) if planner == "llm" else Tokens(),
    )


async def add_alerts(store: Store) -> None:
    """Alerts of two tenants in turn, and service levels of two processes."""
    for n in range(ALERTS):
        about = {"tenant_id": (TENANT, "other")[n % 2], "endpoint_id": f"endpoint-{n}", "run_id": f"run-{n}"}
        alert = failure_alert(
            about | {"failures": 3, "error": "it broke"}, NOW - timedelta(minutes=ALERTS - n), most=3
        )
        assert alert is not None
        await store.alerts.raise_alert(alert)
    kept = [
        SloStatus(
            process, "endpoints", NOW, 15, SloState(measured=SloMeasurement(slo, Judgement.GOOD, 1.0, 2.0, 9))
        )
        for process, slo in product(("one", "two"), Slo)
    ]
    await store.slos.put_slos(kept)


async def add_daily_days(store: Store, users: int, tally: Tally) -> None:
    """Users with due times all over today, half of them served; and a month before."""
    wanted = [enrollment(TENANT, f"user-{n:07}", due_at_minute(n % MINUTES_OF_DAY)) for n in range(users)]
    before = MIDNIGHT - timedelta(hours=2)
    for begin in range(0, users, AT_ONCE):
        some = wanted[begin : begin + AT_ONCE]
        await store.daily.enroll(some, partial(enroll, now=before))
        await store.daily.finalize_days([one.key for one in some[::2]], _served)
    await tally(TALLIES)


def _served(user: DailyUser) -> Finalization | None:
    return finalize_success(user, user.next_date, user.next_cutoff - timedelta(minutes=30))
