"""What the command line can start; its root passes the functions in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cadenza.surfaces.cli.connection import ClientOpener, CliOptions
from cadenza.surfaces.cli.output.terminal import Progress

if TYPE_CHECKING:  # Only for its name: importing it costs more time than `cadenza --help` has.
    from cadenza.sim.replay.replay import ReplayReport
    from cadenza.sim.report import Report


class SimLauncher(Protocol):
    """Simulates a scenario."""

    def __call__(
        self, scenario: str, *, as_published: bool, step_seconds: int, planner: str | None
    ) -> "Report":
        """The report; InvalidRequest if the step or the planner does not fit."""
        ...


class ReplayRequest(NamedTuple):
    """What is to be replayed: one endpoint, or all of a job, under which policies."""

    endpoint: str | None
    job: str | None
    policies: Sequence[str]
    since: datetime | None
    most: int
    """How many recorded runs of each endpoint, newest first."""
    tenant: str | None = None


class ReplayLauncher(Protocol):
    """Replays recorded history under other policies."""

    def __call__(self, wish: ReplayRequest) -> "ReplayReport":
        """What happened, and what would have happened under each policy."""
        ...


class UpLauncher(Protocol):
    """Starts everything in one process."""

    def __call__(self, *, demo: bool, speed: float) -> int:
        """Serve until stopped; the exit code."""
        ...


class BenchResult(NamedTuple):
    """The throughput of this machine, and the CPU time of a cycle."""

    plans_per_second: int
    """Next runs that the governor decides, half of them with hints."""
    cycles_per_second: int
    """Endpoints claimed, run, recorded and planned, on an SQLite file."""
    cpu_us_per_cycle: float


class BenchLauncher(Protocol):
    """Runs the benchmark."""

    def __call__(self, *, seconds: float, progress: Progress) -> BenchResult:
        """The result, after so many seconds."""
        ...


class Migration(NamedTuple):
    """The version of a schema, before and after; None if there was none."""

    database: str
    before: str | None
    after: str
    deleted: Mapping[str, int] = {}
    """How many rows that belonged to nothing any more were deleted, by table."""


class Backup(NamedTuple):
    """A backup that was written."""

    database: str
    path: str
    bytes: int
    endpoints: int
    version: str
    note: str
    """What is not in it."""


class Restoration(NamedTuple):
    """A database that was restored from a backup."""

    database: str
    path: str
    endpoints: int
    before: str
    after: str
    kept: str | None
    """Where the database from before the restore was moved to."""
    note: str
    """What is left to do by hand."""


class BackupLauncher(Protocol):
    """Copies the database."""

    def __call__(self, path: str, *, overwrite: bool) -> Backup:
        """The backup that was written; Conflict if the file exists."""
        ...


class MoveRequest(NamedTuple):
    """What is to be moved, from where to where."""

    source: str
    target: str | None
    """None is the database of the settings."""
    dry_run: bool = False
    cancel: bool = False
    tenant: str | None = None
    """None is everything."""
    address: str = ""
    """Where callers of a moved tenant are sent."""
    drain_seconds: float = 30.0
    remove: bool = False


class MoveResult(NamedTuple):
    """What a move did, or would do."""

    source: str
    target: str
    outcome: str
    """`counted`, `moved`, `cancelled`, or `nothing to cancel`."""
    tables: Mapping[str, Mapping[str, int | str]]
    """By table: how many rows, and unless they were only counted, their checksum at both ends."""
    tenant: str | None = None


class MoveLauncher(Protocol):
    """Moves an installation, or one tenant, to another database."""

    def __call__(self, wish: MoveRequest, report: Callable[[str], None]) -> MoveResult:
        """What was done; Conflict if one of the databases is in use, or the target has something else."""
        ...


class Finding(NamedTuple):
    """The result of one check of `cadenza doctor`, and what to do about it."""

    name: str
    passed: bool
    detail: str
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launchers:
    """The functions behind the commands, passed in by the root."""

    sim: SimLauncher
    replay: ReplayLauncher
    up: UpLauncher
    api: Callable[[], int]
    worker: Callable[[], int]
    planner: Callable[[], int]
    daily: Callable[[], int]
    mcp: Callable[[CliOptions], int]
    migrate: Callable[[], Migration]
    doctor: Callable[[], Sequence[Finding]]
    backup: BackupLauncher
    restore: Callable[[str], Restoration]
    move: MoveLauncher
    bench: BenchLauncher
    application: ClientOpener
    now: Callable[[CliOptions], datetime]
    """The present, by the clock of the server or database that is asked."""
    address: Callable[[CliOptions], str]
    """The URL of the server that is asked, or that runs on the database that is asked."""
