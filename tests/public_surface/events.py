"""Telemetry events as they are emitted: small scenarios with fakes that produce every event."""

from datetime import UTC, datetime, time, timedelta

from tests.agents.channel_fixtures import ChannelFixture
from tests.daily.daily_fixtures import FAILED, DailyFixture
from tests.monitoring.alert_fixtures import AlertFixture, Sender
from tests.monitoring.test_slo import PROMISES, SloFixture
from tests.monitoring.test_supervision import Crashing, SupervisorFixture
from tests.planning.analyst_fixtures import AnalystHarness, ScriptedPlanner
from tests.public_surface.internals import (
    CountedQuota,
    Limits,
    MemoryStore,
    Outcome,
    Part,
    QuotaKind,
    QuotaRequest,
    RunStatus,
    Tenant,
)
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.testing import FakeIds, FakeTelemetry
from cadenza.testing.contracts.agents.user_channels import user_channels
from cadenza.testing.fakes import EmittedEvent

MORNING = datetime(2026, 3, 10, 9, tzinfo=UTC)
ATTEMPTS = 20
"""More than it takes until an alert is given up, an hour apart."""
OUTCOMES = (RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.SUCCESS)


async def observed() -> list[EmittedEvent]:
    """Every event, from one scene after the other."""
    scenes = (_endpoints, _planners, _daily, _crashes, _alerts, _channels, _quotas)
    return [event for scene in scenes for event in await scene()] + _service_levels()


async def _endpoints() -> list[EmittedEvent]:
    """Runs that succeed, fail, time out, recover, and are skipped, and one that ends its process."""
    fixture, coming = on_manual_clock(), iter(OUTCOMES)
    fixture.dispatcher.on("endpoint", lambda _: Outcome(next(coming)))
    await fixture.add()
    async with RunningWorker(fixture):
        for _ in OUTCOMES:
            await fixture.clock.advance(MINUTE)
        fixture.quota.close(fixture.at(60 * MINUTE))
        await fixture.clock.advance(MINUTE)
    culprit = WorkerFixture()
    await culprit.add()
    for _ in range(3):
        await culprit.lose()
    return fixture.telemetry.events + culprit.telemetry.events


async def _planners() -> list[EmittedEvent]:
    """A planner that has nothing to say."""
    harness = AnalystHarness()
    await harness.fixture.add(in_ms=60 * MINUTE)
    async with harness.watched_by(ScriptedPlanner()):
        await harness.run()
    return harness.fixture.telemetry.events


async def _daily() -> list[EmittedEvent]:
    """Jobs that succeed, fail and never end, and a day that passes while no process runs."""
    daily = DailyFixture(MORNING)
    for user in ("ann", "bob", "cyd"):
        await daily.enroll(user, time(10))
    await daily.tick()
    await daily.finish(daily.runs.running[0])
    await daily.finish(daily.runs.running[0], FAILED)
    daily.clocks.advance(timedelta(hours=1))
    await daily.tick()
    await daily.crash()
    daily.clocks.advance(timedelta(days=2))
    daily.start()
    await daily.tick()
    await daily.crash()
    return daily.telemetry.events


async def _crashes() -> list[EmittedEvent]:
    fixture = SupervisorFixture()
    async with fixture.running(Part("crashing", Crashing(fixture.clock, times=1).run)):
        await fixture.clock.advance(MINUTE)
    return fixture.telemetry.events


async def _alerts() -> list[EmittedEvent]:
    """One that arrives at the second attempt, and one that never arrives."""
    events = []
    for problems in (1, 99):
        fixture = AlertFixture(sender=Sender(["answered 503"] * problems))
        async with fixture.running():
            fixture.breaches()
            for _ in range(ATTEMPTS):
                await fixture.clock.advance(0)
                fixture.clock.jump(60 * MINUTE)
        events += fixture.telemetry.events
    return events


async def _channels() -> list[EmittedEvent]:
    """A message that its channel refuses at first."""
    fixture = ChannelFixture()
    await fixture.set_channels(user_channels("phone"))
    fixture.phone.problems["phone"] = "answered 503"
    async with fixture.running():
        await fixture.say("hello")
        await fixture.pass_time(MINUTE)
        fixture.phone.problems.clear()
        await fixture.pass_time(2 * MINUTE)
    return fixture.telemetry.events


async def _quotas() -> list[EmittedEvent]:
    """A tenant that has spent all of its runs and tokens."""
    store, telemetry = MemoryStore(FakeIds()), FakeTelemetry()
    fixture = WorkerFixture(store=store)
    limits = Limits(runs_per_month=1, planner_tokens_per_month=1)
    await store.tenants.put_tenant(Tenant(id="default", name="default", limits=limits))
    await store.tenants.spend_tokens("default", 1, fixture.clock.now())
    await fixture.add()
    await fixture.tick()
    quota = CountedQuota(store.tenants, fixture.clock, telemetry)
    await quota.check([QuotaRequest(QuotaKind.ENDPOINT, "default")])
    return telemetry.events


def _service_levels() -> list[EmittedEvent]:
    """Every promise, broken and kept again."""
    events = []
    for bad, good, _ in PROMISES.values():
        fixture = SloFixture()
        fixture.minutes(3, bad)
        fixture.minutes(40, good)
        events += fixture.telemetry.events
    return events
