"""What the command line starts, handed in by its root."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Only for its name: importing it costs more time than `cadenza --help` has.
    from cadenza.sim.report import Report


class SimLauncher(Protocol):
    """Simulates a scenario."""

    def __call__(self, scenario: str, *, as_published: bool, step_seconds: int) -> "Report":
        """The report; InvalidRequest if the step does not fit."""
        ...


class UpLauncher(Protocol):
    """Starts everything in one process."""

    def __call__(self, *, demo: bool, speed: float) -> int:
        """Serve until stopped, and answer with an exit code."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Launchers:
    """One for each command that starts something."""

    sim: SimLauncher
    up: UpLauncher
