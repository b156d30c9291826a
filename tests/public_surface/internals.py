"""All that the collectors import from inside Cadenza, in one place: a move changes these lines alone."""

from cadenza.adapters.memory import MemoryStore
from cadenza.adapters.metrics import SchedulerMetrics
from cadenza.adapters.otel import OtelFigures
from cadenza.adapters.planner_metrics import PlannerMetrics
from cadenza.adapters.quota import CountedQuota
from cadenza.domain.access import RANK, Scope
from cadenza.domain.delivery import CanvasCommand, Delivery, Subtitle
from cadenza.domain.errors import CadenzaError, Unavailable
from cadenza.domain.run import Outcome, RunStatus
from cadenza.domain.tenant import Limits, Tenant
from cadenza.engine.supervision import Part
from cadenza.operations.table import OPERATIONS
from cadenza.ports import telemetry
from cadenza.ports.quota import QuotaRequest, Spending
from cadenza.roots.command_line import main
from cadenza.roots.settings import NOT_SETTINGS, Settings
from cadenza.surfaces.cli.app import build
from cadenza.surfaces.cli.exits import Exit, exit_code
from cadenza.surfaces.http.metrics import Metrics
from cadenza.surfaces.http.problems import ERRORS, KINDS
from cadenza.surfaces.websocket import frames, line

__all__ = [
    "ERRORS",
    "KINDS",
    "NOT_SETTINGS",
    "OPERATIONS",
    "RANK",
    "CadenzaError",
    "CanvasCommand",
    "CountedQuota",
    "Delivery",
    "Exit",
    "Limits",
    "MemoryStore",
    "Metrics",
    "OtelFigures",
    "Outcome",
    "Part",
    "PlannerMetrics",
    "QuotaRequest",
    "RunStatus",
    "SchedulerMetrics",
    "Scope",
    "Settings",
    "Spending",
    "Subtitle",
    "Tenant",
    "Unavailable",
    "build",
    "exit_code",
    "frames",
    "line",
    "main",
    "telemetry",
]
