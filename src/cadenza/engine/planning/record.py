"""Records analyses in batches."""

import asyncio
from collections.abc import Sequence

from cadenza.domain.planning.analysis import Analysis
from cadenza.engine.async_helpers import RECOVERY_MS, Attempts
from cadenza.ports.clock import Clock
from cadenza.ports.planning import AnalysisStore, NextAnalysis
from cadenza.ports.telemetry import Logger

LINGER_MS = 20


class AnalysisRecorder:
    """Collects analyses for a moment, and writes them in one commit."""

    def __init__(self, *, store: AnalysisStore, clock: Clock, log: Logger) -> None:
        self._store = store
        self._clock = clock
        self._attempts = Attempts("planner/record", clock, log)
        self._analyses: list[Analysis] = []
        self._next_analyses: list[NextAnalysis] = []
        self._recorded = asyncio.Event()
        self._wake = asyncio.Event()

    async def record(self, analyses: Sequence[Analysis], next_analyses: Sequence[NextAnalysis]) -> None:
        """Returns when these are committed."""
        if not analyses and not next_analyses:
            return
        self._analyses += analyses
        self._next_analyses += next_analyses
        recorded = self._recorded
        self._wake.set()
        await recorded.wait()

    async def run(self) -> None:
        """Write until cancelled; a write that fails because the store is unavailable is retried."""
        while True:
            await self._wake.wait()
            await self._clock.sleep(LINGER_MS)
            self._wake.clear()
            analyses, self._analyses = self._analyses, []
            next_analyses, self._next_analyses = self._next_analyses, []
            recorded, self._recorded = self._recorded, asyncio.Event()
            while not await self._attempts.try_once(self._store.add_analyses(analyses, next_analyses)):
                await self._clock.sleep(RECOVERY_MS)
            recorded.set()
