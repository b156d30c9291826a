"""Launchers that remember instead of starting anything."""

from dataclasses import dataclass, field
from typing import Any

from cadenza.sim.report import Report
from cadenza.surfaces.cli.launchers import Finding, Launchers, Migration


@dataclass
class Recorder:
    """Answers with what it was given, and keeps what it was asked."""

    report: Report | None = None
    error: BaseException | None = None
    code: int = 0
    asked: list[dict[str, Any]] = field(default_factory=list)
    migration: Migration = Migration("cadenza.db", None, "0001")
    findings: list[Finding] = field(default_factory=list)

    def launchers(self) -> Launchers:
        return Launchers(
            sim=self.sim, up=self.up, worker=self.worker, migrate=self.migrate, doctor=self.doctor
        )

    def sim(self, scenario: str, *, as_published: bool, step_seconds: int) -> Report:
        self.asked.append({"scenario": scenario, "as_published": as_published, "step_seconds": step_seconds})
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

    def migrate(self) -> Migration:
        return self.migration

    def doctor(self) -> list[Finding]:
        return self.findings
