"""What a function is handed when it runs: its run, and the tools to steer itself."""

import asyncio
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any

from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.validation import Duration, check_moment, milliseconds, parse_duration_ms
from cadenza.engine.steering import Steering
from cadenza.engine.steering_commands import PauseUntil, ProposeInterval, ProposeNextTime, SteeringCommand

AN_HOUR = timedelta(hours=1)


class Steerable:
    """The three tools of one endpoint."""

    def __init__(self, steering: Steering, key: EndpointKey, origin: str) -> None:
        self._steering = steering
        self._key = key
        self._origin = origin

    async def propose_interval(
        self, interval: Duration, *, ttl: Duration = AN_HOUR, reason: str | None = None
    ) -> ChangedEndpoint:
        """Run every so often for a while, then fall back to the baseline."""
        return await self._steer(
            ProposeInterval(
                interval_ms=parse_duration_ms("interval", interval),
                ttl=milliseconds(parse_duration_ms("ttl", ttl)),
                reason=reason,
            )
        )

    async def propose_next_time(
        self, when: Duration | datetime, *, ttl: Duration | None = None, reason: str | None = None
    ) -> ChangedEndpoint:
        """Run once, at a moment or after a while."""
        at = check_moment("when", when) if isinstance(when, datetime) else None
        in_ms = None if isinstance(when, datetime) else parse_duration_ms("when", when)
        lasts = None if ttl is None else milliseconds(parse_duration_ms("ttl", ttl))
        return await self._steer(ProposeNextTime(at=at, in_ms=in_ms, ttl=lasts, reason=reason))

    async def pause_until(self, until: datetime | None, *, reason: str | None = None) -> ChangedEndpoint:
        """Close the gate until a moment; None opens it."""
        moment = None if until is None else check_moment("until", until)
        return await self._steer(PauseUntil(until=moment, reason=reason))

    async def _steer(self, command: SteeringCommand) -> ChangedEndpoint:
        return await self._steering.steer(self._key, command, origin=self._origin)


class RunContext(Steerable):
    """One run, as its function sees it. In a thread, call `wait` on what the tools return."""

    def __init__(self, steering: Steering, claim: Claim) -> None:
        super().__init__(steering, claim.key, origin=f"run:{claim.endpoint.name}")
        self._home = asyncio.get_running_loop()
        self.id = claim.run_id
        self.slot = claim.slot
        self.attempt = claim.attempt
        self.source = claim.source
        self.idempotency_key = claim.idempotency_key
        self.endpoint = claim.endpoint

    def wait(self, asked: Coroutine[Any, Any, ChangedEndpoint]) -> ChangedEndpoint:
        """For functions that are not async: let a tool act, and come back when it has."""
        return asyncio.run_coroutine_threadsafe(asked, self._home).result()
