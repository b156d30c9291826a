"""What a seed chooses: which parts there are, how they are set, and what may go wrong."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from tests.simulation.whole_system.actions import JOB, TENANT
from tests.simulation.whole_system.application_parts import DAILY_WINDOW
from tests.simulation.whole_system.calendar_checks import with_calendars
from tests.simulation.whole_system.databases import complete
from tests.simulation.whole_system.fault_plan import LEASE_S, Fault
from tests.simulation.whole_system.process_clocks import START
from tests.simulation.whole_system.simulated_world import ProcessTokens

from cadenza.domain.access.key import ApiKey, Scope
from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.agents.users import Agent, User
from cadenza.domain.daily.keys import daily_key
from cadenza.domain.daily.rules import enroll
from cadenza.domain.daily.user import Enrollment
from cadenza.domain.planning.planner_settings import Planning
from cadenza.domain.planning.rules.rule import ProposeIntervalStep, Rule
from cadenza.domain.scheduling.baseline import Baseline, Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.domain.scheduling.policy import Guard, Misfire, Policy
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.domain.validation import milliseconds
from cadenza.engine.worker.worker_settings import WorkerSettings
from cadenza.operations.access.key_tokens import PREFIX, _digest
from cadenza.ports.access import StoredKey

if TYPE_CHECKING:
    from tests.simulation.whole_system.simulation import Simulation

USERS = ("ada", "ben")
AGENT = "helper"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """The choices of one seed. Not every part is there every time: so seeds are cheap, and differ."""

    faults: frozenset[Fault]
    workers: int
    worker_settings: WorkerSettings
    endpoints: int
    chaos_s: float
    has_api: bool
    has_agents: bool
    has_planner: bool
    has_daily: bool
    runs_per_month: int | None
    acts_on_runs: bool
    """Whether people also cancel runs, and ask for runs beside the schedule."""
    days_down: int
    """For how many days nothing runs; without people and users, who would count the seconds."""

    @classmethod
    def of(cls, random: Random) -> "Scenario":
        """The scenario of a seed."""
        faults = frozenset(fault for fault in Fault if random.random() < 0.35)
        has_agents = random.random() < 0.35
        chosen = cls(
            faults=frozenset() if random.random() < 0.1 else faults,
            workers=random.choice([1, 2, 2, 3]),
            worker_settings=WorkerSettings(
                claim_limit=10,
                concurrency=random.choice([2, 5, 20]),
                claim_ahead_ms=random.choice([0, 0, 3_000]),
                lease_ms=int(LEASE_S * 1_000),
                poll_ms=4_000,
                jitter_ms=random.choice([0, 0, 2_000]),
                grace_ms=3_000,
            ),
            endpoints=random.randint(2, 6),
            chaos_s=random.choice([20.0, 40.0, 60.0]),
            has_api=has_agents or random.random() < 0.4,
            has_agents=has_agents,
            has_planner=random.random() < 0.25,
            has_daily=random.random() < 0.25,
            runs_per_month=8 if random.random() < 0.1 else None,
            acts_on_runs=False,
            days_down=0,
        )
        days = random.choice([0, 1, 2, 9])
        chosen = replace(chosen, acts_on_runs=chosen.has_api and random.random() < 0.6)
        return replace(chosen, days_down=days) if chosen.has_daily and not chosen.has_api else chosen


def first_endpoints(scenario: Scenario) -> list[str]:
    """The ids of the endpoints that are there when the processes start."""
    return [f"endpoint-{number}" for number in range(scenario.endpoints)]


def add_first_rows(simulation: "Simulation") -> dict[str, str]:
    """What is there when the processes start; the tokens of users with sockets."""
    scenario, store = simulation.scenario, simulation.store
    random, calendars = simulation.world.chance("first rows"), simulation.world.chance("calendars")
    limits = Limits(runs_per_month=scenario.runs_per_month)
    complete(store.tenants.put_tenant(Tenant(id=TENANT, name=TENANT, limits=limits)))
    complete(store.catalog.add_job(Job(id=JOB, name=JOB, tenant_id=TENANT)))
    for endpoint_id in first_endpoints(scenario):
        complete(store.endpoints.add(with_calendars(_endpoint(endpoint_id, random), calendars)))
    if scenario.has_planner:
        step = ProposeIntervalStep(interval_ms=4_000, ttl_minutes=1)
        rule = Rule(id="failing", tenant_id=TENANT, job_id=JOB, name="failing", when=WHEN, then=step)
        complete(store.rules.add_rule(rule, most=10))
    if scenario.has_daily:
        for minute in range(2):
            simulation.first_cutoffs[f"daily-{minute}"] = _enroll(simulation, minute)
    return _users(simulation, random) if scenario.has_agents else {}


WHEN = "run.status == 'failure'"


def _enroll(simulation: "Simulation", minute: int) -> datetime:
    due = (START.replace(second=0) + timedelta(minutes=1 + minute)).time()
    wanted = Enrollment(daily_key(TENANT, f"daily-{minute}"), due)
    rule = partial(enroll, now=START, window=DAILY_WINDOW)
    return complete(simulation.store.daily.enroll([wanted], rule))[0].next_cutoff


def _users(simulation: "Simulation", random: Random) -> dict[str, str]:
    store, tokens, made = simulation.store, ProcessTokens(random), dict[str, str]()
    agent = Agent(id=AGENT, name=AGENT, tenant_id=TENANT, created_at=START)
    complete(store.agents.put_agent(agent))
    for user_id in USERS:
        user = User(id=user_id, tenant_id=TENANT, timezone="UTC", created_at=START)
        complete(store.users.put_user(user))
        secret = tokens.secret()
        key = ApiKey(
            id=f"key{user_id}",
            tenant_id=TENANT,
            name=user_id,
            scopes=frozenset({Scope.WRITE}),
            created_at=START,
            user_id=user_id,
        )
        complete(store.keys.add_key(StoredKey(key, _digest(secret))))
        made[user_id] = f"{PREFIX}{key.id}_{secret}"
    return made


def _endpoint(endpoint_id: str, random: Random) -> Endpoint:
    baselines: list[Baseline] = [
        Every(random.choice([3_000, 8_000, 20_000])),
        Cron("* * * * *"),
        Once(START + timedelta(seconds=random.choice([1, 10, 30]))),
    ]
    baseline = random.choice([baselines[0], *baselines])
    first = START + milliseconds(random.randint(0, 5_000))
    return Endpoint(
        id=endpoint_id,
        name=endpoint_id,
        job_id=JOB,
        tenant_id=TENANT,
        target=HttpTarget("http://example.com/"),
        baseline=baseline,
        next_run_at=baseline.at if isinstance(baseline, Once) else first,
        guard=Guard(min_interval_ms=random.choice([None, 2_000])),
        policy=Policy(
            timeout_ms=random.choice([3_000, 30_000]),
            max_attempts=random.choice([1, 3]),
            retry_delay_ms=random.choice([0, 3_000]),
            misfire=random.choice([Misfire.RUN, Misfire.SKIP]),
            misfire_grace_ms=25_000,
        ),
        planning=Planning(llm=random.random() < 0.5),
    )
