"""Running what an endpoint is for."""

from collections.abc import Callable, Collection
from typing import Protocol

from cadenza.domain.scheduling.run import Claim, Outcome

CanRun = Callable[[], Collection[str] | None]
"""The requirements of targets that a worker can meet just now; None if it can run everything."""


class Dispatcher(Protocol):
    """Carries out targets."""

    async def execute(self, claim: Claim) -> Outcome:
        """Run the claimed endpoint's target once.

        What the target does wrong is an outcome. An exception is a bug of the
        dispatcher; the scheduler turns it into a failure all the same.
        """
        ...
