"""What all parts of a simulation share: the loop, time, chance, ids, the trace, and what was found wrong."""

from collections.abc import Callable
from contextvars import Context
from datetime import datetime, timedelta
from random import Random

from tests.simulation.whole_system.process_clocks import START, ProcessClock

from cadenza.testing.simulated_process import SimulatedProcess
from cadenza.testing.virtual_time import VirtualTimeLoop

MOST_VIOLATIONS = 20
LONGEST_VIOLATION = 600


class SimulatedWorld:
    """The world of one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.loop = VirtualTimeLoop(seed)
        self.trace: list[str] = []
        self.violations: list[str] = []
        self.most_violations = MOST_VIOLATIONS
        """With so many, it ends."""
        self.clocks: dict[SimulatedProcess, ProcessClock] = {}
        self.read_s: dict[SimulatedProcess, float] = {}
        """How long each daily process has waited for pending days since its last tick."""
        self.times_set_back = 0
        """How often a clock was set back."""

    def chance(self, purpose: str) -> Random:
        """A source of chance of its own for each purpose, all of one seed."""
        return Random(f"{self.seed} {purpose}")

    def now(self) -> datetime:
        """The true time."""
        return START + timedelta(seconds=self.loop.time())

    def later(self, delay_s: float, callback: Callable[..., object], *arguments: object) -> None:
        """Call a function after some seconds, outside of all processes."""
        self.loop.call_later(delay_s, callback, *arguments, context=Context())

    def note(self, who: str, event: str) -> None:
        """Add a line to the trace."""
        self.trace.append(f"{self.loop.time():.6f} {who} {event}")

    def violation(self, text: str) -> None:
        """Something is not as promised."""
        text = text[:LONGEST_VIOLATION]
        self.note("!", text)
        self.violations.append(f"at {self.loop.time():.3f} s: {text}")
        if len(self.violations) == self.most_violations:
            self.loop.stop()


class ProcessIds:
    """Ids that sort by the clock of their process, as those of the product do."""

    def __init__(self, now: Callable[[], datetime], random: Random) -> None:
        self._now = now
        self._random = random
        self._millisecond = self._place = 0
        self._part = ""

    def new(self) -> str:
        """A fresh id."""
        millisecond = int(self._now().timestamp() * 1_000)
        if millisecond > self._millisecond:
            self._millisecond, self._place = millisecond, 0
            self._part = f"{self._random.getrandbits(64):016x}"
        self._place += 1
        return f"{self._millisecond:012x}{self._place:04x}{self._part}"


class ProcessTokens:
    """Tokens by chance."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def secret(self) -> str:
        """A new token."""
        return f"{self._random.getrandbits(160):040x}"


class ProcessLog:
    """The log of a process: warnings go to the trace, and what only a bug can cause is a violation."""

    verbose = False

    def __init__(self, world: SimulatedWorld, process: SimulatedProcess) -> None:
        self._world = world
        self._process = process

    def debug(self, event: str, **facts: object) -> None:
        """Nothing."""

    def info(self, event: str, **facts: object) -> None:
        """Note it."""
        self._world.note(self._process.name, f"info {event}")

    def warning(self, event: str, **facts: object) -> None:
        """Note it; a part that crashed has a bug."""
        self._world.note(self._process.name, f"warning {event}")
        if "crash" in event or "unexpectedly" in event or "failed and is detached" in event:
            told = str(facts.get("trace") or facts.get("traceback") or facts)
            self._world.violation(f"{self._process.name}: {event}: ...{told[-400:]}")

    error = warning
