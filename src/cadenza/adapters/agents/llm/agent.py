"""The LLM agent: a model answers the user, and acts through the tools it is handed."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from pydantic_ai.models import Model

from cadenza.adapters.agents.llm.briefing import asked, instructed, remembered
from cadenza.adapters.agents.llm.turn import LlmTurn
from cadenza.adapters.planners.llm.client import Limits, Talk
from cadenza.adapters.planners.llm.model import GaveUp, Line, Nap
from cadenza.domain.agents.delivery import Subtitle
from cadenza.domain.errors import CadenzaError
from cadenza.ports.agents import CallTool, Prompt, Reply

LONGEST_ANSWER = 16_000
LEAST_TOKENS = 4_000
"""With less than this, nothing is asked."""


class LlmAgent:
    """Answers within bounds of steps, tokens and time; what goes wrong with a model is an answer, too."""

    def __init__(
        self,
        open_model: Callable[[str], Model],
        *,
        default: str | None = None,
        limits: Limits | None = None,
        nap: Nap = asyncio.sleep,
    ) -> None:
        self._open = open_model
        self._default = default
        self._limits = limits or Limits()
        self._nap = nap

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        """Let the model read, call tools, and answer."""
        name = prompt.agent.model or self._default
        if name is None:
            return Reply(error="The agent has no model.")
        try:
            model = self._open(name)
        except CadenzaError as problem:
            return Reply(error=problem.message)
        return await self._answered(model, prompt, call)

    async def _answered(self, model: Model, prompt: Prompt, call: CallTool) -> Reply:
        limits = _affordable(self._limits, prompt.most_tokens)
        talk = Talk(Line(model, attempts=limits.attempts, nap=self._nap), limits, instructed(prompt))
        talk.recall(*remembered(prompt))
        try:
            async with model:  # Connections are kept for a turn, not for the hours between.
                text = await LlmTurn(talk, prompt.tools, call=call, limits=limits).hold(asked(prompt))
        except GaveUp as problem:
            return Reply(error=str(problem), tokens=talk.tokens)
        return Reply((Subtitle(text[:LONGEST_ANSWER]),) if text else (), talk.tokens)


def _affordable(limits: Limits, most_tokens: int | None) -> Limits:
    """The limits of a turn, within what the day leaves."""
    if most_tokens is None:
        return limits
    return replace(limits, input_tokens=min(limits.input_tokens, max(most_tokens, LEAST_TOKENS)))
