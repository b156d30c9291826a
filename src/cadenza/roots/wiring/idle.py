"""Being idle from settings: whether a process may be, and what it must be there for."""

from functools import partial

from cadenza.adapters.clock import PausingClock, SystemClock
from cadenza.adapters.stores.postgres.engines.profile import profile_of
from cadenza.adapters.stores.sql.store import SqlStore
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.target import HEARTBEAT, HTTP, PROMPT
from cadenza.engine.idle import IdleGate
from cadenza.engine.supervision import Part
from cadenza.ports.telemetry import JOB
from cadenza.roots.settings import SQLITE, Settings
from cadenza.roots.wiring.worker import ProcessContext

EVENTS = frozenset({JOB})
"""Events for which other loops have work to do."""


def may_be_idle(settings: Settings) -> bool:
    """Whether the database wants no queries while nothing happens."""
    return not (
        settings.database_url.startswith(SQLITE) or profile_of(settings.database_profile).idle_queries
    )


def refuse_beside_up(settings: Settings, what: str) -> None:
    """InvalidRequest if all work must be done by `cadenza up`: an idle process hears of no other."""
    if may_be_idle(settings):
        raise InvalidRequest(
            f"CADENZA_DATABASE_PROFILE says no-idle-queries: then everything runs in one process,"
            f" `cadenza up`, and {what} cannot wake it.",
            "database_profile",
        )


def pacing_clock(settings: Settings, idle: IdleGate) -> SystemClock:
    """The system clock for all loops; where the process may be idle, they pause meanwhile."""
    return PausingClock(idle.sleep) if may_be_idle(settings) else SystemClock()


def idle_parts(settings: Settings, context: ProcessContext) -> list[Part]:
    """What lets the process be idle; nothing where it may not be, or its clock runs at another speed."""
    if not isinstance(context.clock, PausingClock):
        return []
    from cadenza.adapters.stores.postgres.engines.next_moment import WorkOfProcess, next_moment
    from cadenza.adapters.stores.postgres.pool import PostgresPool

    assert isinstance(context.store, SqlStore)
    assert isinstance(context.store.database, PostgresPool)
    work = WorkOfProcess(
        can_run=(HTTP, PROMPT, HEARTBEAT),
        plans=settings.planner,
        sends_default=settings.alert_url is not None,
        serves_daily=settings.daily,
    )
    ask, endpoints = partial(next_moment, context.store.database, work), context.store.endpoints
    return [Part("idle", lambda: context.idle.run(ask, endpoints.listen(), context.log))]
