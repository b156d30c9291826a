"""Looks at what the probe of a schedule points to, and says whether its agent is to be told."""

import asyncio
from dataclasses import replace
from typing import NamedTuple

from cadenza.domain.agents.probe import (
    ANSWER,
    FAILED_ANSWER,
    NOT_WORTH,
    NOTES_OWNER,
    NOTHING_NEW,
    TOOK_MS,
    ProbeMemory,
    memory_in,
    novelty,
    quoted_answer,
)
from cadenza.domain.agents.wake_value import Pricing, Spending, kind_of_wake
from cadenza.domain.job_failure import ErrorClass
from cadenza.domain.json_values import Json, json_size
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.target import LARGEST_ANSWER, Probe
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.planning import AnalysisStore, Expressions

TIMEOUT_MS = 30_000
"""A probe is cheap; what takes longer would leave its agent no time to answer."""
LARGEST_RECORDED = 2 * LARGEST_ANSWER
"""With the parts of a response that stand beside its body, in bytes."""


class Sight(NamedTuple):
    """What a probe answered, and is new."""

    probe: Probe
    response: dict[str, Json]
    """What the response of the run says of it."""
    memory: ProbeMemory
    """With this answer, for when the agent was told."""
    quote: str
    """What is added to the prompt."""
    kind: str
    worth: bool
    """Whether waking the agent is worth its tokens now."""

    def note_after(self, *, messages: int, tokens: int) -> Json:
        """What is kept when the agent has answered."""
        wakes = self.memory.wakes.after_wake(
            self.kind, messages=messages, tokens=tokens, would_pass=not self.worth
        )
        return self.memory._replace(wakes=wakes).to_note(self.probe)


class Probing:
    """Runs probes, and compares what they answer with what was answered and told before."""

    def __init__(
        self,
        *,
        dispatcher: Dispatcher,
        notes: AnalysisStore,
        conditions: Expressions,
        pricing: Pricing = Pricing.OFF,
    ) -> None:
        self._dispatcher = dispatcher
        self._notes = notes
        self._conditions = conditions
        self._pricing = pricing

    async def look(self, claim: Claim, probe: Probe, spending: Spending) -> Sight | Outcome:
        """What is new and worth telling; or the outcome of a run that ends here.

        An answer is kept only with a run that found nothing new or that told the agent: what the agent was
        not told goes on to be new, whatever crashed meanwhile.
        """
        outcome = await self._answer(claim, probe)
        if outcome.status is not RunStatus.SUCCESS:
            return _failed(outcome)
        answer = outcome.response
        stored = (await self._notes.notes(NOTES_OWNER, [claim.key])).get(claim.key)
        memory = memory_in(stored, probe)
        found = novelty(probe, answer, memory.before, holds=self._conditions.evaluate)
        if found.problem is not None:
            failure = outcome._replace(status=RunStatus.FAILURE, error=found.problem)
            return _failed(failure._replace(error_class=ErrorClass.PARSE))
        response: dict[str, Json] = {ANSWER: answer, TOOK_MS: outcome.duration_ms}
        if found.is_new:
            return self._weighed(probe, memory, response, spending)
        note = memory.with_answer(answer).to_note(probe)
        return Outcome(RunStatus.SKIPPED, reason=NOTHING_NEW, response=response, seen=note)

    def _weighed(
        self, probe: Probe, memory: ProbeMemory, response: dict[str, Json], spending: Spending
    ) -> Sight | Outcome:
        """What is new, unless a price counts that it is not worth: then it stays new."""
        answer = response[ANSWER]
        kind = kind_of_wake(probe, answer, memory.before)
        worth = self._pricing is Pricing.OFF or memory.wakes.is_worth(kind, spending)
        if self._pricing is Pricing.ON and not worth:
            note = memory._replace(wakes=memory.wakes.after_passing(kind)).to_note(probe)
            return Outcome(RunStatus.SKIPPED, reason=NOT_WORTH, response=response, seen=note)
        quote = quoted_answer(probe, answer)
        return Sight(probe, response, memory.with_answer(answer), quote, kind, worth)

    async def _answer(self, claim: Claim, probe: Probe) -> Outcome:
        """The outcome of the probe, within its own timeout and of bounded size."""
        endpoint = claim.endpoint
        timeout_ms = min(TIMEOUT_MS, endpoint.policy.timeout_ms)
        policy = replace(endpoint.policy, timeout_ms=timeout_ms)
        own = claim._replace(endpoint=evolve(endpoint, target=probe.target, policy=policy))
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                outcome = await self._dispatcher.execute(own)
        except TimeoutError:
            return Outcome(RunStatus.TIMEOUT, timeout_ms, error=f"no answer within {timeout_ms} ms")
        size = json_size("answer", outcome.response)
        if size <= LARGEST_RECORDED:
            return outcome
        error = f"it answered {size:,} bytes, and may answer {LARGEST_RECORDED:,}"
        return outcome._replace(status=RunStatus.FAILURE, error=error, response=None)


def _failed(outcome: Outcome) -> Outcome:
    """The failure of a run whose probe failed; nobody was woken."""
    response: Json = {FAILED_ANSWER: outcome.response, TOOK_MS: outcome.duration_ms}
    error = f"the probe failed: {outcome.error}"
    return outcome._replace(error=error, response=response)
