"""What a dispatcher promises: whatever its target does is an outcome."""

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress
from datetime import timedelta
from typing import Any

from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.ports.dispatcher import Dispatcher
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import NEW_YEAR

PATIENCE_S = 30


def a_claim(name: str = "endpoint", **fields: Any) -> Claim:
    """A claim to run an endpoint now."""
    return Claim(
        run_id=f"run-{name}",
        token=name,
        endpoint=an_endpoint(name, **fields),
        slot=NEW_YEAR,
        due_at=NEW_YEAR,
        attempt=1,
        source=Source.FIRST,
        claimed_at=NEW_YEAR,
        lease_until=NEW_YEAR + timedelta(minutes=1),
        started_at=NEW_YEAR,
    )


class DispatcherContract(ABC):
    """A subclass gives the fixture `dispatcher`, and claims whose targets do what the methods' names say."""

    @abstractmethod
    def succeeding(self, name: str) -> Claim:
        """A claim of the endpoint with this name, whose target succeeds."""

    @abstractmethod
    def failing(self, name: str) -> Claim:
        """A claim of the endpoint with this name, whose target fails."""

    def hanging(self, name: str) -> Claim | None:
        """A claim whose target does not answer; None if this dispatcher has no such target."""
        return None

    async def test_what_succeeds_is_a_success_without_an_error(self, dispatcher: Dispatcher) -> None:
        outcome = await dispatcher.execute(self.succeeding("good"))
        assert (outcome.status, outcome.error) == (RunStatus.SUCCESS, None)
        assert outcome.duration_ms >= 0

    async def test_what_fails_is_an_outcome_that_says_why(self, dispatcher: Dispatcher) -> None:
        outcome = await dispatcher.execute(self.failing("bad"))
        assert outcome.status in (RunStatus.FAILURE, RunStatus.TIMEOUT)
        assert outcome.error

    async def test_one_that_fails_costs_the_others_nothing(self, dispatcher: Dispatcher) -> None:
        claims = [self.failing("bad"), *(self.succeeding(f"good-{number}") for number in range(3))]
        outcomes = await asyncio.gather(*map(dispatcher.execute, claims))
        assert [one.status for one in outcomes[1:]] == [RunStatus.SUCCESS] * 3
        assert outcomes[0].status is not RunStatus.SUCCESS

    async def test_an_endpoint_can_be_run_again_and_again(self, dispatcher: Dispatcher) -> None:
        statuses = [(await dispatcher.execute(self.succeeding("good"))).status for _ in range(2)]
        assert statuses == [RunStatus.SUCCESS] * 2

    async def test_a_cancelled_run_ends(self, dispatcher: Dispatcher) -> None:
        hanging = self.hanging("hanging")
        if hanging is None:
            return
        running = asyncio.create_task(dispatcher.execute(hanging))
        await asyncio.sleep(0.01)
        assert not running.done()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(running, PATIENCE_S)
