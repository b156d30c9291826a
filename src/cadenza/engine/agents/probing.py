"""Looks at what the probe of a schedule points to, and says whether its agent is to be told."""

import asyncio
from dataclasses import replace
from typing import NamedTuple

from cadenza.domain.agents.probe import (
    ANSWER,
    FAILED_ANSWER,
    NOTES_OWNER,
    NOTHING_NEW,
    TOOK_MS,
    answer_in,
    note_of,
    novelty,
    quoted_answer,
)
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
    """What a probe answered."""

    response: dict[str, Json]
    """What the response of the run says of it."""
    note: Json
    """What is kept of it when the run is committed."""
    quote: str
    """What is added to the prompt."""


class Probing:
    """Runs probes, and compares what they answer with what was answered and told before."""

    def __init__(self, *, dispatcher: Dispatcher, notes: AnalysisStore, conditions: Expressions) -> None:
        self._dispatcher = dispatcher
        self._notes = notes
        self._conditions = conditions

    async def look(self, claim: Claim, probe: Probe) -> Sight | Outcome:
        """What is new; or the outcome of a run that ends here, as nothing is, or as the probe failed.

        An answer is kept only with a run that ends here or that told the agent: what the agent was not
        told goes on to be new, whatever crashed meanwhile.
        """
        outcome = await self._answer(claim, probe)
        if outcome.status is not RunStatus.SUCCESS:
            return _failed(outcome)
        answer = outcome.response
        kept = (await self._notes.notes(NOTES_OWNER, [claim.key])).get(claim.key)
        found = novelty(probe, answer, answer_in(kept, probe), holds=self._conditions.evaluate)
        if found.problem is not None:
            return _failed(
                outcome._replace(status=RunStatus.FAILURE, error=found.problem, error_class=ErrorClass.PARSE)
            )
        response: dict[str, Json] = {ANSWER: answer, TOOK_MS: outcome.duration_ms}
        note = note_of(probe, answer)
        if found.is_new:
            return Sight(response, note, quoted_answer(probe, answer))
        return Outcome(RunStatus.SKIPPED, reason=NOTHING_NEW, response=response, seen=note)

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
