"""The store: one small store for each port; and a database as one end of a move."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from cadenza.domain.access.move import Move, Row, StoredTable
from cadenza.ports.access import (
    AuditStore,
    IdempotencyStore,
    KeyStore,
    RateStore,
    SessionStore,
    TenantStore,
)
from cadenza.ports.agents import AgentStore, ConversationStore, DeliveryStore, ScheduleStore, UserStore
from cadenza.ports.alerting import AlertMessageStore, AlertRouteStore, ChannelStore, ConditionStore
from cadenza.ports.calendars.calendar_store import CalendarStore
from cadenza.ports.catalog import Catalog, LimitStore
from cadenza.ports.daily import DailyStatisticsStore, DailyStore, ProgrammeStore
from cadenza.ports.monitoring import AlertStore, HeartbeatStore, SloStore, StatisticsStore, StoreHealth
from cadenza.ports.own_agents.turns import AgentTurnStore
from cadenza.ports.planning import AnalysisStore, RuleStore
from cadenza.ports.scheduling import EndpointStore, FunctionStore, RunStore


@dataclass(kw_only=True)
class Store:
    """All small stores on one set of data.

    They share their tables: `endpoints.finalize` closes a run and commits its turn, its alert
    and its charge with it, and the other stores see them at once.
    """

    endpoints: EndpointStore
    functions: FunctionStore
    heartbeats: HeartbeatStore
    runs: RunStore
    catalog: Catalog

    rules: RuleStore
    analyses: AnalysisStore

    users: UserStore
    agents: AgentStore
    conversations: ConversationStore
    deliveries: DeliveryStore
    agent_turns: AgentTurnStore
    schedules: ScheduleStore
    channels: ChannelStore

    daily: DailyStore
    daily_statistics: DailyStatisticsStore
    programmes: ProgrammeStore

    tenants: TenantStore
    keys: KeyStore
    sessions: SessionStore
    idempotency: IdempotencyStore
    rates: RateStore
    limits: LimitStore
    calendars: CalendarStore
    audit: AuditStore

    statistics: StatisticsStore
    slos: SloStore
    alerts: AlertStore
    conditions: ConditionStore
    alert_messages: AlertMessageStore
    alert_routes: AlertRouteStore
    health: StoreHealth


class MoveEnd(Protocol):
    """One end of a move: a database that nothing else works on."""

    name: str
    """The database for messages, without its password."""

    async def check_alone(self) -> None:
        """Conflict if another process works on the database, or another move is under way."""
        ...

    async def check_idle(self) -> None:
        """Conflict if a lease protects a run here: its process may still be at work."""
        ...

    async def check_sealing(self) -> None:
        """Unavailable if there is no key to seal secrets with, and none can be made."""
        ...

    async def prepare(self) -> None:
        """Make the tables, if there are none at all."""
        ...

    async def tables(self) -> list[StoredTable]:
        """All tables that belong to a move, each after those that it refers to; none if there is no schema.

        Conflict if their version is not the one of this program.
        """
        ...

    async def count(self, table: StoredTable) -> int:
        """How many rows a table has."""
        ...

    async def read(self, table: StoredTable, after: Row | None, limit: int) -> list[Row]:
        """The next rows by their key. Secrets are opened; Unavailable if there is no key that opens one."""
        ...

    async def moves(self) -> list[Move]:
        """The moves that are recorded here."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """Everything inside is one commit; if it raises, nothing of it remains."""
        ...

    async def add(self, table: StoredTable, rows: Sequence[Row]) -> None:
        """Add rows, with their secrets sealed by the key of this end."""
        ...

    async def number_on(self) -> None:
        """Let the database number new rows behind those that were added."""
        ...

    async def write_move(self, move: Move) -> None:
        """Record a move, or how far it has come."""
        ...

    async def delete_move(self, move: Move) -> None:
        """Forget a move."""
        ...

    async def fence(self, move: Move) -> None:
        """Let the database itself refuse every change, whoever asks for it."""
        ...

    async def unfence(self) -> None:
        """Take changes again."""
        ...

    async def empty(self) -> None:
        """Delete all rows that a move brings."""
        ...


class TenantMoveEnd(MoveEnd, Protocol):
    """One tenant in a database, beside which others work."""

    async def watermark(self) -> int:
        """A number of transactions: what was added before it can be copied while others work."""
        ...

    def take_part(self, *, before: int | None = None, since: int | None = None) -> None:
        """Read only a part of the tables that carry transactions; without a number, all of it."""
        ...

    async def find(self, table: StoredTable, keys: Sequence[Row]) -> list[Row]:
        """The rows with these keys, by their key; none for a key without a row."""
        ...

    async def hold(self) -> None:
        """Let nothing of the tenant be claimed or attempted any more; what is in flight goes on."""
        ...

    async def release(self) -> None:
        """Take this back."""
        ...

    async def in_flight(self) -> int:
        """How many of the tenant's endpoints a worker holds."""
        ...

    async def activate(self) -> None:
        """Let the tenant that arrived work here, in the transaction of the caller."""
        ...

    async def leave(self) -> None:
        """Tell all processes that the tenant is elsewhere; its rows may be deleted."""
        ...

    async def remove(self) -> int:
        """Delete the rows of a tenant that was moved, all but what tells so; how many there were."""
        ...
