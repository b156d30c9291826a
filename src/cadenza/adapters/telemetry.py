"""Listens to events: a bell for whoever waits for a run to end."""

from cadenza.adapters.memory.bell import MemoryBell
from cadenza.ports.telemetry import Measurements, Metadata

RUN_ENDED = "sched.job.stop"


class RunBell(MemoryBell):
    """Rings when a run has ended and is settled."""

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:  # noqa: ARG002 - It takes all that its port hands over.
        """Ring, if it is that."""
        if event == RUN_ENDED:
            self.ring()
