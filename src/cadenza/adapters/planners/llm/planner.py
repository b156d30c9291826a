"""The LLM planner: reads a briefing as a person would, and acts through the tools."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from importlib.resources import files

from pydantic_ai.models import Model

from cadenza.adapters.planners.llm.briefing import told
from cadenza.adapters.planners.llm.client import CHARACTERS_PER_TOKEN, Limits, Shape
from cadenza.adapters.planners.llm.conversation import Conversation
from cadenza.adapters.planners.llm.model import GaveUp, Line, Nap
from cadenza.adapters.planners.llm.tools import SubmitAnalysis, Toolbox
from cadenza.adapters.planners.llm.triggers import Occasions
from cadenza.domain.validation import milliseconds
from cadenza.ports.catalog import Catalog
from cadenza.ports.planning import Briefing, CallTool, PlannerResult

NAME = "llm"
BRIEFING_SHARE = 4
"""Responses in a briefing take at most one in so many of a sitting's input tokens."""
PAUSE = timedelta(minutes=5)


class LlmPlanner:
    """Sits down when there is news, and leaves the schedule alone when its provider fails."""

    def __init__(
        self,
        model: Model,
        *,
        store: Catalog,
        steering: Sequence[Shape],
        limits: Limits | None = None,
        pause: timedelta = PAUSE,
        nap: Nap = asyncio.sleep,
    ) -> None:
        self._limits = limits or Limits()
        self._model = model
        self._line = Line(model, attempts=self._limits.attempts, nap=nap)
        self._store = store
        self._steering = steering
        self._occasions = Occasions(pause)

    @property
    def name(self) -> str:
        """What its sittings and hints are recorded as."""
        return NAME

    def wants(self, briefing: Briefing) -> bool:
        """Whether there is news that is worth its tokens."""
        return self._occasions.worth(briefing)

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        """Let the model read, ask, act, and say why."""
        self._occasions.note(briefing)
        limits = self._limits
        toolbox = Toolbox(briefing, call, store=self._store, steering=self._steering, most_acts=limits.acts)
        conversation = Conversation(self._line, toolbox, limits=limits, instructions=instructions())
        room = limits.input_tokens * CHARACTERS_PER_TOKEN // BRIEFING_SHARE
        try:
            async with self._model:  # Connections are kept for a sitting, not for the hours between.
                submitted = await conversation.hold(told(briefing, room=room))
        except GaveUp as problem:
            return PlannerResult(error=str(problem), tokens=conversation.tokens)
        return PlannerResult(
            reasoning=f"{submitted.reasoning.strip()} (Confidence {submitted.confidence:.0%}.)",
            look_again_ms=self._look_again_ms(submitted),
            tokens=conversation.tokens,
        )

    def _look_again_ms(self, submitted: SubmitAnalysis) -> int | None:
        """When it wants to look again, but no sooner than it may."""
        if submitted.look_again_minutes is None:
            return None
        soonest = self._occasions.pause // milliseconds(1)
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
