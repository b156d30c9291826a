"""What a handler gets: the caller of the request, and the dependencies that all requests share."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cadenza.domain.access.key import Caller
from cadenza.domain.daily.window import WINDOW
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
    """What all requests share."""

    store: Store
    clock: Clock
    cron: CronCalculator
    ids: Ids
    token_generator: TokenGenerator
    log: Logger
    executor: Executor
    """For trial runs, which no quota counts."""
    secrets: SecretStore
    steering: Steering
    expressions: Expressions
    """Evaluates the conditions of rules."""
    caller_cache: CallerCache = field(default_factory=CallerCache)
    system_clock: Clock | None = None
    """The system clock, where the scheduler's own clock runs faster."""

    daily_window: timedelta = WINDOW
    """How long before a daily user's cutoff the window opens."""
    conversations: Conversations | None = None
    """Runs turns of agents; None where there are no agents."""
    models: Collection[str] = ()
    """The models that agents may have."""
    simulations: Simulations | None = None
    """Simulated scenarios; None where there are none."""

    def system_now(self) -> datetime:
        """The time of the system clock."""
        return (self.system_clock or self.clock).now()


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One request: its caller, and the shared dependencies."""

    dependencies: Dependencies
    caller: Caller

    @property
    def store(self) -> Store:
        """The store."""
        return self.dependencies.store

    @property
    def tenant_id(self) -> str:
        """The tenant of the caller."""
        return self.caller.tenant_id

    def key(self, endpoint_id: str) -> EndpointKey:
        """The key of an endpoint of the caller's tenant."""
        return EndpointKey(self.caller.tenant_id, endpoint_id)
