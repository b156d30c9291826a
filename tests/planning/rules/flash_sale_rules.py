"""The flash sale under its rules file."""

from importlib.resources import files
from typing import Any

from tests.operation_fixtures import FakeTokens, SecretNames

from cadenza.adapters.access.rate_limiter import TrialRateLimiter
from cadenza.adapters.calendars.sources import LibrarySources
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.null import NoLog, NoQuota
from cadenza.adapters.planners.rules.expressions import PROBES, CelExpressions
from cadenza.adapters.planners.rules.planner import RulePlanner
from cadenza.domain.access.key import Caller, Scope
from cadenza.engine.steering import Steering
from cadenza.engine.worker.execute import Executor
from cadenza.operations.application import Application
from cadenza.operations.config.file import ConfigFile
from cadenza.operations.context import Dependencies
from cadenza.ports.planning import Planner
from cadenza.ports.store import Store
from cadenza.sim.product_run import TENANT
from cadenza.testing.clock import FakeClock
from cadenza.testing.fakes import FakeDispatcher, FakeIds

RULES = files("cadenza.sim.flash_sale").joinpath("rules.yaml").read_text()


async def apply_rules(store: Store, document: dict[str, Any] | None = None) -> Any:
    """Write the rules down as `cadenza apply` does."""
    clock, cron, log = FakeClock(), CronsimCron(), NoLog()
    dependencies = Dependencies(
        calendar_sources=LibrarySources(),
        store=store,
        clock=clock,
        cron=cron,
        ids=FakeIds(),
        token_generator=FakeTokens(),
        log=log,
        executor=Executor(dispatcher=FakeDispatcher(), quota=NoQuota(), clock=clock),
        secrets=SecretNames(),
        steering=Steering(store=store.endpoints, clock=clock, cron=cron),
        expressions=CelExpressions(),
        probe_conditions=CelExpressions(PROBES),
        take_trial=TrialRateLimiter(store.rates, clock).take,
    )
    caller = Caller(TENANT, frozenset({Scope.WRITE}), "test")
    return await Application(dependencies).ask("apply_config", document or ConfigFile(RULES).document, caller)


async def under_rules(store: Store) -> list[Planner]:
    """A planner of rules, with the sale's rules in the store."""
    await apply_rules(store)
    return [RulePlanner(store.rules, store.analyses, CelExpressions())]
