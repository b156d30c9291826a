"""The application of a process, with agents that answer; wired as `roots.wiring.application` wires it."""

import asyncio
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from tests.simulation.whole_system.processes import ProcessContext

from cadenza.adapters.agents.offline.agent import OfflineAgent
from cadenza.adapters.calendars.sources import LibrarySources
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.null import NoQuota
from cadenza.adapters.planners.rules.expressions import PROBES, CelExpressions
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.engine.agents.conversation import Conversations
from cadenza.engine.agents.turn_lock import TurnLock
from cadenza.engine.steering import Steering
from cadenza.engine.worker.execute import Executor
from cadenza.operations.agents.agent_tools import AgentTools
from cadenza.operations.application import Application
from cadenza.operations.context import Dependencies
from cadenza.ports.agents import CallTool, Prompt, Reply
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.secrets import SecretEntry, SecretKey

CRON, EXPRESSIONS, OFFLINE = CronsimCron(), CelExpressions(), OfflineAgent()
PROBE_CONDITIONS = CelExpressions(PROBES)
DAILY_WINDOW = timedelta(minutes=1)


class NoSecrets:
    """No secret is used here."""

    async def put(self, key: SecretKey, value: str, *, now: datetime) -> None:
        """Nothing."""

    async def names(self, *_: object) -> list[SecretEntry]:
        """None."""
        return []

    async def delete(self, key: SecretKey) -> None:
        """Nothing."""

    async def reveal(self, *_: object) -> str:
        """Nothing."""
        return ""

    async def reveal_all(self, *_: object) -> dict[str, str]:
        """Nothing."""
        return {}


class UnreliableAgent:
    """The offline agent behind a model that is slow, and now and then does not answer."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.is_calm = False

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        """Answer, or fail."""
        await asyncio.sleep(self._random.choice([0, 0.2, 3.0]))
        if not self.is_calm and self._random.random() < 0.2:
            return Reply(error="the model is overloaded")
        return await OFFLINE.process_prompt(prompt, call)


async def _take_trial(_: EndpointKey) -> float | None:
    return None


def dependencies(
    context: ProcessContext, dispatcher: Dispatcher, agent: UnreliableAgent, models: Collection[str] = ()
) -> Dependencies:
    """What the requests of a process share."""
    store, clock = context.store, context.clock
    shared = Dependencies(
        calendar_sources=LibrarySources(),
        store=store,
        clock=clock,
        cron=CRON,
        ids=context.ids,
        token_generator=context.tokens,
        log=context.log,
        executor=Executor(dispatcher=dispatcher, quota=NoQuota(), clock=clock),
        secrets=NoSecrets(),
        steering=Steering(store=store.endpoints, clock=clock, cron=CRON),
        expressions=EXPRESSIONS,
        probe_conditions=PROBE_CONDITIONS,
        take_trial=_take_trial,
        daily_window=DAILY_WINDOW,
        models=models,
    )
    return replace(
        shared,
        conversations=Conversations(
            store=store,
            runtime=agent,
            tools=AgentTools(Application(shared)),
            turn_lock=TurnLock(store=store.conversations, clock=clock, ids=context.ids),
            clock=clock,
            ids=context.ids,
        ),
    )
