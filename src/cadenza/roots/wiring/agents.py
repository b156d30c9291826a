"""Agents from settings: their runtime, conversations, and the dispatcher of their schedules."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cadenza.adapters.agents.by_model import RuntimeByModel
from cadenza.adapters.agents.http_turns import HttpTurnSender
from cadenza.adapters.agents.offline.agent import OfflineAgent
from cadenza.domain.agents.users import Runtime
from cadenza.domain.agents.wake_value import Pricing
from cadenza.engine.agents.conversation import Conversations
from cadenza.engine.agents.own_agents import HttpAgents, PullAgents
from cadenza.engine.agents.probing import Probing
from cadenza.engine.agents.prompt_dispatcher import PromptDispatcher
from cadenza.engine.agents.turn_lock import TurnLock
from cadenza.operations.agents.agent_tools import AgentTools
from cadenza.operations.application import Application
from cadenza.operations.context import Dependencies
from cadenza.ports.agents import AgentRuntime
from cadenza.ports.dispatcher import Dispatcher
from cadenza.roots.clients.choice import own_address
from cadenza.roots.settings import Settings, allowed_models
from cadenza.roots.wiring.extras import LLM, missing

if TYPE_CHECKING:  # Its library takes seconds to import.
    from pydantic_ai.models import Model

    from cadenza.adapters.planners.llm.client import LlmLimits

LONGEST_TURN_S = 85.0
"""A turn may have to wait for another; yet it ends by itself, and is paid for, before its run is cut off."""


def conversations(settings: Settings, dependencies: Dependencies, http: Dispatcher) -> Conversations:
    """Agents that use an application's own operations as their tools; turns are sent by the dispatcher."""
    return Conversations(
        store=dependencies.store,
        runtime=runtime(settings, dependencies, http),
        tools=AgentTools(Application(dependencies)),
        turn_lock=TurnLock(
            store=dependencies.store.conversations, clock=dependencies.clock, ids=dependencies.ids
        ),
        clock=dependencies.clock,
        ids=dependencies.ids,
    )


def prompt_dispatcher(
    agents: Conversations, dependencies: Dependencies, probes: Dispatcher, pricing: Pricing
) -> PromptDispatcher:
    """The dispatcher of prompts; `probes` runs what they look at."""
    store = dependencies.store
    probing = Probing(
        dispatcher=probes,
        notes=store.analyses,
        conditions=dependencies.probe_conditions,
        pricing=pricing,
    )
    return PromptDispatcher(
        conversations=agents,
        probing=probing,
        store=store,
        clock=dependencies.clock,
        cron=dependencies.cron,
    )


def runtime(settings: Settings, dependencies: Dependencies, http: Dispatcher) -> AgentRuntime:
    """Every agent outside of Cadenza, with its own model, with that of the settings, or with none."""
    return RuntimeByModel(
        offline=OfflineAgent(),
        open_llm=partial(llm_agent, settings),
        default_model=settings.llm_model,
        allowed=allowed_models(settings),
        outside=outside_runtimes(settings, dependencies, http),
    )


def outside_runtimes(
    settings: Settings, dependencies: Dependencies, http: Dispatcher
) -> dict[Runtime, AgentRuntime]:
    """The runtimes of agents that are services or processes of their own."""
    turns, clock = dependencies.store.agent_turns, dependencies.clock
    pull = PullAgents(store=turns, clock=clock)
    sender = HttpTurnSender(http, clock, public_url=settings.public_url or own_address(settings))
    secret = dependencies.token_generator.secret
    return {
        Runtime.PULL: pull,
        Runtime.HTTP: HttpAgents(turns=pull, store=turns, sender=sender, secret=secret),
    }


def llm_agent(settings: Settings) -> AgentRuntime:
    """The agent that asks models; Unavailable if the extra is not installed."""
    try:
        from cadenza.adapters.agents.llm.agent import LlmAgent
        from cadenza.adapters.planners.llm.model import open_model
    except ModuleNotFoundError:
        raise missing(LLM) from None

    def opened(name: str) -> "Model":
        return open_model(name, settings.llm_base_url if name == settings.llm_model else None)

    return LlmAgent(opened, default=settings.llm_model, limits=turn_limits(settings))


def turn_limits(settings: Settings) -> "LlmLimits":
    """What one turn may take up."""
    from cadenza.roots.wiring.llm import limits

    wanted = limits(settings)
    return replace(wanted, timeout_s=min(wanted.timeout_s, LONGEST_TURN_S))
