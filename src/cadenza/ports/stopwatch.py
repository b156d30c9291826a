"""Time that only ever runs forward."""

from typing import Protocol


class Stopwatch(Protocol):
    """Says how long things take, whatever is done to the clock on the wall."""

    def elapsed_ms(self) -> float:
        """Milliseconds since some moment in the past, always the same one."""
        ...
