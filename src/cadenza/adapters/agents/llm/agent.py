"""The LLM agent: a model answers the user, and acts through the tools of the turn."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from pydantic_ai.models import Model

from cadenza.adapters.agents.llm.briefing import history_messages, instructions, message_text
from cadenza.adapters.agents.llm.turn import LlmTurn
from cadenza.adapters.planners.llm.client import Limits, Talk
from cadenza.adapters.planners.llm.model import GaveUp, Line, Nap
from cadenza.domain.agents.delivery import Subtitle
from cadenza.domain.errors import CadenzaError
from cadenza.ports.agents import CallTool, Prompt, Reply

LONGEST_ANSWER = 16_000
LEAST_TOKENS = 4_000
"""The smallest token budget of a turn."""


class LlmAgent:
    """Answers within limits of steps, tokens and time; a failure of the model is a reply with an error."""

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
        """Have the model read the conversation, call tools, and answer."""
        name = prompt.agent.model or self._default
        if name is None:
            return Reply(error="The agent has no model.")
        try:
            model = self._open(name)
        except CadenzaError as problem:
            return Reply(error=problem.message)
        return await self._answer(model, prompt, call)

    async def _answer(self, model: Model, prompt: Prompt, call: CallTool) -> Reply:
        limits = _within_budget(self._limits, prompt.most_tokens)
        talk = Talk(Line(model, attempts=limits.attempts, nap=self._nap), limits, instructions(prompt))
        talk.recall(*history_messages(prompt))
        try:
            async with model:  # Connections stay open for one turn only.
                text = await LlmTurn(talk, prompt.tools, call=call, limits=limits).run(message_text(prompt))
        except GaveUp as problem:
            return Reply(error=str(problem), tokens=talk.tokens)
        return Reply((Subtitle(text[:LONGEST_ANSWER]),) if text else (), talk.tokens)


def _within_budget(limits: Limits, most_tokens: int | None) -> Limits:
    """The limits of a turn, within the tokens that the user may still spend today."""
    if most_tokens is None:
        return limits
    return replace(limits, input_tokens=min(limits.input_tokens, max(most_tokens, LEAST_TOKENS)))
