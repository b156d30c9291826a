"""What the system owes others: the daily target and the receiver of alerts, and what reached them."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date, datetime
from typing import NamedTuple

from tests.simulation.whole_system.simulated_world import SimulatedWorld

from cadenza.domain.agents.users import UserKey
from cadenza.domain.channel import Notice, Recipient
from cadenza.domain.daily.user import DailyRunResult
from cadenza.domain.job_failure import ErrorClass
from cadenza.domain.monitoring.alert import Alert
from cadenza.testing.simulated_process import SimulatedProcess

MOST_DAILY = 2
"""How many daily runs there may be at a time, all processes together."""
LEAST_BETWEEN_TRIES_S = 40.0
"""A minute from enqueuing to enqueuing, less the time that a try waits for its turn."""


class DailyTry(NamedTuple):
    """A try for a user and a day."""

    process: SimulatedProcess
    began_s: float


class DailyTarget:
    """What is run for each user daily, seen from outside."""

    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world
        self._random = world.chance("daily target")
        self._running: list[SimulatedProcess] = []
        self._last: dict[tuple[UserKey, date], DailyTry] = {}
        self.successes: defaultdict[tuple[UserKey, date], list[datetime]] = defaultdict(list)
        """When the target said that it was done, by the clock of the process that it told."""
        self.is_calm = False
        self.least_between_s = LEAST_BETWEEN_TRIES_S
        self.on_claim: Callable[[UserKey], None] = lambda _: None

    def forget(self, process: SimulatedProcess) -> None:
        """A process died: its connections are closed."""
        self._running = [one for one in self._running if one is not process]

    async def run(self, process: SimulatedProcess, key: UserKey, day: date) -> DailyRunResult:
        """Run once."""
        world, now = self._world, self._world.loop.time()
        world.note(process.name, f"daily run for {key.id} on {day}")
        self.on_claim(key)
        last = self._last.get((key, day))
        is_again = last is not None and last.process is process
        if last is not None and is_again and now - last.began_s < self.least_between_s:
            world.violation(f"{process.name} tries {key.id} again after {now - last.began_s:.1f} s")
        self._last[key, day] = DailyTry(process, now)
        self._running.append(process)
        if len(self._running) > MOST_DAILY:
            world.violation(f"I3: {len(self._running)} daily runs at a time")
        try:
            return await self._answer(process, key, day)
        finally:
            self._running.remove(process)

    async def _answer(self, process: SimulatedProcess, key: UserKey, day: date) -> DailyRunResult:
        roll = self._random.random()
        await asyncio.sleep(self._random.choice([0.1, 3.0, 6.0]))
        if roll < 0.3 and not self.is_calm:
            return DailyRunResult("by chance", ErrorClass.UNKNOWN)
        if roll < 0.4 and not self.is_calm:
            await asyncio.sleep(3_600)
        self.successes[key, day].append(self._world.clocks[process].now())
        return DailyRunResult()


class DailyTargetOf:
    """The daily target as one process calls it."""

    def __init__(self, target: DailyTarget, process: SimulatedProcess) -> None:
        self._target = target
        self._process = process

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> DailyRunResult:
        """Run once."""
        return await self._target.run(self._process, UserKey(tenant_id, user_id), service_date)


class AlertReceiver:
    """The operators' chat room: it counts what arrives."""

    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world
        self._random = world.chance("alerts")
        self.received: Counter[str] = Counter()
        self.is_calm = False

    async def send(self, alert: Alert, attempt: int) -> str | None:
        """Take an alert, or one about several; it may get lost."""
        await asyncio.sleep(self._random.random())
        if not self.is_calm and self._random.random() < 0.2:
            return "by chance"
        for key in alert.facts.get("keys", [alert.key]):
            self.received[key] += 1
        self._world.note("receiver", f"alert {alert.key} attempt {attempt}")
        return None


class NoChannels:
    """There are no alert routes here, so everything goes to the default one."""

    async def send(self, notice: Notice, to: Recipient, attempt: int) -> str | None:
        """Nothing comes here."""
        raise AssertionError(f"{notice.idempotency_key} has no route {to.id}, not at attempt {attempt}")
