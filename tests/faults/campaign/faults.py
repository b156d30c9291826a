"""Carries out the faults of a plan."""

import asyncio
import time
from collections import Counter
from collections.abc import Coroutine
from random import Random
from typing import Any

from tests.faults.campaign.plan import LEASE_MS, CampaignPlan, Fault, FaultKind
from tests.faults.campaign.processes import ProcessGroup
from tests.faults.scheduling.tcp_proxy import TcpProxy
from tests.postgres import Cluster

BEYOND_LEASE_S = 1.6 * LEASE_MS / 1_000
SLOW_S = 0.03
"""How long each chunk is held back on a slow network."""


class FaultInjector:
    """Strikes one after the other; what lasts goes on while the next one strikes."""

    def __init__(self, cluster: Cluster, proxy: TcpProxy, processes: ProcessGroup) -> None:
        self._cluster = cluster
        self._proxy = proxy
        self._processes = processes
        self._network = asyncio.Lock()
        self._lasting: set[asyncio.Task[None]] = set()
        self.done: Counter[str] = Counter()

    async def run(self, plan: CampaignPlan) -> None:
        """All faults, or as many as the plan has time for; when it returns, everything is as it should be."""
        chance, began = Random(plan.seed), time.monotonic()
        for fault in plan.faults():
            if plan.minutes is not None and time.monotonic() - began > plan.minutes * 60:
                break
            await asyncio.sleep(fault.pause_s)
            await self._strike(fault, chance)
            self.done[fault.kind] += 1
        await asyncio.gather(*self._lasting)
        self._proxy.heal()

    async def _strike(self, fault: Fault, chance: Random) -> None:
        match fault.kind:
            case FaultKind.KILL:
                await self._processes.kill(fault.victim)
            case FaultKind.FREEZE:
                self._go_on(self._processes.freeze(fault.victim, BEYOND_LEASE_S))
            case FaultKind.OUTAGE:
                await asyncio.to_thread(self._cluster.stop, "immediate")
                await asyncio.sleep(chance.uniform(0.1, 1.0))
                await asyncio.to_thread(self._cluster.start)
            case _:
                self._go_on(self._disturb(fault.kind))

    async def _disturb(self, kind: FaultKind) -> None:
        """Disturb the network between some workers and the database for a while."""
        async with self._network:
            match kind:
                case FaultKind.CUT:
                    await asyncio.to_thread(self._proxy.refuse)
                    await asyncio.sleep(BEYOND_LEASE_S / 2)
                case FaultKind.SILENCE:
                    await asyncio.to_thread(self._proxy.hold)
                    await asyncio.sleep(BEYOND_LEASE_S)
                case FaultKind.LOSS:
                    await asyncio.to_thread(self._proxy.lose)
                case _:
                    self._proxy.delay_s = SLOW_S
                    await asyncio.sleep(BEYOND_LEASE_S)
            await asyncio.to_thread(self._proxy.heal)

    def _go_on(self, work: Coroutine[Any, Any, None]) -> None:
        self._lasting.add(asyncio.create_task(work))
