"""The LLM planner: a model reads the briefing and steers through tools."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from importlib.resources import files

from pydantic_ai.models import Model

from cadenza.adapters.planners.llm.briefing import briefing_text
from cadenza.adapters.planners.llm.client import CHARACTERS_PER_TOKEN, LlmLimits, ToolSchema
from cadenza.adapters.planners.llm.conversation import AnalysisConversation
from cadenza.adapters.planners.llm.model import ModelClient, ModelFailed, Sleep
from cadenza.adapters.planners.llm.tools import AnalysisTools, SubmitAnalysis
from cadenza.adapters.planners.llm.triggers import LlmTriggers
from cadenza.domain.validation import milliseconds
from cadenza.ports.planning import Briefing, CallTool, PlannerResult
from cadenza.ports.scheduling import RunStore

NAME = "llm"
BRIEFING_SHARE = 4
"""Responses in a briefing take at most this fraction (one in four) of an analysis's input tokens."""
PAUSE = timedelta(minutes=5)


class LlmPlanner:
    """Analyzes when something changed, and leaves the schedule alone when its provider fails."""

    def __init__(
        self,
        model: Model,
        *,
        store: RunStore,
        steering: Sequence[ToolSchema],
        limits: LlmLimits | None = None,
        pause: timedelta = PAUSE,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._limits = limits or LlmLimits()
        self._model = model
        self._client = ModelClient(model, attempts=self._limits.attempts, sleep=sleep)
        self._store = store
        self._steering = steering
        self._triggers = LlmTriggers(pause)

    @property
    def name(self) -> str:
        """The name under which its analyses and hints are recorded."""
        return NAME

    def wants(self, briefing: Briefing) -> bool:
        """Whether something changed that is worth the tokens."""
        return self._triggers.should_analyze(briefing)

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        """Let the model query, steer, and submit its analysis."""
        self._triggers.record(briefing)
        limits = self._limits
        tools = AnalysisTools(
            briefing,
            call,
            store=self._store,
            steering=self._steering,
            most_tool_calls=limits.most_tool_calls,
        )
        conversation = AnalysisConversation(self._client, tools, limits=limits, instructions=instructions())
        most_characters = limits.input_tokens * CHARACTERS_PER_TOKEN // BRIEFING_SHARE
        try:
            async with self._model:  # Connections are kept for one analysis, not for the hours between.
                submitted = await conversation.run(briefing_text(briefing, most_characters=most_characters))
        except ModelFailed as problem:
            return PlannerResult(error=str(problem), tokens=conversation.tokens)
        return PlannerResult(
            reasoning=f"{submitted.reasoning.strip()} (Confidence {submitted.confidence:.0%}.)",
            look_again_ms=self._look_again_ms(submitted),
            tokens=conversation.tokens,
        )

    def _look_again_ms(self, submitted: SubmitAnalysis) -> int | None:
        """When to analyze again, no sooner than after the pause."""
        if submitted.look_again_minutes is None:
            return None
        soonest = self._triggers.pause // milliseconds(1)
        return max(round(submitted.look_again_minutes * 60_000), soonest)


@cache
def instructions() -> str:
    """The system prompt."""
    return (
        files("cadenza.adapters.planners.llm")
        .joinpath("prompts/planner.md")
        .read_text(encoding="utf-8")
        .strip()
    )
