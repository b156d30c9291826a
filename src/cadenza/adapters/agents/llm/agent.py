"""The LLM agent: a model answers the user, and acts through the tools of the turn."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from pydantic_ai.models import Model

from cadenza.adapters.agents.llm.briefing import history_messages, instructions, message_text
from cadenza.adapters.agents.llm.turn import LlmTurn
from cadenza.adapters.planners.llm.client import LlmLimits, ModelExchange
from cadenza.adapters.planners.llm.model import ModelClient, ModelFailed, Sleep
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
        limits: LlmLimits | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._open = open_model
        self._default = default
        self._limits = limits or LlmLimits()
        self._sleep = sleep

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
        exchange = ModelExchange(
            ModelClient(model, attempts=limits.attempts, sleep=self._sleep), limits, instructions(prompt)
        )
        exchange.add_history(*history_messages(prompt))
        try:
            async with model:  # Connections stay open for one turn only.
                text = await LlmTurn(exchange, prompt.tools, call=call, limits=limits).run(
                    message_text(prompt)
                )
        except ModelFailed as problem:
            return Reply(error=str(problem), tokens=exchange.tokens)
        return Reply((Subtitle(text[:LONGEST_ANSWER]),) if text else (), exchange.tokens)


def _within_budget(limits: LlmLimits, most_tokens: int | None) -> LlmLimits:
    """The limits of a turn, within the tokens that the user may still spend today."""
    if most_tokens is None:
        return limits
    return replace(limits, input_tokens=min(limits.input_tokens, max(most_tokens, LEAST_TOKENS)))
