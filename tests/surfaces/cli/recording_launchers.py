"""Launchers that remember instead of starting anything."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cadenza.sim.replay.replay import ReplayReport
from cadenza.sim.report import Report
from cadenza.surfaces.cli.connection import CliOptions, OperationClient
from cadenza.surfaces.cli.launchers import (
    Backup,
    BenchResult,
    Finding,
    Launchers,
    Migration,
    MoveRequest,
    MoveResult,
    ReplayRequest,
    Restoration,
)
from cadenza.surfaces.cli.output.terminal import Progress

NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)


@dataclass
class Recorder:
    """Answers with what it was given, and keeps what it was asked."""

    report: Report | None = None
    replayed: ReplayReport | None = None
    error: BaseException | None = None
    code: int = 0
    asked: list[dict[str, Any]] = field(default_factory=list)
    migration: Migration = Migration("cadenza.db", None, "0001")
    findings: list[Finding] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)

    def launchers(self) -> Launchers:
        return Launchers(
            sim=self.sim,
            replay=self.replay,
            up=self.up,
            api=self.worker,
            worker=self.worker,
            planner=self.worker,
            daily=self.worker,
            mcp=self.mcp,
            migrate=self.migrate,
            doctor=self.doctor,
            backup=self.backup,
            restore=self.restore,
            move=self.move,
            bench=self.bench,
            application=self.target,
            now=lambda _: NOW,
            address=lambda _: "http://127.0.0.1:8700",
        )

    @asynccontextmanager
    async def target(self, connection: CliOptions) -> AsyncIterator[OperationClient]:
        if self.error is not None:
            raise self.error
        yield self

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        self.asked.append({operation: dict(arguments)})
        return self.answers[operation]

    def backup(self, path: str, *, overwrite: bool) -> Backup:
        return Backup("cadenza.db", path, 1, 2, "0001", "A note.")

    def restore(self, path: str) -> Restoration:
        return Restoration("cadenza.db", path, 2, "0001", "0001", None, "")

    def move(self, wish: MoveRequest, report: Callable[[str], None]) -> MoveResult:
        return MoveResult(wish.source, wish.target or "cadenza.db", "counted", {"runs": {"rows": 1}})

    def bench(self, *, seconds: float, progress: Progress) -> BenchResult:
        progress(seconds)
        return BenchResult(1, 2, 3.0)

    def replay(self, wish: ReplayRequest) -> ReplayReport:
        self.asked.append(wish._asdict())
        if self.error is not None:
            raise self.error
        assert self.replayed is not None
        return self.replayed

    def sim(self, scenario: str, *, as_published: bool, step_seconds: int, planner: str | None) -> Report:
        asked = {"scenario": scenario, "as_published": as_published, "step_seconds": step_seconds}
        self.asked.append(asked | ({} if planner is None else {"planner": planner}))
        if self.error is not None:
            raise self.error
        assert self.report is not None
        return self.report

    def up(self, *, demo: bool, speed: float) -> int:
        self.asked.append({"demo": demo, "speed": speed})
        if self.error is not None:
            raise self.error
        return self.code

    def worker(self) -> int:
        return self.code

    def mcp(self, connection: CliOptions) -> int:
        return self.code

    def migrate(self) -> Migration:
        return self.migration

    def doctor(self) -> list[Finding]:
        return self.findings
