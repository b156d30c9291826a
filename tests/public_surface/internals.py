"""All that the collectors import from inside Cadenza, in one place: a move changes these lines alone."""

from cadenza.adapters.access.quota import CountedQuota
from cadenza.adapters.stores.memory.store import MemoryStore
from cadenza.adapters.telemetry.otel import OtelMetrics
from cadenza.adapters.telemetry.prometheus import PlannerMetrics, SchedulerMetrics
from cadenza.domain.access.key import RANK, Scope
from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.agents.delivery import CanvasCommand, Delivery, Missed, Subtitle
from cadenza.domain.errors import CadenzaError, Unavailable
from cadenza.domain.scheduling.run import Outcome, RunStatus
from cadenza.engine.supervision import Part
from cadenza.operations.table import OPERATIONS
from cadenza.ports import telemetry
from cadenza.ports.access import QuotaKind, QuotaRequest
from cadenza.roots.command_line import main
from cadenza.roots.settings import NOT_SETTINGS, PREFIX, Settings
from cadenza.surfaces.cli.app import build
from cadenza.surfaces.cli.exits import Exit, exit_code
from cadenza.surfaces.http.metrics import Metrics
from cadenza.surfaces.http.problems import ERRORS, KINDS
from cadenza.surfaces.websocket import connection, frames

__all__ = [
    "ERRORS",
    "KINDS",
    "NOT_SETTINGS",
    "OPERATIONS",
    "PREFIX",
    "RANK",
    "CadenzaError",
    "CanvasCommand",
    "CountedQuota",
    "Delivery",
    "Exit",
    "Limits",
    "MemoryStore",
    "Metrics",
    "Missed",
    "OtelMetrics",
    "Outcome",
    "Part",
    "PlannerMetrics",
    "QuotaKind",
    "QuotaRequest",
    "RunStatus",
    "SchedulerMetrics",
    "Scope",
    "Settings",
    "Subtitle",
    "Tenant",
    "Unavailable",
    "build",
    "connection",
    "exit_code",
    "frames",
    "main",
    "telemetry",
]
