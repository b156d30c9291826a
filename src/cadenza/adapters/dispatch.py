"""Hands each claim to the dispatcher of its target's kind."""

from cadenza.domain.run import Claim, Outcome, RunStatus
from cadenza.domain.target import CallableTarget, HttpTarget, PromptTarget
from cadenza.ports.dispatcher import Dispatcher


class DispatcherByTarget:
    """Knows who carries out what; a kind that nobody carries out here is a failure that says so."""

    def __init__(
        self,
        *,
        http: Dispatcher | None = None,
        callables: Dispatcher | None = None,
        prompts: Dispatcher | None = None,
    ) -> None:
        self._dispatchers = {HttpTarget: http, CallableTarget: callables, PromptTarget: prompts}

    async def execute(self, claim: Claim) -> Outcome:
        """Let the right dispatcher run the target."""
        target = claim.endpoint.target
        dispatcher = self._dispatchers.get(type(target))
        if dispatcher is None:
            kind = type(target).__name__.removesuffix("Target").lower()
            return Outcome(RunStatus.FAILURE, error=f"this worker does not run {kind} targets")
        return await dispatcher.execute(claim)
