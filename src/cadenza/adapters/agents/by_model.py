"""Chooses the runtime of each agent: outside of Cadenza, with a model, or without one."""

import asyncio
from collections.abc import Callable, Collection, Mapping

from cadenza.domain.agents.users import OFFLINE, Runtime, refused_model
from cadenza.domain.errors import Unavailable
from cadenza.ports.agents import AgentRuntime, CallTool, Prompt, Reply


class RuntimeByModel:
    """Uses the agent's own runtime, else its model, else the default model, else the offline agent.

    Whether the model is allowed is checked in each turn, as it may have been when the agent was stored
    and no longer be.
    """

    def __init__(
        self,
        *,
        offline: AgentRuntime,
        open_llm: Callable[[], AgentRuntime],
        default_model: str | None,
        allowed: Collection[str],
        outside: Mapping[Runtime, AgentRuntime] | None = None,
    ) -> None:
        self._offline = offline
        self._open_llm = open_llm
        self._default_model = default_model
        self._allowed = allowed
        self._outside = outside or {}
        self._llm: AgentRuntime | None = None

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        """Answer with the agent's runtime; the one for models is opened when it is first needed."""
        if prompt.agent.runtime is not Runtime.MODEL:
            return await self._answer_outside(prompt, call)
        model = prompt.agent.model or self._default_model
        if model is None or model == OFFLINE:
            return await self._offline.process_prompt(prompt, call)
        refused = refused_model(prompt.agent.model, self._allowed)
        if refused is not None:
            return Reply(error=refused)
        if self._llm is None:
            try:
                self._llm = await asyncio.to_thread(self._open_llm)  # It takes seconds to import.
            except Unavailable as problem:
                return Reply(error=problem.message)
        return await self._llm.process_prompt(prompt, call)

    async def _answer_outside(self, prompt: Prompt, call: CallTool) -> Reply:
        runtime = self._outside.get(prompt.agent.runtime)
        if runtime is None:
            return Reply(error=f"This process has no way to reach {prompt.agent.runtime} agents.")
        return await runtime.process_prompt(prompt, call)
