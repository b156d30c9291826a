"""What the command line starts, handed in by its root."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

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


class Migration(NamedTuple):
    """The version of a schema, before and after; None if there was none."""

    database: str
    before: str | None
    after: str


class Finding(NamedTuple):
    """What a self-check found, and what to do about it."""

    name: str
    passed: bool
    detail: str
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launchers:
    """One for each command that starts something."""

    sim: SimLauncher
    up: UpLauncher
    worker: Callable[[], int]
    migrate: Callable[[], Migration]
    doctor: Callable[[], Sequence[Finding]]
