"""What a campaign does: which faults, in which order, to which processes; all of it follows from a seed."""

from collections.abc import Iterator
from enum import StrEnum
from random import Random
from typing import NamedTuple

from tests.faults.engine_profiles import EVERYTHING

LEASE_MS = 2_000


class FaultKind(StrEnum):
    """What is done to the system."""

    KILL = "kill -9"
    FREEZE = "stopped beyond the lease"
    OUTAGE = "immediate stop of PostgreSQL"
    CUT = "network cut"
    SILENCE = "network silent beyond the lease"
    LOSS = "connections lost in silence"
    SLOW = "network slow"


SHARES = {
    FaultKind.FREEZE: 0.06,
    FaultKind.OUTAGE: 0.02,
    FaultKind.CUT: 0.03,
    FaultKind.SILENCE: 0.015,
    FaultKind.LOSS: 0.01,
    FaultKind.SLOW: 0.015,
}
"""How many faults of a kind come with each kill; at least one of each."""
PROXIED = ("worker-1", "functions-1")
"""Workers that reach the database through the network that is cut; the others go on meanwhile."""
PROCESSES = (*PROXIED, "worker-2", "functions-2", "api-1", "api-2", "planner-1", "daily-1", "daily-2")
"""Their names; what stands before the dash is the program."""


class Fault(NamedTuple):
    """One fault, the process that it strikes, if any, and how long the system is left alone before."""

    kind: FaultKind
    victim: str
    pause_s: float


class CampaignPlan(NamedTuple):
    """How much is done, and the seed that everything is drawn from."""

    kills: int = 1_000
    seed: int = 1
    minutes: float | None = None
    """The faults end after this time, however many are left."""
    people: int = 3
    profile: str = EVERYTHING
    """What the engine under the database can do."""

    def faults(self) -> Iterator[Fault]:
        """All faults, in their order."""
        chance = Random(self.seed)
        others = [kind for kind, share in SHARES.items() for _ in range(max(1, round(self.kills * share)))]
        kinds = [FaultKind.KILL] * self.kills + others
        chance.shuffle(kinds)
        for kind in kinds:
            yield Fault(kind, chance.choice(PROCESSES), chance.uniform(0.05, 0.5))
