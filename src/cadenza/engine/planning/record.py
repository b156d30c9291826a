"""Records sittings in batches."""

import asyncio
from collections.abc import Sequence

from cadenza.domain.planning.analysis import Analysis
from cadenza.engine.async_helpers import RECOVERY_MS, try_once
from cadenza.ports.clock import Clock
from cadenza.ports.planning import AnalysisStore, NextAnalysis
from cadenza.ports.telemetry import Logger

LINGER_MS = 20


class Recorder:
    """Gathers what sittings came to for a moment, and writes it in one commit."""

    def __init__(self, *, store: AnalysisStore, clock: Clock, log: Logger) -> None:
        self._store = store
        self._clock = clock
        self._log = log
        self._analyses: list[Analysis] = []
        self._looks: list[NextAnalysis] = []
        self._kept = asyncio.Event()
        self._wake = asyncio.Event()

    async def keep(self, analyses: Sequence[Analysis], looks: Sequence[NextAnalysis]) -> None:
        """Come back when these are kept."""
        if not analyses and not looks:
            return
        self._analyses += analyses
        self._looks += looks
        kept = self._kept
        self._wake.set()
        await kept.wait()

    async def run(self) -> None:
        """Record until cancelled; what cannot be written now is tried again."""
        while True:
            await self._wake.wait()
            await self._clock.sleep(LINGER_MS)
            self._wake.clear()
            analyses, self._analyses = self._analyses, []
            looks, self._looks = self._looks, []
            kept, self._kept = self._kept, asyncio.Event()
            while not await try_once(self._store.add_analyses(analyses, looks), self._log):
                await self._clock.sleep(RECOVERY_MS)
            kept.set()
