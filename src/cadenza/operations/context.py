"""What a handler has at hand while it serves one caller."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from cadenza.domain.access.key import Caller
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.engine.agents.conversation import Conversations
from cadenza.engine.steering import Steering
from cadenza.engine.worker.execute import Executor
from cadenza.operations.access.caller_cache import CallerCache
from cadenza.ports.access import TokenGenerator
from cadenza.ports.clock import Clock, CronCalculator
from cadenza.ports.ids import Ids
from cadenza.ports.planning import Expressions
from cadenza.ports.secrets import SecretStore
from cadenza.ports.simulations import Simulations
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What all desks share."""

    store: Store
    clock: Clock
    cron: CronCalculator
    ids: Ids
    token_generator: TokenGenerator
    log: Logger
    executor: Executor
    """For trials, which no quota counts."""
    secrets: SecretStore
    steering: Steering
    expressions: Expressions
    """The language of rules."""
    caller_cache: CallerCache = field(default_factory=CallerCache)
    wall: Clock | None = None
    """The clock of people, where the scheduler's own runs faster."""

    conversations: Conversations | None = None
    """Lets agents answer, where there are any."""
    models: Collection[str] = ()
    """The models that agents may have."""
    simulations: Simulations | None = None
    """Scenarios to look at, where there are any."""

    def wall_now(self) -> datetime:
        """What people's clocks show."""
        return (self.wall or self.clock).now()


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One caller, served."""

    dependencies: Dependencies
    caller: Caller

    @property
    def store(self) -> Store:
        """Where everything is kept."""
        return self.dependencies.store

    @property
    def tenant_id(self) -> str:
        """In whose name everything is done here."""
        return self.caller.tenant_id

    def key(self, endpoint_id: str) -> EndpointKey:
        """The key of an endpoint: always the caller's own."""
        return EndpointKey(self.caller.tenant_id, endpoint_id)
