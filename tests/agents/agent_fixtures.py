"""Users and agents around a store, with time at hand, and a worker that fires their schedules."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tests.operation_fixtures import FakeTokens, SecretNames

from cadenza.adapters.access.rate_limiter import TrialRateLimiter
from cadenza.adapters.agents.offline.agent import OfflineAgent
from cadenza.adapters.calendars.sources import LibrarySources
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.dispatch.by_target import DispatcherByTarget
from cadenza.adapters.null import NoLog, NoQuota, NoTelemetry
from cadenza.adapters.planners.rules.expressions import PROBES, CelExpressions
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.access.key import Caller, OnBehalfOf, Scope
from cadenza.domain.agents.conversation import ConversationKey, Message
from cadenza.domain.agents.delivery import Delivery, Subtitle
from cadenza.domain.agents.users import UserKey
from cadenza.domain.agents.wake_value import Pricing
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.engine.agents.conversation import Conversations
from cadenza.engine.agents.probing import Probing
from cadenza.engine.agents.prompt_dispatcher import PromptDispatcher
from cadenza.engine.agents.turn_lock import TurnLock, TurnSettings
from cadenza.engine.steering import Steering
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.loop import WorkerLoop
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.operations.agents.agent_tools import AgentTools
from cadenza.operations.application import Application
from cadenza.operations.context import Dependencies
from cadenza.ports.agents import AgentRuntime
from cadenza.ports.store import Store
from cadenza.testing.clock import FakeClock
from cadenza.testing.fakes import FakeDispatcher, FakeIds

TENANT, ADA, BEN, HELPER = "north", "ada", "ben", "helper"
MONDAY = datetime(2026, 11, 16, 9, 17, 30, tzinfo=UTC)
"""A Monday; in Berlin it is 10:17."""
ZONE = "Europe/Berlin"
MINUTE = 60_000
DAY = 24 * 60 * MINUTE


class AgentFixture:
    """An application with the users ada and ben, the agent helper, and a worker for their schedules."""

    def __init__(
        self,
        runtime: AgentRuntime | None = None,
        *,
        store: Store | None = None,
        turn_settings: TurnSettings | None = None,
        pricing: Pricing = Pricing.OFF,
    ) -> None:
        self.clock = FakeClock(MONDAY, manual=True)
        self.store: Store = store or MemoryStore(FakeIds("run"))
        cron, log, ids = CronsimCron(), NoLog(), FakeIds("turn")
        self.dependencies = Dependencies(
            calendar_sources=LibrarySources(),
            store=self.store,
            clock=self.clock,
            cron=cron,
            ids=ids,
            token_generator=FakeTokens(),
            log=log,
            executor=Executor(dispatcher=FakeDispatcher(), quota=NoQuota(), clock=self.clock),
            secrets=SecretNames(),
            steering=Steering(store=self.store.endpoints, clock=self.clock, cron=cron),
            expressions=CelExpressions(),
            probe_conditions=CelExpressions(PROBES),
            take_trial=TrialRateLimiter(self.store.rates, self.clock).take,
            models={"test:model"},
        )
        self.tools = AgentTools(Application(self.dependencies))
        self.conversations = Conversations(
            store=self.store,
            runtime=runtime or OfflineAgent(),
            tools=self.tools,
            turn_lock=TurnLock(
                store=self.store.conversations, clock=self.clock, ids=ids, settings=turn_settings
            ),
            clock=self.clock,
            ids=ids,
        )
        self.application = Application(replace(self.dependencies, conversations=self.conversations))
        self.probes = FakeDispatcher()
        self.prompts = PromptDispatcher(
            conversations=self.conversations,
            probing=Probing(
                dispatcher=self.probes,
                notes=self.store.analyses,
                conditions=self.dependencies.probe_conditions,
                pricing=pricing,
            ),
            store=self.store,
            clock=self.clock,
            cron=cron,
        )
        self.executor = Executor(
            dispatcher=DispatcherByTarget(prompts=self.prompts), quota=NoQuota(), clock=self.clock
        )
        self.sweeper = Sweeper(store=self.store.endpoints, clock=self.clock, cron=cron, log=log)
        self.worker = WorkerLoop(
            store=self.store.endpoints,
            executor=self.executor,
            sweeper=self.sweeper,
            clock=self.clock,
            cron=cron,
            telemetry=NoTelemetry(),
            log=log,
        )

    async def open(self, zone: str | None = ZONE, model: str | None = None) -> "AgentFixture":
        for user in (ADA, BEN):
            await self.ask("put_user", user_id=user, timezone=zone)
        await self.ask("put_agent", agent_id=HELPER, name="Helper", model=model)
        return self

    async def ask(self, operation: str, *, on_behalf_of: OnBehalfOf | None = None, **arguments: Any) -> Any:
        """Call an operation, with a key of the tenant or on behalf of one user."""
        caller = Caller(TENANT, frozenset({Scope.ADMIN}), "test", on_behalf_of)
        return (await self.application.ask(operation, arguments, caller)).model_dump(mode="json")

    async def say(self, text: str, user: str = ADA) -> str:
        """Send a message to the helper; returns the text of its answer."""
        answer = await self.ask("send_message", agent_id=HELPER, user_id=user, text=text)
        return "\n".join(one["text"] for one in answer["messages"] if one["type"] == "subtitle")

    async def schedule(self, user: str = ADA, **words: Any) -> Mapping[str, Any]:
        """Create a schedule of a user; by default it fires in twenty minutes."""
        given = {"name": "Pizza", "prompt": "take the pizza out", "schedule_type": "one-shot"}
        if words.keys().isdisjoint({"run_at", "cron_expression", "interval_seconds"}):
            given["delay_seconds"] = words.pop("delay_seconds", 1_200)
        answer: Mapping[str, Any] = await self.ask(
            "create_schedule", user_id=user, **({"agent_id": HELPER} | given | words)
        )
        return answer

    async def schedules(self, user: str = ADA, **words: Any) -> list[Any]:
        listed: list[Any] = (await self.ask("list_schedules", user_id=user, **words))["items"]
        return listed

    async def fire(self, in_ms: float = 20 * MINUTE) -> list[SettledRun]:
        """Advance the clock, and run the worker once."""
        await self.clock.advance(in_ms)
        return await self.worker.run_once()

    async def undelivered(self, user: str = ADA) -> Sequence[Delivery]:
        return await self.store.deliveries.undelivered(UserKey(TENANT, user), after=0, limit=100)

    async def undelivered_texts(self, user: str = ADA) -> list[str]:
        return [one.message.text for one in await self.undelivered(user) if isinstance(one.message, Subtitle)]

    async def messages(self, user: str = ADA) -> list[Message]:
        """All messages of the conversation, oldest first."""
        return (await self.store.conversations.messages(ConversationKey(TENANT, user, HELPER)))[::-1]

    async def runs(self, schedule_id: str) -> list[Run]:
        return (await self.store.runs.runs(EndpointKey(TENANT, schedule_id)))[::-1]

    async def endpoint(self, schedule_id: str) -> Endpoint:
        return await self.store.endpoints.get(EndpointKey(TENANT, schedule_id))
