"""Running what an endpoint is for."""

from typing import Protocol

from cadenza.domain.scheduling.run import Claim, Outcome


class Dispatcher(Protocol):
    """Carries out targets."""

    async def execute(self, claim: Claim) -> Outcome:
        """Run the claimed endpoint's target once.

        What the target does wrong is an outcome. An exception is a bug of the
        dispatcher; the scheduler turns it into a failure all the same.
        """
        ...
