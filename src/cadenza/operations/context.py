"""What a handler gets: the caller of the request, and the dependencies that all requests share."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from cadenza.domain.access.key import Caller
from cadenza.domain.daily.window import WINDOW
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.operations.audit_trail import AuditTrail

if TYPE_CHECKING:  # Only for their names: a command that asks a server needs none of them.
    from cadenza.engine.agents.conversation import Conversations
    from cadenza.engine.steering import Steering
    from cadenza.engine.worker.execute import Executor
    from cadenza.operations.idempotency import IdempotentRequest
    from cadenza.ports.access import TokenGenerator
    from cadenza.ports.alerting import ChannelSender
    from cadenza.ports.calendars.sources import CalendarSources
    from cadenza.ports.clock import Clock, CronCalculator
    from cadenza.ports.ids import Ids
    from cadenza.ports.planning import Expressions
    from cadenza.ports.secrets import SecretStore
    from cadenza.ports.simulations import Simulations
    from cadenza.ports.store import Store
    from cadenza.ports.telemetry import Logger

TakeTrial = Callable[[EndpointKey], Awaitable[float | None]]
"""None if the trial is allowed, else the seconds to wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What all requests share."""

    store: "Store"
    clock: "Clock"
    cron: "CronCalculator"
    ids: "Ids"
    token_generator: "TokenGenerator"
    log: "Logger"
    executor: "Executor"
    """For trial runs, which no quota counts."""
    secrets: "SecretStore"
    steering: "Steering"
    expressions: "Expressions"
    """Evaluates the conditions of rules."""
    probe_conditions: "Expressions"
    """Evaluates the conditions of probes."""
    calendar_sources: "CalendarSources"
    """Holidays of countries, and events of ICS files."""
    take_trial: TakeTrial
    """Counts a trial run of an endpoint."""
    trials: Counter[str] = field(default_factory=Counter)
    """Trial runs in flight, by tenant."""
    system_clock: "Clock | None" = None
    """The system clock, where the scheduler's own clock runs faster."""
    poll_clock: "Clock | None" = None
    """Paces what looks at the store now and then, where that pauses while the process is idle."""

    jitter_ms: int = 0
    """By how much endpoints that are planned together are spread."""
    max_timeout_ms: int | None = None
    """The longest timeout that an endpoint may have; None is without limit."""
    daily_window: timedelta = WINDOW
    """How long before a daily user's cutoff the window opens."""
    daily_tick: timedelta = timedelta(minutes=1)
    """How often daily users are looked for."""
    conversations: "Conversations | None" = None
    """Runs turns of agents; None where there are no agents."""
    models: Collection[str] = ()
    """The models that agents may have."""
    channels: "ChannelSender | None" = None
    """Sends test messages of alert routes; None where nothing is sent."""
    simulations: "Simulations | None" = None
    """Simulated scenarios; None where there are none."""

    def system_now(self) -> datetime:
        """The time of the system clock."""
        return (self.system_clock or self.clock).now()

    async def pause(self, span_s: float) -> None:
        """Wait before the next look at the store."""
        await (asyncio.sleep(span_s) if self.poll_clock is None else self.poll_clock.sleep(span_s * 1_000))

    def planning_context(self) -> dict[str, Any]:
        """The moment, the cron calculator and the jitter with which a run is planned."""
        return {"now": self.clock.now(), "cron": self.cron, "jitter_ms": self.jitter_ms}


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One request: its caller, and the shared dependencies."""

    dependencies: Dependencies
    caller: Caller
    idempotent: "IdempotentRequest | None" = None
    """The request as it was sent, if it has an idempotency key."""
    trail: AuditTrail = field(default_factory=AuditTrail)
    """What the handler notes for the audit."""

    @property
    def store(self) -> "Store":
        """The store."""
        return self.dependencies.store

    @property
    def tenant_id(self) -> str:
        """The tenant of the caller."""
        return self.caller.tenant_id

    def key(self, endpoint_id: str) -> EndpointKey:
        """The key of an endpoint of the caller's tenant."""
        return EndpointKey(self.caller.tenant_id, endpoint_id)
