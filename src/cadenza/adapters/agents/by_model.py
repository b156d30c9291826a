"""Lets each agent answer in its own way: with a model, or without one."""

import asyncio
from collections.abc import Callable, Collection

from cadenza.domain.agents.users import OFFLINE, refused_model
from cadenza.domain.errors import Unavailable
from cadenza.ports.agents import AgentRuntime, CallTool, Prompt, Reply


class RuntimeByModel:
    """An agent that names a model is answered by it; others by the usual one, if there is one.

    Whether it may have it is looked at here, where it costs: what was allowed once may not be by now.
    """

    def __init__(
        self,
        *,
        offline: AgentRuntime,
        open_llm: Callable[[], AgentRuntime],
        usual: str | None,
        allowed: Collection[str],
    ) -> None:
        self._offline = offline
        self._open_llm = open_llm
        self._usual = usual
        self._allowed = allowed
        self._llm: AgentRuntime | None = None

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        """Let the right runtime answer; what opens models is loaded with the first that is needed."""
        model = prompt.agent.model or self._usual
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
