"""The parts of each kind of process, wired as the roots wire them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from tests.simulation.whole_system.application_parts import CRON, EXPRESSIONS, UnreliableAgent, dependencies
from tests.simulation.whole_system.daily_checks import TickChecks
from tests.simulation.whole_system.leader_locks import LeaderLocks, SimulatedLock
from tests.simulation.whole_system.lease_checks import ALERT_FAILURES
from tests.simulation.whole_system.processes import ProcessContext
from tests.simulation.whole_system.receivers import (
    MOST_DAILY,
    AlertReceiver,
    DailyTarget,
    DailyTargetOf,
    NoChannels,
)
from tests.simulation.whole_system.scripted_planner import ScriptedPlanner
from tests.simulation.whole_system.simulated_world import SimulatedWorld
from tests.simulation.whole_system.targets import SimulatedTargets, TargetDispatcher

from cadenza.adapters.access.quota import CountedQuota
from cadenza.adapters.daily.single_process import SingleProcessLanes
from cadenza.adapters.dispatch.by_target import DispatcherByTarget
from cadenza.adapters.planners.change_detection import fingerprint
from cadenza.adapters.planners.rules.planner import RulePlanner
from cadenza.domain.access.key import Caller
from cadenza.engine.agents.probing import Probing
from cadenza.engine.agents.prompt_dispatcher import PromptDispatcher
from cadenza.engine.daily.programmes import OneTarget
from cadenza.engine.daily.runner import DailyRunner, DailySettings
from cadenza.engine.monitoring import alert_delivery
from cadenza.engine.monitoring.alert_delivery import AlertDelivery, AlertSettings
from cadenza.engine.planning.analysis import PlannerEntry
from cadenza.engine.planning.analyst import Analyst, AnalystSettings
from cadenza.engine.planning.planner_runner import PlannerDependencies
from cadenza.engine.steering import Steering
from cadenza.engine.supervision import Part
from cadenza.engine.worker.events import WorkerEvents
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.loop import WorkerLoop
from cadenza.engine.worker.settle import EndpointAlerts
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.engine.worker.worker_settings import WorkerSettings
from cadenza.operations.agents.socket_users import SocketUsers
from cadenza.operations.application import Application
from cadenza.ports.telemetry import TICK
from cadenza.roots.wiring.daily.service import DailyService
from cadenza.roots.wiring.worker import RestartableWorker
from cadenza.surfaces.http.auth import Authenticator
from cadenza.surfaces.websocket.app import SocketApp
from cadenza.surfaces.websocket.limits import SocketLimits
from cadenza.testing.simulated_process import SimulatedProcess

DAILY = DailySettings(
    tick_ms=10_000,
    max_concurrency=MOST_DAILY,
    job_timeout_ms=8_000,
    window_minutes=1,
    retry_delay_minutes=1,
)
PLANNING = AnalystSettings(poll_ms=2_000, idle_ms=6_000)


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Makes the parts of processes."""

    world: SimulatedWorld
    targets: SimulatedTargets
    worker_settings: WorkerSettings
    locks: LeaderLocks
    daily_target: DailyTarget
    receiver: AlertReceiver
    agent: UnreliableAgent
    servers: dict[SimulatedProcess, SocketApp] = field(default_factory=dict)
    """The socket application of each process that serves requests."""
    applications: dict[SimulatedProcess, Application] = field(default_factory=dict)

    def worker(self, context: ProcessContext) -> Sequence[Part]:
        """A worker, with the delivery of alerts beside it."""
        worker = RestartableWorker(partial(self._worker_loop, context))
        alerts = AlertDelivery(
            store=context.store,
            sender=self.receiver,
            channels=NoChannels(),
            clock=context.clock,
            log=context.log,
            telemetry=context.events,
            settings=AlertSettings(ALERT_FAILURES),
        )
        context.events.attach("alerts", alerts, alert_delivery.EVENTS)
        return [Part("worker", worker.run, worker.stop), Part("alerts", alerts.run)]

    def api(self, context: ProcessContext) -> Sequence[Part]:
        """A server of requests and sockets."""
        application = Application(dependencies(context, self._target_dispatcher(context), self.agent))
        sockets = SocketApp(
            SocketUsers(application),
            authenticator=Authenticator(application),
            rate_limit=_unlimited,
            limits=SocketLimits(),
        )

        async def serve() -> None:
            async with sockets.lifespan():
                self.servers[context.process] = sockets
                self.applications[context.process] = application
                try:
                    await asyncio.Event().wait()
                finally:
                    self.forget(context.process)

        return [Part("api", serve)]

    def planner(self, context: ProcessContext) -> Sequence[Part]:
        """The planners, while it holds their lock."""
        store, clock = context.store, context.clock

        async def plan() -> None:
            given = PlannerDependencies(
                store=store,
                clock=clock,
                ids=context.ids,
                quota=CountedQuota(store.tenants, clock, context.events),
                steering=Steering(store=store.endpoints, clock=clock, cron=CRON),
                log=context.log,
                telemetry=context.events,
                fingerprint=fingerprint,
            )
            planner = RulePlanner(store.rules, store.analyses, EXPRESSIONS)
            model = ScriptedPlanner(self.world.chance(f"model {self.world.loop.time()}"))
            pools = [[PlannerEntry(planner)], [PlannerEntry(model, uses_tokens=True)]]
            await Analyst(pools, dependencies=given, settings=PLANNING).run()

        lock = SimulatedLock(self.locks, "planner", context.process)
        return [Part("planner", partial(lock.hold, plan), vital=False)]

    def daily(self, context: ProcessContext) -> Sequence[Part]:
        """A daily runner, while it holds its lock."""
        ticks = TickChecks(self.world, context.process, self.targets.freezes)
        context.events.attach("ticks", ticks, [TICK])
        runner = DailyRunner(
            store=context.store.daily,
            targets=OneTarget(DailyTargetOf(self.daily_target, context.process)),
            clock=context.clock,
            stopwatch=context.clock,
            telemetry=context.events,
            log=context.log,
            settings=DAILY,
        )
        lock = SimulatedLock(self.locks, "daily", context.process)
        lanes = SingleProcessLanes(lock, max_concurrency=MOST_DAILY)
        return DailyService(runner, lanes, grace_ms=3_000).parts()

    def forget(self, process: SimulatedProcess) -> None:
        """A process died or stops: it serves nothing more."""
        self.servers.pop(process, None)
        self.applications.pop(process, None)

    def _target_dispatcher(self, context: ProcessContext) -> DispatcherByTarget:
        return DispatcherByTarget(http=TargetDispatcher(self.targets, context.process, self.world))

    def _worker_loop(self, context: ProcessContext) -> WorkerLoop:
        store, clock, log = context.store.endpoints, context.clock, context.log
        alerts = EndpointAlerts(clock=clock, failures=ALERT_FAILURES)
        given = dependencies(context, self._target_dispatcher(context), self.agent)
        assert given.conversations is not None
        http = TargetDispatcher(self.targets, context.process, self.world)
        probing = Probing(
            dispatcher=DispatcherByTarget(http=http),
            notes=context.store.analyses,
            conditions=given.probe_conditions,
        )
        prompts = PromptDispatcher(
            conversations=given.conversations,
            probing=probing,
            store=context.store,
            clock=clock,
            cron=CRON,
        )
        dispatcher = DispatcherByTarget(http=http, prompts=prompts)
        return WorkerLoop(
            store=store,
            executor=Executor(
                dispatcher=dispatcher,
                quota=CountedQuota(context.store.tenants, clock, context.events),
                clock=clock,
            ),
            sweeper=Sweeper(
                store=store,
                clock=clock,
                cron=CRON,
                log=log,
                events=WorkerEvents(context.events, log),
                alerts=alerts,
            ),
            clock=clock,
            cron=CRON,
            telemetry=context.events,
            log=log,
            settings=self.worker_settings,
            alerts=alerts,
            can_run=lambda: ["http", "prompt"],
            stopwatch=clock,
        )


async def _unlimited(_: Caller) -> float | None:
    return None
