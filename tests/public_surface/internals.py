"""All that the collectors import from inside Cadenza, in one place: a move changes these lines alone."""

from cadenza.domain.access import RANK, Scope
from cadenza.domain.delivery import CanvasCommand, Delivery, Subtitle
from cadenza.domain.errors import CadenzaError, Unavailable
from cadenza.operations.table import OPERATIONS
from cadenza.roots.command_line import main
from cadenza.roots.settings import NOT_SETTINGS, Settings
from cadenza.surfaces.cli.app import build
from cadenza.surfaces.cli.exits import Exit, exit_code
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
    "Delivery",
    "Exit",
    "Scope",
    "Settings",
    "Subtitle",
    "Unavailable",
    "build",
    "exit_code",
    "frames",
    "line",
    "main",
]
