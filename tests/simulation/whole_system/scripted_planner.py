"""A planner that steers as a model does: by chance, slowly, and not always."""

import asyncio
from random import Random

from cadenza.domain.planning.analysis import Tokens
from cadenza.ports.planning import Briefing, CallTool, PlannerResult


class ScriptedPlanner:
    """Calls the steering tools with the rank of a model."""

    name = "llm"

    def __init__(self, random: Random) -> None:
        self._random = random

    def wants(self, briefing: Briefing) -> bool:
        """It looks at some endpoints."""
        return self._random.random() < 0.5

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        """Steer, or find nothing, or fail; after some time, in which the endpoint may have changed."""
        random, endpoint = self._random, briefing.endpoint
        await asyncio.sleep(random.choice([0, 0.5, 4.0]))
        tokens = Tokens(100, 10)
        match random.randrange(4):
            case 0:
                hint = {"intervalMs": random.choice([3_000, 12_000]), "ttlMinutes": random.choice([0.2, 2])}
                await call(endpoint, "propose_interval", {**hint, "reason": "by script"})
            case 1:
                await call(endpoint, "propose_next_time", {"nextRunInMs": random.choice([500, 5_000])})
            case 2:
                return PlannerResult(error="the model is overloaded", tokens=tokens)
            case _:
                pass
        return PlannerResult("by script", look_again_ms=random.choice([None, 5_000]), tokens=tokens)
